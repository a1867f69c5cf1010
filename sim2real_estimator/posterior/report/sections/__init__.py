"""The parts of a report, in their order: functions from an `Identification` to a `Section`."""

from .consistency import consistency
from .corner import corner
from .course import course
from .events import events
from .identifiability import identifiability
from .inputs import inputs, latencies
from .origin import origin
from .parameters import parameters
from .prediction import prediction

SECTIONS = (
    parameters,
    course,
    prediction,
    consistency,
    identifiability,
    corner,
    latencies,
    inputs,
    events,
    origin,
)
