"""Integrators: one file each, and this table. A new one is a new file and a new line."""

from .base import AbstractIntegrator
from .runge_kutta4 import RungeKutta4
from .semi_implicit_euler import SemiImplicitEuler

INTEGRATORS = {
    'semi_implicit_euler': SemiImplicitEuler(),
    'rk4': RungeKutta4(),
}

__all__ = ['INTEGRATORS', 'AbstractIntegrator']
