"""
How far energy and momentum drift when nothing acts that could change them.

A chain of three rods on ball joints swings without damping about its pivot, and a brick without
weight tumbles. Draws energy_drift.png.
"""

from dataclasses import dataclass, replace
from pathlib import Path
import sys

import drawings
import matplotlib
from matplotlib.figure import Figure
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / 'test' / 'dynamics'))

from rollouts import roll, spherical_chain, tumbling_body  # noqa: E402

from sim2real_estimator.dynamics.energy import (  # noqa: E402
    kinetic_energy,
    momentum,
    potential_energy,
)
from sim2real_estimator.dynamics.integrators import INTEGRATORS  # noqa: E402

DURATION = 3.0
STEPS = (0.002, 0.001)
SAMPLES = 150
LABELS = {'semi_implicit_euler': 'semi-implicit Euler', 'rk4': 'Runge-Kutta 4'}
COLOURS = ('tab:orange', 'tab:blue', 'tab:green', 'tab:red')
# Half the step must divide the drift by two to the power of the order, or at least by this share
# of it, and leave less than a tenth of what there was.
SHARE = 0.7
BOUND = 0.1


@dataclass(frozen=True)
class Motion:
    """A robot with its first state, and what of its motion must stay as it is."""

    title: str
    robot: object
    q: list
    v: list
    momentum_name: str
    rest_energy: float

    def energy(self, q, v):
        """Return the energy above rest [J]."""
        total = kinetic_energy(self.robot, q, v) + potential_energy(self.robot, q)
        return total - self.rest_energy

    def spin(self, q, v):
        """Return what is conserved of the angular momentum [kg m^2/s]: all, or along z."""
        linear, angular = (np.array(tuple(p)) for p in momentum(self.robot, q, v))
        if self.robot.gravity:
            return angular[2:]
        return angular - np.cross(q[:3], linear)


def motions():
    """Return the two motions."""
    robot, q, v = spherical_chain(3)
    hanging = [x for body in robot.bodies for x in body.kind.neutral()]
    yield Motion(
        'three rods on ball joints, swinging',
        robot, q, v,
        'Vertical angular momentum of the rods',
        potential_energy(robot, hanging),
    )  # fmt: skip
    robot, q, v = tumbling_body()
    robot = replace(robot, gravity=0.0)
    yield Motion('a weightless brick, tumbling', robot, q, v, 'Angular momentum of the brick', 0.0)


def drift(motion, method, step):
    """Return times [s] and the relative errors of energy and of angular momentum."""
    energy, spin = motion.energy(motion.q, motion.v), motion.spin(motion.q, motion.v)
    count = round(DURATION / step)
    times, energies, spins = [], [], []
    states = roll(method, motion.robot, motion.q, motion.v, DURATION, count)
    for index, (q, v) in enumerate(states, 1):
        if index % (count // SAMPLES) == 0:
            times.append(index * step)
            energies.append(abs(motion.energy(q, v) - energy) / energy)
            spins.append(np.linalg.norm(motion.spin(q, v) - spin) / np.linalg.norm(spin))
    return times, energies, spins


def run(arguments):
    """Measure, draw, print the largest drifts, and tell whether they are within bounds."""
    del arguments  # nothing is drawn at random here
    matplotlib.rcParams.update({'font.size': 11})
    figure = Figure(figsize=(11, 7.5), layout='constrained')
    figure.suptitle(
        'What should stay constant without damping and drives, and how far it drifts', fontsize=14
    )
    axes = figure.subplots(2, 2, sharex=True)
    print(f'Largest relative drift in {DURATION} s\n')
    print(f'{"motion":<38}{"method":<22}{"step":>6}{"energy":>12}{"momentum":>12}')
    is_good = True
    for row, motion in zip(axes, motions()):
        for (name, method), colour in zip(INTEGRATORS.items(), COLOURS):
            is_good &= _compare(row, motion, name, method, colour)
        _label(row, motion)
    for axis in axes[1]:
        axis.set_xlabel('time [s]')
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc='outside lower center', ncols=2)
    picture = drawings.place('energy_drift.png')
    figure.savefig(picture, dpi=100)
    print(f'\nDrawn: {drawings.shown(picture)}')
    return is_good


def _compare(row, motion, name, method, colour):
    """Draw the drifts of one method; tell whether they are small and fall with the step."""
    worst = []
    for step, line in zip(STEPS, ('--', '-')):
        times, *errors = drift(motion, method, step)
        label = f'{LABELS.get(name, name)}, step {1000 * step:g} ms'
        for axis, values in zip(row, errors):
            # A logarithm has no place for an exact zero.
            axis.semilogy(times, np.maximum(values, 1e-17), line, color=colour, label=label)
        worst.append([max(values) for values in errors])
        energy, spin = worst[-1]
        print(
            f'{motion.title:<38}{LABELS.get(name, name):<22}{step:>6}{energy:>12.1e}{spin:>12.1e}'
        )
    longer, shorter = np.array(worst)
    return bool(max(shorter) < BOUND and min(longer / shorter) > SHARE * 2**method.order)


def _label(row, motion):
    row[0].set_title(f'Energy: {motion.title}')
    row[0].set_ylabel('error / energy above rest at start')
    row[1].set_title(motion.momentum_name)
    row[1].set_ylabel('error / value at start')
    for axis in row:
        axis.grid(True, alpha=0.3)
