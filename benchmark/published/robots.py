"""
The robots of `examples/`: which recordings tell of them, and what others found.

References are those of the data's authors and of their own README; docs of each example say more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import math

import numpy as np

from sim2real_estimator.model.robot import joint_origin, link_inertia

_GRAVITY = 9.81
# Coulomb friction of the joints of a Go2 [N m].
_LEGS = ('FL', 'FR', 'RL', 'RR')
_FRICTION_OF_LEGS = {'hip': (0.14, 0.27), 'thigh': (0.15, 0.24), 'calf': (0.55, 1.3)}


@dataclass(frozen=True)
class Recording:
    """A file of a set of data, and which of its rows count: (first, last and one)."""

    file: str
    rows: tuple = (None, None)

    @property
    def name(self):
        """What its bag is called."""
        part = '' if self.rows == (None, None) else f'_{self.rows[0]}_{self.rows[1]}'
        return f'{self.file}{part}'


@dataclass(frozen=True)
class Known:
    """
    What others say of a quantity: a number, or from least to most.

    most: the error that our mean is to have at the most, of the reference [%]; None: none is said.
    """

    low: float
    high: float
    most: float | None = None

    @property
    def middle(self):
        """The number in the middle."""
        return (self.low + self.high) / 2


def about(value, most=None, spread=0.0):
    """Return what is `Known` to be a value, give or take a spread."""
    return Known(value - spread, value + spread, most)


@dataclass(frozen=True)
class Example:
    """
    A robot of `examples/` and its recordings.

    folder: in examples/; data: folder of the recordings; learned: `Recording`s to learn from,
    joined; tests: others that are predicted, none: the last part of those learned from; share:
    how much of each that is; quantities: function of `Drawn` values -> name -> values; known:
    name -> `Known`; pieces: `Recording`s of which each is to tell the same, for repeatability;
    chosen_on: those of them that settings of the package were chosen with in view; repeated:
    quantities that are compared between pieces; cutoff: of the zero-phase filter before least
    squares [Hz], None: there is no least squares.
    """

    folder: str
    title: str
    data: str
    learned: tuple
    quantities: Callable
    known: dict
    tests: tuple = ()
    share: float = 0.2
    pieces: tuple = ()
    chosen_on: tuple = ()
    repeated: tuple = ()
    cutoff: float | None = None


class Drawn:
    """Values of the parameters of a robot, name -> [D], and what bodies they make."""

    def __init__(self, parameters, values, count):
        """Set up; parameters: `Parameters` of the model; values: where not nominal; count: D."""
        self._parameters, self._values, self._count = parameters, values, count

    def __getitem__(self, name):
        """Return the values [D] of a parameter, the nominal one where it is not estimated."""
        value = self._values[name] if name in self._values else self._parameters[name].nominal
        return np.broadcast_to(value, self._count)

    def about_y(self, link):
        """Return the moments of inertia [D] of a link about the y axis of its frame [kg m^2]."""
        return np.broadcast_to(self._body(link).rotational.entries[1], self._count)

    def below(self, link):
        """Return how far below its frame's origin a link's mass is, times the mass [kg m]."""
        return np.broadcast_to(-self._body(link).first_moment[2], self._count)

    def mass(self, link):
        """Return the masses [D] of a link [kg]."""
        return np.broadcast_to(self._body(link).mass, self._count)

    def length(self, joint):
        """Return how far below the frame of its parent link a joint is [m]."""
        joint = self._parameters.model.joint(joint)
        origin = joint_origin(self._parameters, joint, self._values)
        return np.broadcast_to(-origin[2], self._count)

    def _body(self, link):
        return link_inertia(self._parameters, link, self._values)


def _driven_double(drawn):
    """Return the coefficients of the equations of motion of a driven double pendulum."""
    length, mass = drawn.length('elbow'), drawn.mass('lower')
    upper = drawn.about_y('upper') + mass * length**2 + drawn['shoulder.armature']
    return {
        'P1 [kg m2]': upper,
        'I2 [kg m2]': drawn.about_y('lower'),
        'h [kg m]': drawn.below('lower'),
        'G1 [kg m]': drawn.below('upper') + mass * length,
        'friction 1 [N m]': drawn['shoulder.friction'],
        'friction 2 [N m]': drawn['elbow.friction'],
        'upper.mass': drawn['upper.mass'],
    }


def _driven_single(drawn):
    """Return what a driven pendulum's motion and torque tell."""
    inertia, moment = drawn.about_y('arm') + drawn['joint.armature'], drawn.below('arm')
    return {
        'l_eff [m]': inertia / moment,
        'ml [kg m]': moment,
        'J [kg m2]': inertia,
        'friction [N m]': drawn['joint.friction'],
    }


