"""The parts of a report, in their order: functions from an `Identification` to a `Section`."""

from .carried_by_networks import networks
from .consistency import consistency
from .corner import corner
from .estimates_over_time import course
from .event_list import events
from .held_out_prediction import prediction
from .identifiability import identifiability
from .next_steps import next_steps
from .origin import origin
from .parameter_table import parameters
from .recorded_inputs import inputs, latencies
from .robot_picture import robot

SECTIONS = (
    robot,
    next_steps,
    parameters,
    course,
    prediction,
    consistency,
    identifiability,
    networks,
    corner,
    latencies,
    inputs,
    events,
    origin,
)
