"""
Contact at velocity level: impulses of a time step or an impact, exact or regularised.

`solve_lcp` and `solve_convex` solve a `ContactProblem`; `contact_impulses` is the latter over a
generic scalar.
"""

from .complementarity import solve_lcp
from .convex_step import contact_impulses, ContactLaw, solve_convex
from .problem import ContactProblem, ContactSolution

__all__ = [
    'ContactLaw',
    'ContactProblem',
    'ContactSolution',
    'contact_impulses',
    'solve_convex',
    'solve_lcp',
]