def _free_double(drawn):
    """Return what the motion of a double pendulum tells that swings freely: ratios, one length."""
    length, mass = drawn.length('elbow'), drawn.mass('lower')
    unit, moment = drawn.about_y('lower'), drawn.below('lower')
    both = drawn.below('upper') + mass * length
    return {
        'L1 [m]': length,
        'a1/a2': (drawn.about_y('upper') + mass * length**2) / unit,
        'a3/a2': moment * length / unit,
        'g1/a2 [1/s2]': _GRAVITY * both / unit,
        'g2/a2 [1/s2]': _GRAVITY * moment / unit,
        'lower.mass': drawn['lower.mass'],
    }


def _free_single(drawn):
    """Return what the motion of a pendulum tells that swings freely."""
    inertia = drawn.about_y('arm')
    return {
        'm g a/J [1/s2]': _GRAVITY * drawn.below('arm') / inertia,
        'arm.mass': drawn['arm.mass'],
    }


def _body(drawn):
    """Return what the flights of a body tell: where its centre is, and ratios of inertia."""
    middle = np.mean([drawn[f'cube.inertia.{each}'] for each in ('xx', 'yy', 'zz')], 0)
    found = {f'com.{axis} [mm]': 1e3 * drawn[f'cube.com.{axis}'] for axis in 'xyz'}
    found |= {f'I{axis}/mean': drawn[f'cube.inertia.{axis}'] / middle for axis in ('xx', 'zz')}
    return found | {'gravity [m/s2]': drawn['world.gravity'], 'cube.mass': drawn['cube.mass']}


def _named(*names):
    """Return the function from `Drawn` values to those of parameters; it goes to processes."""
    return partial(_values_of, names)


def _values_of(names, drawn):
    """Return name -> values of parameters."""
    return {name: drawn[name] for name in names}


def _legs(drawn):
    """Return the friction of the joints of four legs, and a rotor's inertia."""
    joints = [
        f'{leg}_{part}' for part in ('hip', 'thigh', 'calf') for leg in ('FL', 'FR', 'RL', 'RR')
    ]
    found = {f'{joint} friction [N m]': drawn[f'{joint}_joint.friction'] for joint in joints}
    return found | {'FL_calf armature [kg m2]': drawn['FL_calf_joint.armature']}


def _files(pattern, numbers):
    return tuple(Recording(pattern.format(number)) for number in numbers)


def _pieces(file, rate, seconds, count):
    """Return pieces of a recording, one after the other."""
    rows = round(rate * seconds)
    return tuple(Recording(file, (k * rows, (k + 1) * rows)) for k in range(count))


_A0 = 'A0_sysid_{:02}'
_C0 = 'C0_sysid_{:02}'
_RUN = 'run_{:02}'
_SWINGS = (
    Recording('ddp_swingup', (0, 950)),
    Recording('dircol_swingup', (0, 1000)),
    Recording('energy_shaping', (0, 900)),
)
_OF_DOUBLE = ('P1 [kg m2]', 'I2 [kg m2]', 'h [kg m]', 'G1 [kg m]')
_OF_FREE = ('L1 [m]', 'a3/a2', 'g2/a2 [1/s2]')

