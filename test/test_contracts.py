"""An estimator uses nothing of a problem but what the protocols in `estimation` declare."""

import ast
from pathlib import Path
import typing

from linear_gaussian import LinearProblem
import pytest

from sim2real_estimator.estimation import protocol

ESTIMATION = Path(protocol.__file__).parent
PROTOCOLS = [
    each
    for each in vars(protocol).values()
    if isinstance(each, type) and getattr(each, '_is_protocol', False)
]
# What estimators call a problem.
_NAMES = ('problem', 'augmented')
# Of one estimator alone, which says so in a protocol of its own.
_BESIDES = {'gumbel_mixture.py': {'huber_loss'}}


def declared():
    """Return the names of all members that protocols have."""
    found = set()
    for each in PROTOCOLS:
        found |= {name for name in vars(each) if not name.startswith('_')}
        found |= set(typing.get_type_hints(each))
    return found


def used(path):
    """Return the members of problems that a file uses: `problem.X` or `self.problem.X`."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Attribute):
            of = node.value
            name = getattr(of, 'id', getattr(of, 'attr', '')).lstrip('_')
            if name in _NAMES:
                yield node.attr


@pytest.mark.parametrize(
    'path', sorted(ESTIMATION.rglob('*.py')), ids=lambda p: p.relative_to(ESTIMATION).as_posix()
)
def test_what_is_used_of_a_problem_is_declared(path):
    missing = set(used(path)) - declared() - _BESIDES.get(path.name, set())
    assert not missing, f'{path.name} uses what no protocol declares: {sorted(missing)}'


def test_what_is_declared_is_used():
    every = {name for path in ESTIMATION.rglob('*.py') for name in used(path)}
    assert not declared() - every - protocol.OF_REGRESSION


def test_a_problem_without_a_robot_is_complete():
    problem = LinearProblem()
    missing = [name for name in declared() if not hasattr(problem, name)]
    assert set(missing) <= protocol.OF_REGRESSION
