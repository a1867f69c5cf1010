"""
Neural scalars: small networks that add to, scale or replace named quantities of the simulator.

After Heiden, Millard, Coumans and Sukhatme, "Augmenting Differentiable Simulators with Neural
Networks to Close the Sim2Real Gap" (2020). `network.py` has the network and its three laws,
`sites.py` the places where the dynamics ask for one, `declaration.py` makes a network of its
settings, and `weights.py` keeps a trained one in a file.
"""

from .network import LAWS, MODES, MOST_UNITS, Network, Placed, Samples
from .sites import (
    CONTACT_INPUTS,
    CONTACT_SITES,
    FRICTION_SITES,
    is_of_joint,
    joint_of,
    site,
    SITES,
)

__all__ = [
    'FRICTION_SITES',
    'CONTACT_INPUTS',
    'CONTACT_SITES',
    'LAWS',
    'MODES',
    'MOST_UNITS',
    'SITES',
    'Network',
    'Placed',
    'Samples',
    'is_of_joint',
    'joint_of',
    'site',
]