EXAMPLES = (
    Example(
        'dfki_double_pendulum_a0',
        'DFKI double pendulum A.0',
        'dfki_double_pendulum',
        _files(_A0, (0, 2, 12)),
        _driven_double,
        {
            # Means of the published values and of a joint fit of the README; P1 with the rotor.
            'P1 [kg m2]': Known(0.1107, 0.1154, 4.0),
            'I2 [kg m2]': Known(0.0239, 0.0262, 6.0),
            'h [kg m]': Known(0.111, 0.121, 4.0),
            'G1 [kg m]': Known(0.349, 0.365, 6.0),
            'friction 1 [N m]': Known(0.100, 0.146),
            'friction 2 [N m]': Known(0.120, 0.123),
        },
        tests=_files(_A0, (4, 11)),
        pieces=_files(_A0, (0, 2, 4, 11, 12)),
        chosen_on=tuple(_A0.format(k) for k in (0, 2, 4, 11, 12)),
        repeated=_OF_DOUBLE,
    ),
    Example(
        'dfki_double_pendulum_c0',
        'DFKI double pendulum C.0',
        'dfki_double_pendulum',
        _files(_C0, (0, 1, 2, 3, 12)),
        _driven_double,
        {
            'P1 [kg m2]': Known(0.0500, 0.0568, 10.0),
            'I2 [kg m2]': Known(0.0539, 0.058, 10.0),
            'h [kg m]': Known(0.181, 0.189, 10.0),
            'G1 [kg m]': Known(0.235, 0.248, 10.0),
            'friction 1 [N m]': Known(0.145, 0.146),
            'friction 2 [N m]': Known(0.117, 0.123),
        },
        tests=_files(_C0, (4, 5, 6, 13)),
        pieces=_files(_C0, (0, 1, 2, 3, 4, 5, 6, 12, 13)),
        chosen_on=tuple(_C0.format(k) for k in (0, 1, 2, 3, 4, 5, 6, 12, 13)),
        repeated=_OF_DOUBLE,
    ),
    Example(
        'dfki_simple_pendulum',
        'DFKI simple pendulum',
        'dfki_simple_pendulum',
        _SWINGS[:2],
        _driven_single,
        {
            'l_eff [m]': about(0.511, 3.0),
            'ml [kg m]': Known(0.346, 0.382, 8.0),
            'J [kg m2]': Known(0.176, 0.199),
            'friction [N m]': Known(0.16, 0.27),
        },
        tests=_SWINGS[2:],
        pieces=_SWINGS,
        chosen_on=tuple(each.name for each in _SWINGS),
        repeated=('l_eff [m]', 'ml [kg m]'),
    ),
    Example(
        'ibm_double_pendulum',
        'IBM double pendulum',
        'ibm_double_pendulum',
        _files(_RUN, (0, 2)),
        _free_double,
        {
            'L1 [m]': about(0.1432, 1.0, 0.0003),
            'a1/a2': about(13.205, 1.0, 0.034),
            'a3/a2': about(1.3617, 1.0, 0.0020),
            'g1/a2 [1/s2]': about(916.2, 1.0, 2.2),
            'g2/a2 [1/s2]': about(93.26, 1.0, 0.18),
        },
        tests=_files(_RUN, (6, 8)),
        pieces=_files(_RUN, (0, 2, 4, 6, 8, 10)),
        repeated=_OF_FREE,
    ),
    Example(
        'multiarm_double',
        'multi-arm double pendulum',
        'multiarm_pendulum',
        (Recording('double_freeswing_t00_40', (0, 24000)),),
        _free_double,
        {
            'L1 [m]': about(0.1727, 1.0),
            'a1/a2': about(1.7958),
            'a3/a2': about(0.8826, None, 0.0002),
            'g1/a2 [1/s2]': about(105.84, None, 0.06),
            'g2/a2 [1/s2]': about(50.07, None, 0.04),
        },
        tests=(Recording('double_freeswing_t00_40', (24000, 40000)),),
        pieces=_pieces('double_freeswing_t00_40', 1000, 8, 5),
        chosen_on=tuple(each.name for each in _pieces('double_freeswing_t00_40', 1000, 8, 5)),
        repeated=_OF_FREE,
    ),
    Example(
        'multiarm_single',
        'multi-arm single pendulum',
        'multiarm_pendulum',
        (Recording('single_freeswing_processed', (0, 30000)),),
        _free_single,
        {'m g a/J [1/s2]': Known(64.06, 64.22)},
        tests=(Recording('single_freeswing_processed', (30000, 55000)),),
        pieces=_pieces('single_freeswing_processed', 1000, 10, 5),
        chosen_on=tuple(each.name for each in _pieces('single_freeswing_processed', 1000, 10, 5)),
        repeated=('m g a/J [1/s2]',),
    ),
    Example(
        'staubli_tx40',
        'Staubli TX40',
        'staubli_tx40',
        (Recording('arm_excitation'),),
        _named(
            *(f'joint_{k}.damping' for k in (1, 2, 3, 4)),
            *(f'joint_{k}.friction' for k in (1, 2, 3, 4)),
            'joint_5.armature',
            'joint_6.armature',
        ),
        {
            **{f'joint_{k}.damping': about(x) for k, x in enumerate((8.03, 5.52, 2.00, 1.11), 1)},
            **{f'joint_{k}.friction': about(x) for k, x in enumerate((7.23, 8.25, 6.29, 2.52), 1)},
            'joint_5.armature': about(0.047),
            'joint_6.armature': about(0.0105),
        },
        cutoff=25.0,
    ),
    Example(
        'tiago_arm',
        'TIAGo arm',
        'tiago_arm',
        (Recording('arm_excitation'),),
        _named('arm_1_joint.friction', 'arm_2_joint.friction', 'arm_4_link.mass'),
        {},
        cutoff=3.0,
    ),
    Example(
        'unitree_go2_legs',
        'Unitree Go2 legs',
        'unitree_go2_legs',
        (Recording('go2_pd_first_half'),),
        _legs,
        {
            f'{leg}_{part} friction [N m]': Known(*interval)
            for part, interval in _FRICTION_OF_LEGS.items()
            for leg in _LEGS
        },
    ),
    Example(
        'contactnets_cube',
        'ContactNets cube in flight',
        'contactnets_cube',
        (Recording('tosses_000_274'),),
        _body,
        {
            **{f'com.{axis} [mm]': about(0.0) for axis in 'xyz'},
            'Ixx/mean': about(1.0),
            'Izz/mean': about(1.0),
            'gravity [m/s2]': about(_GRAVITY),
        },
    ),
)


def error_of(known, mean):
    """Return how far a mean is off the middle of what is `Known` [%], NaN where that is zero."""
    return 100 * abs(mean / known.middle - 1) if known.middle else math.nan
