"""
Our dynamics against Pinocchio and MuJoCo, on random trees and on robots people use.

A quantity agrees if its largest error is below 1e-9 of its largest value, or of 1 if that is
less. Where the mass matrix is conditioned worse than 1e8, the accelerations are judged by the
effort they need.
"""

from dataclasses import dataclass, field
import logging
from pathlib import Path
import sys
import sysconfig

import mujoco_model
import numpy as np
import pinocchio as pin
from pinocchio_model import PinocchioModel

sys.path.append(str(Path(__file__).resolve().parents[1] / 'test' / 'dynamics'))

from comparison import condition, errors, relative_error, TOLERANCE  # noqa: E402
from trees import (  # noqa: E402
    build_model,
    draw_kinds,
    draw_state,
    draw_tree,
    let_follow,
    wrenches_of,
)

from sim2real_estimator.dynamics.aba import forward_dynamics  # noqa: E402
from sim2real_estimator.dynamics.integrators import INTEGRATORS  # noqa: E402
from sim2real_estimator.model.joints import JOINTS  # noqa: E402
from sim2real_estimator.model.parameters import Parameters  # noqa: E402
from sim2real_estimator.model.robot import realize  # noqa: E402
from sim2real_estimator.model.urdf.load import FLOATING_BASE, load_urdf  # noqa: E402

ROBOT_FILES = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')
# Name, file, and whether the base floats.
ROBOTS = (
    ('double pendulum', 'double_pendulum_description/urdf/double_pendulum.urdf', False),
    ('UR10', 'ur_description/urdf/ur10_robot.urdf', False),
    ('Panda', 'panda_description/urdf/panda.urdf', False),
    ('Kinova', 'kinova_description/robots/kinova.urdf', False),
    ('xArm 7', 'xarm_description/urdf/xarm7.urdf', False),
    ('SO-101', 'so_arm_description/urdf/so101.urdf', False),
    ('Baxter', 'baxter_description/urdf/baxter.urdf', False),
    ('iCub', 'icub_description/robots/icub.urdf', False),
    ('ANYmal B', 'anymal_b_simple_description/robots/anymal.urdf', True),
    ('Go2', 'go2_description/urdf/go2.urdf', True),
    ('Solo12', 'solo_description/robots/solo12.urdf', True),
    ('Bolt', 'bolt_description/robots/bolt.urdf', True),
    ('TALOS', 'talos_data/robots/talos_reduced.urdf', True),
    ('TALOS, grippers', 'talos_data/robots/talos_full_v2.urdf', True),
    ('G1', 'g1_description/urdf/g1_29dof_rev_1_0.urdf', True),
)
STATES_OF_A_ROBOT = 3
QUANTITIES = (
    'acceleration',
    'effort',
    'mass matrix',
    'links',
    'energy',
    'momentum',
    'regressor',
)
STEP = 0.01


@dataclass
class Row:
    """The worst over some states or trees, as a line of the table."""

    name: str
    joints: set = field(default_factory=set)
    condition: float = 0.0
    errors: dict = field(default_factory=dict)

    def take(self, model, state, oracle, robot):
        """Compare one state of one robot."""
        answers = oracle.answers(state)
        self.joints.add(len(model.moving_joints))
        self.condition = max(self.condition, condition(answers))
        for name, error in errors(robot, state, answers).items():
            self.errors[name] = max(self.errors.get(name, 0.0), error)

    @property
    def is_good(self):
        """Whether every quantity was compared and agrees."""
        return set(self.errors) == set(QUANTITIES) and max(self.errors.values()) < TOLERANCE

    def text(self):
        """Return the line."""
        joints = f'{min(self.joints)}-{max(self.joints)}' if len(self.joints) > 1 else ''
        joints = joints or str(*self.joints)
        cells = ''.join(f'{self.errors[name]:>13.0e}' for name in QUANTITIES)
        verdict = 'ok' if self.is_good else 'FAILED'
        return f'{self.name:<40}{joints:>6}{self.condition:>9.0e}{cells}  {verdict}'


