"""
Derivatives through impacts: a ball that is dropped, and two that exchange their velocities.

Ours in both backends, with and without steps that are cut where things touch, beside central
differences of MuJoCo and the derivatives of nimblephysics. The latter is run where $NIMBLE names
a folder with it and a numpy below 2 (`pip install --no-deps --target FOLDER nimblephysics
numpy==1.26.4`). Each simulator is judged against itself at finer steps, since their laws of
contact differ.
"""

import os
import subprocess
import sys
import time

import mujoco
import numpy as np
from report import print_notes, print_table

from sim2real_estimator.backend import BACKENDS
from sim2real_estimator.backend.base import RolloutInputs
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf

RADIUS = 0.1
# Heights [m] from which a ball of 1 kg falls, and when its height is asked for [s].
DROPS, WHEN = np.linspace(0.3, 1.0, 20), 0.798
# Force over penetration to the power 1.5 [N/m^1.5] and over penetration [N/m]: about ten steps of
# 3 ms to an impact.
STIFFNESS, MUJOCO_STIFFNESS = 1e4, 1e4
STEPS, FINE = (3e-3, 1e-3), 1e-4
# Two balls: 0.3 m apart, one comes at 1 m/s; derivatives of where the other is after 1 s.
BALLS_STIFFNESS = 1e5
EXACT = (1.0, 0.0, 1.0, 0.0)
_DIFFERENCE = 1e-6
# The height after an impact is a staircase in MuJoCo, with a step for each time step: what it
# converges to is seen by differences that pass many of them [m].
_MUJOCO_FINE, _MUJOCO_DIFFERENCE = 3e-5, 5e-3
# What is promised: of the derivative of the rebound at 3 ms, of those of two balls at the last of
# the steps.
_WANTED_REBOUND, _WANTED_BALLS, _WANTED_BACKENDS = 0.02, 0.01, 1e-9
_BALL = """<link name="{name}"><inertial><mass value="1"/>
<inertia ixx="0.004" iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="of_{name}" type="prismatic"><parent link="base"/><child link="{name}"/>
<axis xyz="{axis}"/><limit effort="1" velocity="1"/></joint>"""
_CUBE = """<robot name="cube"><link name="cube"><inertial><mass value="0.37"/>
<inertia ixx="0.00081" iyy="0.00081" izz="0.00081" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link></robot>"""


class _Uncut(System):
    """The same equations of motion, with steps that are never cut."""

    cuts = 0


def run(arguments):
    """Print both tables and the time of a step; return whether all is as promised."""
    return all([_rebound(), _exchange(), _cube()])


def _rebound():
    """Print how wrong the derivatives of the rebound by the drop height are."""
    model = _robot(('ball',), '0 0 1', 'ground', STIFFNESS)
    exact = _rebound_slopes('native', System, model, 'rk4', FINE)
    rows, found = [], {}
    for label, backend, system, integrator in (
        ('ours, native', 'native', System, 'rk4'),
        ('ours, eager', 'eager', System, 'rk4'),
        ('ours, steps not cut', 'native', _Uncut, 'rk4'),
        ('ours, Euler, steps not cut', 'native', _Uncut, 'semi_implicit_euler'),
    ):
        slopes = [_rebound_slopes(backend, system, model, integrator, step) for step in STEPS]
        found[label] = slopes
        rows.append([label, *(f'{100 * _relative(each, exact):.2f} %' for each in slopes)])
    exact_mujoco = _mujoco_rebound(_MUJOCO_FINE, _MUJOCO_DIFFERENCE)
    errors = (_relative(_mujoco_rebound(step), exact_mujoco) for step in STEPS)
    rows.append(['MuJoCo, central differences', *(f'{100 * each:.2f} %' for each in errors)])
    print(f'Derivative of the height after {WHEN} s by the drop height, rms error of 20 heights\n')
    print_table(['', *(f'{1e3 * step:g} ms' for step in STEPS)], rows)
    ours, eager = found['ours, native'], found['ours, eager']
    apart = max(_relative(a, b) for a, b in zip(ours, eager))
    print_notes([f'native and eager differ by {apart:.1e}'])
    return _relative(ours[0], exact) < _WANTED_REBOUND and apart < _WANTED_BACKENDS


