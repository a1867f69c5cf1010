"""The texts of the demo before and after it."""

import os
from pathlib import Path
import sys

from rich.text import Text

from ..synthetic.settings import load_synthetic
from .domain import environment, own_domain
from .show import show

_INTRODUCTION = """\
A double pendulum with motors and encoders moves, its lower link tracked by motion capture.
The upper link is known from its drawing, but for its length and inertia; the lower link,
the dampings and the rotor are not. After {at:g} s the robot picks up a weight, and nobody
tells the estimator. Inertia and rotor of the shoulder turn together: no data tell them
apart, and the estimate says so.

Watch along from another terminal:
  {variables} {python} -m sim2real_estimator.cli monitor
"""


def perform(plan, console):
    """Run the demo of a `Plan` on a rich console, and return the exit status."""
    with own_domain() as domain:
        return _performed(plan, console, environment(domain))


def _performed(plan, console, variables):
    """Perform with these variables of the environment."""
    os.environ.update(variables)
    words = ' '.join(f'{name}={value}' for name, value in variables.items())
    at = min(payload.at for payload in load_synthetic(plan.robot).payloads.values())
    _say(console, _INTRODUCTION.format(at=at, variables=words, python=_python()))
    history, checks = show(plan, console)
    if history.moments:
        # matplotlib takes long to import.
        from .picture import draw

        path = plan.folder / 'demo.png'
        draw(history, plan.goals, path)
        _say(console, f'picture: {path}')
    _tell(console, checks)
    kept = sum(check.is_kept for check in checks)
    is_good = kept == len(checks)
    _say(console, f'{kept} of {len(checks)} promises kept' + ('' if is_good else ': FAILED'))
    return 0 if is_good else 1


def _python():
    """Return this Python as one would type it here."""
    path, here = Path(sys.executable), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _tell(console, checks):
    """Print a line for each `Check`."""
    for check in checks:
        mark = Text('kept  ', 'green') if check.is_kept else Text('BROKEN', 'bold red')
        console.print(Text.assemble(mark, f'  {check.text}'), soft_wrap=True)


def _say(console, text):
    console.print(text, soft_wrap=True, markup=False, highlight=False)