def run(arguments):
    """Compare everything, print the tables, and tell whether all agrees."""
    # Flawed inertias in the files are not what is judged here; both programs take them as given.
    logging.getLogger('sim2real_estimator').setLevel(logging.ERROR)
    rng = np.random.default_rng(arguments.seed)
    rows = [*compare_trees(rng, arguments.trees), *(compare_robot(rng, *r) for r in ROBOTS)]
    titles = ''.join(f'{name:>13}' for name in QUANTITIES)
    print('Largest errors relative to the largest value, against Pinocchio\n')
    print(f'{"robot":<40}{"joints":>6}{"cond(M)":>9}{titles}')
    for row in rows:
        print(row.text())
    steps = compare_steps(rng, max(1, arguments.trees // 3))
    print(
        f'\nOne semi-implicit Euler step of {STEP} s against MuJoCo, {len(steps)} random trees: '
        f'largest error of q {max(q for q, _ in steps):.0e}, of v {max(v for _, v in steps):.0e}'
    )
    return all(row.is_good for row in rows) and all(max(pair) < TOLERANCE for pair in steps)


def compare_trees(rng, count):
    """Return the rows of random trees: bases fixed and floating, light parts, followers."""
    rows = {}
    for index in range(count):
        is_floating, has_followers = index % 3 == 2, index % 5 == 4
        masses = (0.01, 10.0) if index % 4 == 3 else (0.2, 5.0)
        spec = draw_tree(
            rng, f'tree {index}', draw_kinds(rng, JOINTS, 2 + index % 11), masses, is_floating
        )
        model = build_model(let_follow(rng, spec) if has_followers else spec)
        name = 'random, floating' if is_floating else 'random, fixed'
        name += ', followers' if has_followers else ''
        name += ', light parts' if index % 4 == 3 else ''
        row = rows.setdefault(name, Row(name))
        robot = realize(Parameters(model), {})
        row.take(model, draw_state(rng, model), PinocchioModel(model), robot)
    return [rows[name] for name in sorted(rows)]


def compare_robot(rng, name, file, is_floating):
    """Return the row of a robot that each program reads from its file by itself."""
    path, free = ROBOT_FILES / file, {FLOATING_BASE: 'effort'} if is_floating else {}
    base = 'floating' if is_floating else 'fixed'
    model = load_urdf(path, base=base, actuators=free, inertia_check='warn')
    root = [pin.JointModelFreeFlyer()] if is_floating else []
    oracle = PinocchioModel(model, pin.buildModelFromUrdf(str(path), *root))
    parameters = Parameters(model)
    # Pinocchio leaves it to its user to make efforts of the damping and friction in the file.
    resisting = [n for n in parameters if n.endswith(('.damping', '.friction'))]
    robot = realize(parameters, dict.fromkeys(resisting, 0.0))
    row = Row(f'{name}, floating' if is_floating else name)
    for _ in range(STATES_OF_A_ROBOT):
        row.take(model, draw_state(rng, model), oracle, robot)
    return row


def compare_steps(rng, count):
    """Return the relative errors of (q, v) after one step of MuJoCo from random states."""
    pairs = []
    kinds = [kind for kind in JOINTS if kind != 'free']
    for index in range(count):
        drawn = draw_kinds(rng, kinds, 2 + index % 7)
        # A spring in a joint of several degrees of freedom is another one there.
        simple = {'revolute', 'continuous', 'prismatic', 'fixed'}
        physics = ('damping', 'stiffness', 'rest') if set(drawn) <= simple else ('damping',)
        is_floating = index % 3 == 2 and physics == ('damping',)
        spec = draw_tree(rng, f'tree {index}', drawn, (0.2, 5.0), is_floating, physics)
        model = build_model(spec)
        state = draw_state(rng, model)
        q, v = our_step(model, state)
        q_there, v_there = mujoco_model.step(model, mujoco_model.convert(model, STEP), state)
        pairs.append((relative_error(q, q_there), relative_error(v, v_there)))
    return pairs


def our_step(model, state):
    """Return (q, v) after one step of ours."""
    robot, wrenches = realize(Parameters(model), {}), wrenches_of(state)

    def acceleration(q, v):
        return forward_dynamics(robot, q, v, state['effort'], wrenches)

    method = INTEGRATORS['semi_implicit_euler']
    return method.step(robot, state['q'], state['v'], STEP, acceleration)
