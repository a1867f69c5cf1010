"""The command `sim2real-estimator doctor`: what of this computer is in the way, and the remedy."""

import shutil
from textwrap import wrap

__all__ = ['add_doctor']

_MARKS = {'ok': 'ok     ', 'warning': 'WARNING', 'error': 'ERROR  '}
_LEAST_WIDTH, _MOST_WIDTH = 60, 100


def add_doctor(commands):
    """Add the command to those of the parser."""
    doctor = commands.add_parser(
        'doctor', help='check Python, libraries, ROS, DDS, memory, processor and clock'
    )
    doctor.set_defaults(run=_doctor)


def _doctor(_):
    """Print every check and its remedy; the exit status is 1 where something cannot work."""
    from .computer import CHECKS

    found = []
    for check in CHECKS:
        for each in check():
            found.append(each)
            _print(each)
    counts = {level: sum(each.level == level for each in found) for level in _MARKS}
    if counts['error']:
        print(f'\n{counts["error"]} errors, {counts["warning"]} warnings: see what to do above')
        return 1
    print(f'\nall that is needed works; {counts["warning"]} warnings')
    return 0


def _print(found):
    """Print a `Finding`, its remedy below it."""
    columns = shutil.get_terminal_size().columns
    width = min(max(columns, _LEAST_WIDTH), _MOST_WIDTH)
    indent = ' ' * 9
    head = f'{_MARKS[found.level]}  {found.subject}: {found.text}'
    print('\n'.join(wrap(head, width, subsequent_indent=indent)))
    if found.remedy:
        indent += '     '
        text = f'         do:  {found.remedy}'
        print('\n'.join(wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)))
