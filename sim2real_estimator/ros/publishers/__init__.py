"""
What the node says, as messages, and for programs that listen, what reads them back.

Each file is one topic: a function that makes the message of our records, and a reader of it.
Neither needs a node. docs/messages.md lists the layouts.
"""

from .estimate import estimate_message, EstimateReading, read_estimate
from .events import Chronicle, Event, events_message, input_back, input_lost, read_events
from .posterior import posterior_message, PosteriorReading, read_posterior
from .prediction import predicted_message
from .samples import read_samples, samples_message

__all__ = [
    'Chronicle',
    'EstimateReading',
    'Event',
    'PosteriorReading',
    'estimate_message',
    'events_message',
    'input_back',
    'input_lost',
    'posterior_message',
    'predicted_message',
    'read_estimate',
    'read_events',
    'read_posterior',
    'read_samples',
    'samples_message',
]
