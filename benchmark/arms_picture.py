"""The picture of arms in motion: how wrong their torques are, and what is claimed."""

from estimation import arm_pushed, arm_stribeck, disturbed_arms
from estimation.arm_course import ArmCourse
from estimation.metrics import coverage, judge
from estimation.seven_joints import base_quantities, torque_error
from matplotlib import pyplot
import numpy as np

from sim2real_estimator.pipeline import Pipeline

_SEED, _END, _EVERY = (0, 0), 15.0, 0.5
# Title, colour, what acts on the arm, and values of its own, that its model does not have.
_ARMS = (
    ('the model is right', 'tab:green', None, {}),
    ('pushed by a tenth of its friction', 'tab:blue', arm_pushed.forces, {}),
    (
        'friction sharper, and larger near reversal',
        'tab:red',
        arm_stribeck.forces,
        arm_stribeck.TRUTH,
    ),
)


def draw():
    """Return the figure."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for title, colour, forces, truth in _ARMS:
        times, wrong, held = _followed(forces, truth)
        left.semilogy(times, wrong, '.-', color=colour, label=title)
        right.plot(times, 100 * held, '.-', color=colour, label=title)
    left.set_ylabel('torques of other motions are wrong by [%]')
    left.legend()
    right.axhline(90, color='k', linestyle='--', linewidth=1.0)
    right.set_ylabel('90 % intervals that contain the truth [%]')
    right.set_ylim(0, 102)
    for axis in (left, right):
        axis.set_xlabel('time since the arm began to move [s]')
        axis.grid(alpha=0.3)
    figure.suptitle('An arm of seven joints, 91 unknown numbers, encoders and torques only')
    figure.tight_layout()
    return figure


def _followed(forces, truth):
    """Return times [T] [s], errors of torques [T] [%], the share [T] of intervals that hold."""
    config = disturbed_arms.config()
    robot = disturbed_arms.robot(_SEED, config, forces, truth=truth)
    pipeline, values, rows = Pipeline.from_config(config), robot.truths[0].values, []
    problem, course = pipeline.problem, ArmCourse()
    whole = base_quantities(problem.parametrization, values)
    for until in np.arange(_EVERY, _END + _EVERY / 2, _EVERY):
        course.follow(pipeline, robot, until)
        mean = pipeline.mixture.moments()[0]
        held = coverage(judge(pipeline.mixture, whole)['rank'], 0.9)
        wrong = torque_error(problem, values, problem.parametrization.to_named(mean[:, None]))
        rows.append((until, wrong, held))
    return np.array(rows).T
