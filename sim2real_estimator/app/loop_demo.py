"""
The loop that the package is for, closed: `sim2real-estimator loop-demo`.

A synthetic arm of seven joints differs from its description. Round by round a motion is suggested
from what is known so far, a controller with the estimated parameters follows it, and the estimator
learns from it; after a round the controller follows a course that is the same each time, by what
was known when it began. Before the first round that is the robot description.
"""

from dataclasses import dataclass
import io
from pathlib import Path
import time

import numpy as np

from ..control.computed_torque import ComputedTorque, Target
from ..control.inverse_dynamics import InverseDynamics
from ..control.trajectory import Trajectory

ROBOT = Path('config', 'seven_joint_arm.urdf')
SECONDS, RATE = 8.0, 250.0
# Noise of measured torques, and of measured velocities, which the controller smooths.
EFFORT_SD, VELOCITY_SD = 0.3, 0.005
# The course: so many postures, each so far from the middle [rad] and so long after another [s].
POSTURES, AWAY, BETWEEN = 4, 0.7, 1.5
# A motion from rest to where another begins [s].
APPROACH = 2.0
_NANO = 1e9


@dataclass(frozen=True)
class Round:
    """
    What is known after a round, and what it is worth.

    number: 0 is the robot description; tracking: error on the course [rad], root of the mean
    square over joints and time; torque: error of the controller's commands against those of the
    true robot, in parts of their size; verdicts: verdict -> how many parameters; advice: what was
    suggested before, in sentences.
    """

    number: int
    tracking: float
    torque: float
    verdicts: dict
    advice: tuple = ()


class ControlledRobot:
    """A synthetic robot, its controller, and the estimator that listens to it."""

    def __init__(self, seed, folder):
        """Set all up from a robot description; folder: for the config that `init` writes."""
        from ..config import load_config
        from ..pipeline import Pipeline
        from ..ros.publishers.coordinate_map import map_of
        from ..setup.starter import starter_yaml
        from .demo.show import shipped
        from .synthetic.settings import StreamConfig, SyntheticConfig
        from .synthetic.synthetic_robot import SyntheticRobot

        path = Path(folder, 'robot.yaml')
        path.write_text(starter_yaml(shipped(ROBOT), folder, effort='measured'), encoding='utf-8')
        self.config = load_config(path)
        self.pipeline = Pipeline.from_config(self.config)
        problem = self.pipeline.problem
        names = problem.parametrization.names
        self._mapping = map_of(problem.parametrization, [''] * len(names))
        (topic,) = {sensor.topic for sensor in self.config.sensors.values()}
        stream = StreamConfig(effort_sd=EFFORT_SD, velocity_sd=VELOCITY_SD)
        settings = SyntheticConfig(
            config='robot.yaml',
            seed=seed,
            rate=RATE,
            streams={topic: stream},
            commands='efforts',
            source=str(path),
        )
        self.robot = SyntheticRobot(settings)
        self.dynamics = InverseDynamics(problem.model, list(names), problem.parameters.more)
        self.law = ComputedTorque(self.dynamics, blend=0.0)
        truth = self.robot.truth.values
        nominal = dict(zip(self.dynamics.names, self.dynamics.nominal))
        self.truth = np.array([truth.get(n, nominal[n]) for n in self.dynamics.names])
        self._size = problem.model.position_size

    @property
    def positions(self):
        """Where the robot is [n]."""
        return self.robot.plant.state[: self._size].copy()

    def learn(self):
        """Let the controller use what is known now."""
        self.law.learn_from(self.pipeline.mixture, self._mapping, has_spread=False)

    def follow(self, motion, seconds):
        """
        Follow a motion: function of the time [s] -> `Target`.

        Return the errors of positions [N, n].
        """
        errors, robot, begin = [], self.robot, self.robot.time_ns
        while (elapsed := (robot.time_ns - begin) / _NANO) < seconds:
            state, target = robot.plant.state, motion(elapsed)
            q, v = state[: self._size], state[self._size :]
            asked = self.law.commands(q, v, target, 1 / RATE, with_sd=False).values
            robot.command(asked.tolist())
            robot.advance()
            for reading in robot.arrived(robot.time_ns):
                self._hear(reading)
            errors.append(q - target.positions)
        return np.array(errors)

    def torque_error(self, motion, seconds):
        """Return by how much the controller's torques of a motion are wrong, of their size."""
        both, found = np.stack([self.law.values, self.truth], 1), []
        for elapsed in np.arange(0, seconds, 1 / RATE):
            target = motion(elapsed)
            wanted = target.positions, target.velocities, target.accelerations
            found.append(self.dynamics.commands(*wanted, both))
        asked, right = np.moveaxis(found, -1, 0)
        return float(np.linalg.norm(asked - right) / np.linalg.norm(right))

    def _hear(self, reading):
        from .synthetic.readings import message_of

        message = message_of(reading)
        for name in self.robot.readers[reading.topic]:
            self.pipeline.receive(name, message, self.robot.arrival_ns(reading))
        self.pipeline.step()


