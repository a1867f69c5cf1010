"""Contacts in the equations of motion: forces on bodies, and steps that end where shapes touch."""

from .cuts import CUTS, next_cut
from .forces import contact_states, contact_wrenches, ContactState

__all__ = ['CUTS', 'ContactState', 'contact_states', 'contact_wrenches', 'next_cut']
