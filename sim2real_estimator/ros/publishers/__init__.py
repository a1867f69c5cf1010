"""
The messages that the node publishes, and readers of them for other programs.

Each topic has a function that makes the message of our records, and a reader of it. Neither
needs a node. Files are named after the kind of message; docs/messages.md lists the layouts.
"""

from ...observability.null_space import draw_samples
from .clouds import (
    posterior_message,
    PosteriorReading,
    read_posterior,
    read_samples,
    samples_message,
)
from .coordinate_map import CoordinateMap, coordinates_message, map_of, read_coordinates
from .diagnostics import (
    events_message,
    parameters_message,
    ParametersReading,
    read_events,
    read_parameters,
)
from .inertia_stamped import payload_message, payload_uncertainty_message, read_payload
from .joint_states import (
    bands_message,
    BandsReading,
    estimate_message,
    EstimateReading,
    predicted_message,
    read_bands,
    read_estimate,
)

__all__ = [
    'BandsReading',
    'CoordinateMap',
    'EstimateReading',
    'ParametersReading',
    'PosteriorReading',
    'bands_message',
    'coordinates_message',
    'draw_samples',
    'estimate_message',
    'events_message',
    'map_of',
    'parameters_message',
    'payload_message',
    'payload_uncertainty_message',
    'posterior_message',
    'predicted_message',
    'read_bands',
    'read_coordinates',
    'read_estimate',
    'read_events',
    'read_parameters',
    'read_payload',
    'read_posterior',
    'read_samples',
    'samples_message',
]