def _exchange():
    """Print the derivatives of where a ball is that another has hit."""
    model = _robot(('a', 'b'), '1 0 0', 'b', BALLS_STIFFNESS)
    rows = [['exact, for balls without softness', '', *(f'{x:.3f}' for x in EXACT)]]
    is_good = True
    for step in (*STEPS, FINE):
        for label, system in (('ours', System), ('ours, steps not cut', _Uncut)):
            inputs = _inputs(model, np.array([[0.0], [0.5], [1.0], [0.0]]), step, 1.0)
            slopes = _backend('native', system, model).jacobian_arrays(inputs).by_state[0, 1]
            rows.append(_row(label, step, slopes))
            if system is System and step == STEPS[-1]:
                is_good &= bool(np.abs(slopes - EXACT).max() < _WANTED_BALLS)
        if step == FINE:
            continue
        rows.append(_row('MuJoCo, central differences', step, _mujoco_balls(step)))
        for slopes in _nimble(step):
            rows.append(_row('nimblephysics', step, slopes))
    print('Derivatives of the place of a ball 1 s later, which another hits at 0.3 s\n')
    header = ['', 'step', 'by place of a', 'by its own', 'by speed of a', 'by its own']
    print_table(header, rows)
    notes = [] if _nimble(STEPS[0]) else ['nimblephysics was not run: see the head of contact.py']
    print_notes([*notes, 'lcp-physics publishes no error of a derivative, only that it agrees'])
    return is_good


def _cube():
    """Print how long steps of a cube with eight corners take, in flight and as it lands."""
    model = load_urdf(_CUBE, base='floating', contacts={'floor': {'between': ('cube', 'ground')}})
    names = ('floor.friction', 'floor.dissipation', 'floor.stiffness', 'cube.mass')
    backend = _backend('native', System, model, names)
    rows = []
    # A frame of a camera of 148 Hz, as of the recorded tosses of cubes.
    step, count = 6.76e-3 / 7, 7
    for label, height in (('in flight', 1.0), ('as it lands', 0.053)):
        state = np.zeros((13, 1))
        state[[2, 3, 7, 9, 10], 0] = height, 1.0, 1.0, -1.0, 5.0
        nominal = np.array(Parameters(model).nominal(names))[:, None]
        steps = np.full((count, 1), step)
        inputs = RolloutInputs(state, nominal, np.zeros((count, 0, 1)), steps)
        row = [label]
        for ask in (backend.rollout_arrays, backend.jacobian_arrays):
            ask(inputs)
            begin, times = time.perf_counter(), 300
            for _ in range(times):
                ask(inputs)
            row.append(f'{1e3 * (time.perf_counter() - begin) / times:.3f} ms')
        rows.append(row)
    print(f'A cube with eight corners, {count} steps of {1e3 * step:.2f} ms: a frame\n')
    print_table(['', 'values', 'with Jacobians'], rows)
    return True


def _robot(names, axis, other, stiffness):
    """Return the `Model` of balls that slide along an axis and do not lose energy."""
    links = ''.join(_BALL.format(name=name, axis=axis) for name in names)
    contact = {'between': (names[0], other), 'stiffness': stiffness}
    return load_urdf(
        f'<robot name="balls"><link name="base"/>{links}</robot>',
        actuators={f'of_{name}': 'passive' for name in names},
        contacts={'hit': {**contact, 'friction': 0, 'dissipation': 0}},
    )


def _backend(name, system, model, estimated=(), integrator='rk4'):
    parameters = Parameters(model)
    values = dict(zip(parameters, parameters.nominal()))
    return BACKENDS[name](system(parameters, estimated, integrator), values)


def _inputs(model, state, step, until):
    count = round(until / step)
    controls = np.zeros((count, 0, 1))
    return RolloutInputs(state, np.zeros((0, 1)), controls, np.full((count, 1), step))


