"""The arm of `arm_stribeck`, watched for a quarter of an hour: its model stays wrong."""

from sim2real_estimator.pipeline import Pipeline

from . import arm_stribeck, disturbed_arms
from .arm_course import ArmCourse
from .metrics import judge
from .seven_joints import base_quantities
from .targets import an_hour, covered, Line, share

TITLE = 'arm of seven joints, friction sharp and 30 % larger below 0.1 rad/s, for 15 minutes'
# An hour in all.
MOST = 4
MARKS = (60, 300, 900)


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()
    robot = disturbed_arms.robot(seed, config, arm_stribeck.forces, truth=arm_stribeck.TRUTH)
    pipeline, course, record = Pipeline.from_config(config), ArmCourse(), {}
    problem = pipeline.problem
    whole = base_quantities(problem.parametrization, robot.truths[0].values)
    quantities = disturbed_arms.part(whole, ~disturbed_arms.are_losses(problem))
    for mark in MARKS:
        course.follow(pipeline, robot, mark)
        record[str(mark)] = judge(pipeline.mixture, quantities)
    return record | course.record()


def lines():
    """Return the lines of the table."""
    held = [
        Line(
            f'90 % intervals of all but losses, {m // 60} min', covered(str(m), 0.9), (0.85, None)
        )
        for m in MARKS
    ]
    return [
        *held,
        Line('false alarms an hour', an_hour('false_alarms', MARKS[-1]), (None, 1)),
        Line('mean NIS per degree', share('nis'), (0.9, 1.1)),
    ]
