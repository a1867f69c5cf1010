"""Contacts in the equations of motion: forces on bodies, and steps that end where shapes touch."""

from .cuts import CUTS, next_cut
from .forces import contact_states, contact_wrenches, ContactState, gaps
from .step_check import longest_step, warn_of_long_steps

__all__ = [
    'CUTS',
    'ContactState',
    'contact_states',
    'contact_wrenches',
    'gaps',
    'longest_step',
    'next_cut',
    'warn_of_long_steps',
]
