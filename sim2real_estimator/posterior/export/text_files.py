"""Text files of a result: written atomically, with every digit, and with their provenance."""

import hashlib
import os
from pathlib import Path

from ...errors import OutputError
from ...version import __version__

# Words in the names of parameters that a URDF can hold.
_IN_A_URDF = ('mass', 'com', 'inertia', 'length', 'origin', 'damping', 'friction', 'armature')


def replace_file(path, content):
    """Write bytes, or text as UTF-8, atomically: to a file beside the path that is then moved."""
    path = Path(path)
    beside = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        try:
            beside.write_bytes(content.encode() if isinstance(content, str) else content)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f'{path}: cannot be written ({error}); choose another place') from error


def word(value):
    """Return a number as text, with all digits."""
    # Adding zero makes -0 the same as 0.
    return repr(float(value) + 0.0)


def words(values):
    """Return several numbers as text, separated by blanks."""
    return ' '.join(word(value) for value in values)


def facts(robot):
    """Return the provenance of an `EstimatedRobot` as JSON, without the time of day."""
    posterior = robot.posterior
    identity = posterior.identity
    return {
        'program': 'sim2real_estimator',
        'version': __version__,
        'model_hash': identity['model_hash'],
        'settings_hash': hashlib.sha256(posterior.config.encode()).hexdigest(),
        'estimator': identity['estimator']['name'],
        'seed': identity['estimator']['seed'],
        'recordings': [vars(recording) for recording in posterior.recordings],
    }


def provenance(robot):
    """Return the provenance and all changes of an `EstimatedRobot` as lines of an XML comment."""
    known = facts(robot)
    what = f'{robot.draw}, no estimate' if robot.draw else 'what was estimated and found out'
    lines = [
        f'  Changed by {known["program"]} {known["version"]}'.rstrip()
        + f': {what}, nothing else.',
        f'  robot {known["model_hash"][:12]}, settings {known["settings_hash"][:12]}, '
        f'{known["estimator"]}, seed {known["seed"]}',
    ]
    lines += [
        f'  data {each["first"]}: {(each["end_ns"] - each["begin_ns"]) / 1e9:.2f} s '
        f'from {each["begin_ns"]} ns'
        for each in known['recordings']
    ]
    found = {each.name: each for each in robot.findings.parameters}
    rows = [_row(robot, name, found.get(name)) for name in robot.values]
    lines += [f'  {row}' for row, is_here in rows if row and is_here]
    beside = [row for row, is_here in rows if row and not is_here]
    if beside:
        lines += ['  No place here has:', *(f'  {row}' for row in beside)]
    if robot.completed:
        names = ', '.join(robot.completed)
        is_full = robot.problem.parametrization.responses is None
        how = 'give way where data leave it open' if is_full else 'follow where no motion shows'
        lines.append(f'  So that they can be built, bodies {how}: {names}')
    if robot.raised:
        names = ', '.join(f'{name} ({value:.3g})' for name, value in robot.raised.items())
        lines.append(f'  Below zero by the mean, as no joint is, so written as zero: {names}')
    # Two hyphens would end the comment.
    return '\n'.join(lines).replace('--', '- -')


def _row(robot, name, finding):
    """Return (the change of a parameter as text, '' without one; whether a URDF can hold it)."""
    before = robot.parameters[name].nominal if name in robot.parameters else 0.0
    now, unit = robot.values[name], robot.parameters.unit(name)
    is_here = any(word in _IN_A_URDF for word in name.split('.'))
    if abs(now - before) <= 1e-12 * abs(before):
        return '', is_here
    row = f'{name} [{unit}]: {before:.6g} is {now:.6g}'
    if finding is None:
        row += '' if robot.draw else ', not estimated'
    else:
        row += f' +- {finding.sd:.2g}, {finding.verdict_text}'
    return row, is_here