def _rebound_slopes(backend, system, model, integrator, step):
    """Return the derivatives of the last height by the first, for all drops."""
    state = np.array([DROPS + RADIUS, 0 * DROPS])
    seeds = [np.zeros((len(DROPS), 2, 1)), np.zeros((len(DROPS), 0, 1))]
    inputs = _inputs(model, state, step, WHEN)
    seeds += [np.zeros((inputs.steps, 1)), np.zeros((inputs.steps, 0, 1))]
    seeds[0][:, 0] = 1.0
    runner = _backend(backend, system, model, integrator=integrator)
    return runner.directions_arrays(inputs, tuple(seeds)).d_states[:, -1, 0, 0]


def _relative(slopes, exact):
    return np.sqrt(np.square(slopes - exact).mean() / np.square(exact).mean())


def _row(label, step, slopes):
    return [label, f'{1e3 * step:g} ms', *(f'{x:.3f}' for x in slopes)]


def _mujoco(bodies, step, stiffness, gravity):
    """Return MuJoCo's model of balls; its contacts are springs without dampers."""
    balls = ''.join(
        f'<body pos="{place}"><joint type="slide" axis="{axis}"/><geom type="sphere" size="0.1" '
        'mass="1" condim="1"/></body>'
        for place, axis in bodies
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" gravity="0 0 {-gravity}" integrator="RK4"/>'
        f'<default><geom solref="{-stiffness} 0" solimp="0.99 0.99 0.001"/></default>'
        f'<worldbody><geom type="plane" size="9 9 1" condim="1" pos="0 0 {0 if gravity else -5}"/>'
        f'{balls}</worldbody></mujoco>'
    )


def _mujoco_end(model, position, velocity, until):
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = position, velocity
    for _ in range(round(until / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return data.qpos.copy()


def _mujoco_rebound(step, difference=_DIFFERENCE):
    model = _mujoco([('0 0 0.1', '0 0 1')], step, MUJOCO_STIFFNESS, 9.81)
    ends = [
        [_mujoco_end(model, drop + sign * difference, 0.0, WHEN)[0] for drop in DROPS]
        for sign in (1, -1)
    ]
    return (np.array(ends[0]) - ends[1]) / (2 * difference)


def _mujoco_balls(step):
    model = _mujoco([('0 0 0', '1 0 0'), ('0.5 0 0', '1 0 0')], step, BALLS_STIFFNESS, 0.0)
    slopes = []
    for column in range(4):
        ends = []
        for sign in (1, -1):
            state = np.array([0.0, 0.0, 1.0, 0.0])
            state[column] += sign * _DIFFERENCE
            ends.append(_mujoco_end(model, state[:2], state[2:], 1.0)[1])
        slopes.append((ends[0] - ends[1]) / (2 * _DIFFERENCE))
    return slopes


_NIMBLE = """
import nimblephysics as nimble, numpy, sys, torch
world = nimble.simulation.World()
world.setGravity(numpy.zeros(3))
world.setTimeStep(float(sys.argv[1]))
for name in 'ab':
    ball = nimble.dynamics.Skeleton(name)
    joint, body = ball.createPrismaticJointAndBodyNodePair()
    joint.setAxis([1, 0, 0])
    shape = body.createShapeNode(nimble.dynamics.SphereShape(0.1))
    shape.createCollisionAspect()
    shape.createDynamicsAspect()
    body.setRestitutionCoeff(1.0)
    body.setMass(1.0)
    world.addSkeleton(ball)
first = torch.tensor([0.0, 0.5, 1.0, 0.0], dtype=torch.float64, requires_grad=True)
state = first
for _ in range(round(1 / float(sys.argv[1]))):
    state = nimble.timestep(world, state, torch.zeros(2, dtype=torch.float64))
print(*torch.autograd.grad(state[1], first)[0].tolist())
"""


def _nimble(step):
    """Return [derivatives] of nimblephysics, [] where it is not there."""
    folder = os.environ.get('NIMBLE')
    if not folder:
        return []
    command = [sys.executable, '-c', _NIMBLE, str(step)]
    environment = {**os.environ, 'PYTHONPATH': folder}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print_notes([f'nimblephysics does not run: {done.stderr.strip()[-200:]}'])
        return []
    return [[float(word) for word in done.stdout.split()[-4:]]]
