"""A suggested motion as files: JointTrajectory as YAML, CSV, the advice in words, a picture."""

import io

import numpy as np
import yaml

from ..posterior.export.text_files import replace_file
from ..posterior.report import require_drawing

# Points of a trajectory a second: controllers interpolate between them.
RATE = 50
_NANO = 10**9
# Size of a picture of one joint [inch], and dots per inch.
_WIDE, _HIGH, _SHARP = 10.0, 1.5, 110
FILES = ('trajectory.yaml', 'trajectory.csv', 'advice.txt', 'motion.png')


def write_advice(advice, folder):
    """Write all `FILES` of an `Advice` into a folder, which exists."""
    require_drawing()
    replace_file(folder / FILES[0], trajectory_yaml(advice.plan.motion))
    replace_file(folder / FILES[1], trajectory_csv(advice))
    replace_file(folder / FILES[2], '\n'.join(advice.lines()) + '\n')
    replace_file(folder / FILES[3], picture(advice))


def trajectory(motion):
    """Return a trajectory_msgs/JointTrajectory as plain values, as its fields are named."""
    motion, points = motion.made, []
    times = motion.times(RATE)
    for t, q, v, a in zip(times.tolist(), *(part.tolist() for part in motion(times))):
        whole, rest = divmod(round(t * _NANO), _NANO)
        points.append(
            {
                'positions': [round(x, 9) for x in q],
                'velocities': [round(x, 9) for x in v],
                'accelerations': [round(x, 9) for x in a],
                'time_from_start': {'sec': whole, 'nanosec': rest},
            }
        )
    return {'joint_names': list(motion.joints), 'points': points}


def trajectory_yaml(motion):
    """Return the trajectory as the YAML that `ros2 topic pub` takes."""
    about = '# trajectory_msgs/msg/JointTrajectory: drive slowly to its first point before.\n'
    return about + yaml.safe_dump(trajectory(motion), sort_keys=False, default_flow_style=None)


def trajectory_csv(advice):
    """Return the motion as CSV, with the torques that are expected and their 95 % bands."""
    motion, joints = advice.plan.motion.made, advice.information.joints
    times = motion.times(RATE)
    parts = [times[:, None], *motion(times), *advice.efforts(times)]
    kinds = ('position', 'velocity', 'acceleration')
    names = ['time', *(f'{kind}.{joint}' for kind in kinds for joint in motion.joints)]
    names += [f'{k}.{j}' for k in ('effort', 'effort_low', 'effort_high') for j in joints]
    rows = np.concatenate(parts, 1)
    lines = [','.join(names), *(','.join(f'{x:.9g}' for x in row) for row in rows)]
    return '\n'.join(lines) + '\n'


def picture(advice):
    """Return a PNG: positions and velocities within limits, and torques with their bands."""
    # Imported here, so that a trajectory can be written without it.
    from ..posterior.report.drawing import drawing
    from ..posterior.report.figure_style import BLUE, GREY, LIGHT, ORANGE

    motion, limits = advice.plan.motion, advice.limits
    times = motion.times(RATE)
    positions, velocities, _ = motion(times)
    efforts, rows = advice.efforts(times), {j: k for k, j in enumerate(advice.information.joints)}
    with drawing(_WIDE, _HIGH * len(rows) + 0.4) as figure:
        axes = figure.subplots(len(rows), 3, squeeze=False, sharex=True)
        moved = [(k, joint) for k, joint in enumerate(motion.joints) if joint in rows]
        for (k, joint), line in zip(moved, axes):
            held = (limits.lower[k], limits.upper[k]), (-limits.velocity[k], limits.velocity[k])
            for axis, values, bounds in zip(line, (positions, velocities), held):
                axis.plot(times, values[:, k], color=BLUE)
                _draw_bounds(axis, bounds, GREY)
            mean, low, high = efforts[..., rows[joint]]
            line[2].fill_between(times, low, high, color=LIGHT)
            line[2].plot(times, mean, color=ORANGE)
            most = limits.effort[rows[joint]]
            _draw_bounds(line[2], (-most, most), GREY)
            line[0].set_ylabel(joint)
        for axis, title in zip(axes[0], ('position', 'velocity', 'torque, 95 % of robots')):
            axis.set_title(title)
        for axis in axes[-1]:
            axis.set_xlabel('time [s]')
        file = io.BytesIO()
        figure.savefig(file, format='png', dpi=_SHARP, metadata={'Software': None})
    return file.getvalue()


def _draw_bounds(axis, bounds, colour):
    for bound in bounds:
        axis.axhline(bound, color=colour, linestyle='--', linewidth=0.8)