def run(seed, rounds, folder, say=print):
    """Return the `Round`s; say: called with a line of text now and then."""
    from ..excitation.advice import advise
    from ..excitation.limits import Shares
    from ..excitation.planning import PlanOptions

    controlled = ControlledRobot(seed, folder)
    course = _course(controlled, seed)
    joints = controlled.dynamics.joints
    found = [_measured(controlled, course, 0, ())]
    say(_line(found[0]))
    for number in range(1, rounds + 1):
        posterior = controlled.pipeline.posterior()
        start = dict.fromkeys(joints, 0.0)
        began = time.process_time()
        advice = advise(
            controlled.pipeline.problem,
            posterior,
            shares=Shares(),
            options=PlanOptions(seconds=SECONDS, start=start, seed=seed + number),
        )
        lines = tuple(advice.lines(5))
        say(f'round {number}: {lines[0]} ({time.process_time() - began:.0f} s of the processor)')
        plan = advice.plan.motion
        order = [plan.joints.index(joint) for joint in joints]
        _approach(controlled, plan(np.zeros(1))[0][0][order])

        def suggested(elapsed, plan=plan, order=order):
            parts = plan(np.array([min(elapsed, plan.seconds)]))
            return Target(*(part[0][order] for part in parts))

        controlled.follow(suggested, SECONDS)
        controlled.learn()
        found.append(_measured(controlled, course, number, lines))
        say(_line(found[-1]))
    return found


def _approach(controlled, goal):
    """Go from where the robot is to a posture, which tells the estimator something, too."""
    way = Trajectory(
        np.array([0.0, APPROACH]),
        np.array([controlled.positions, goal]),
        *np.zeros((2, 2, len(goal))),
    )
    controlled.follow(way.target, APPROACH)


def _course(controlled, seed):
    """Return the motion by which rounds are compared."""
    generator, n = np.random.default_rng([seed, 99]), len(controlled.dynamics.joints)
    postures = generator.uniform(-AWAY, AWAY, (POSTURES, n))
    positions = np.concatenate([np.zeros((1, n)), postures, np.zeros((1, n))])
    times = BETWEEN * np.arange(len(positions))
    rest = np.zeros_like(positions)
    return Trajectory(times, positions, rest, rest)


def _measured(controlled, course, number, advice):
    """Return the `Round` after this number, by following the course."""
    findings = controlled.pipeline.latest_findings()
    _approach(controlled, course.positions[0])
    seconds = course.times[-1]
    errors = controlled.follow(course.target, seconds)
    verdicts = [each.verdict for each in findings.parameters]
    return Round(
        number,
        float(np.sqrt(np.mean(errors**2))),
        controlled.torque_error(course.target, seconds),
        {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)},
        advice,
    )


def _line(found):
    by = 'the robot description' if found.number == 0 else f'what round {found.number} told'
    return (
        f'by {by}: errors on the course {1e3 * found.tracking:.2f} mrad, of torques '
        f'{100 * found.torque:.1f} %; {found.verdicts.get("identified", 0)} of '
        f'{sum(found.verdicts.values())} parameters are identified'
    )


def picture(found):
    """Return a PNG of `Round`s: errors of tracking and torques, and what is known."""
    from ..posterior.report.drawing import drawing, plain_numbers
    from ..posterior.report.figure_style import BLUE, GREY, ORANGE

    numbers = [each.number for each in found]
    names = ['description', *(f'round {number}' for number in numbers[1:])]
    tracking = 1e3 * np.array([each.tracking for each in found])
    torque = 100 * np.array([each.torque for each in found])
    known = np.array([each.verdicts.get('identified', 0) for each in found])
    with drawing(10.0, 3.2) as figure:
        axes = figure.subplots(1, 3)
        for axis, values, title, colour in (
            (axes[0], tracking, 'error on the course [mrad]', BLUE),
            (axes[1], torque, 'error of torques [%]', ORANGE),
            (axes[2], known, 'parameters identified', GREY),
        ):
            axis.bar(numbers, values, 0.6, color=colour)
            axis.set_xticks(numbers, names, rotation=20)
            axis.set_title(title, loc='left')
            axis.grid(axis='x', visible=False)
            for number, value in zip(numbers, values):
                axis.text(number, value, f'{value:.2g}', ha='center', va='bottom', fontsize=9)
        for axis in axes[:2]:
            axis.set_yscale('log')
            plain_numbers(axis.yaxis)
        file = io.BytesIO()
        figure.savefig(file, format='png', dpi=110, metadata={'Software': None})
    return file.getvalue()
