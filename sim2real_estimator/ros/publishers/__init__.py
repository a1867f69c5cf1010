"""
What the node says, as messages, and for programs that listen, what reads them back.

Each file is one topic: a function that makes the message of our records, and a reader of it.
Neither needs a node. docs/messages.md lists the layouts.
"""

from ...observability.null_space import draw_samples
from .coordinates import CoordinateMap, coordinates_message, map_of, read_coordinates
from .estimate import estimate_message, EstimateReading, read_estimate
from .events import events_message, read_events
from .parameters import parameters_message, ParametersReading, read_parameters
from .posterior import posterior_message, PosteriorReading, read_posterior
from .prediction import predicted_message
from .samples import read_samples, samples_message

__all__ = [
    'CoordinateMap',
    'EstimateReading',
    'ParametersReading',
    'PosteriorReading',
    'coordinates_message',
    'draw_samples',
    'estimate_message',
    'events_message',
    'map_of',
    'parameters_message',
    'posterior_message',
    'predicted_message',
    'read_coordinates',
    'read_estimate',
    'read_events',
    'read_parameters',
    'read_posterior',
    'read_samples',
    'samples_message',
]
