"""The goals of the demo, and whether they were met, by comparison with the truth."""

from dataclasses import dataclass
import math

from ...observability.verdicts import Verdict

_IDENTIFIED = Verdict.IDENTIFIED.value


@dataclass(frozen=True)
class Goals:
    """
    What has to come true.

    names: parameters that have to be identified `by` so many seconds, with a standard deviation
    below a `share` of the value; reach: standard deviations within which every identified truth
    has to lie; notice: within so many seconds a change has to be reported; error: relative, of
    the values after it; held [kg]: of the mass of what was picked up.
    """

    names: tuple
    by: float = 25.0
    share: float = 0.05
    reach: float = 4.0
    notice: float = 1.0
    error: float = 0.05
    held: float = 0.001


@dataclass(frozen=True)
class Check:
    """A goal, whether it was met, and a text that says what was found."""

    is_kept: bool
    text: str


def judge(goals, history):
    """Return a `Check` of each goal by a `History`."""
    checks = [_identified(goals, name, history) for name in goals.names]
    checks.append(_covered(goals, history))
    if not history.changes:
        return (*checks, Check(False, 'the robot has not changed: nothing was to be found'))
    checks += [_noticed(goals, at, history) for at in history.changes]
    checks.append(_quiet(history))
    return (*checks, *_learnt(goals, history))


def _identified(goals, name, history):
    """Return whether a parameter was identified in time."""
    moment = history.before(goals.by)
    row = moment.rows.get(name) if moment else None
    if row is None:
        return Check(False, f'{name}: nothing was said of it by {goals.by:g} s')
    share = row.sd / abs(row.mean) if row.mean else math.inf
    return Check(
        row.verdict == _IDENTIFIED and share < goals.share,
        f'{name} is {row.verdict} by {goals.by:g} s, sd {100 * share:.2g} % of the value',
    )


def _covered(goals, history):
    """Return whether truths lie within the estimates: early, before changes, at the end."""
    instants = (goals.by, *history.changes, math.inf)
    moments = [moment for moment in map(history.before, instants) if moment]
    distances = {
        (f'{row.name} at {moment.seconds:.0f} s'): _distance(row)
        for moment in moments
        for row in moment.rows.values()
        if row.verdict == _IDENTIFIED
    }
    if not distances:
        return Check(False, 'no parameter is identified')
    worst = max(distances, key=distances.get)
    return Check(
        distances[worst] <= goals.reach,
        f'identified truths lie within {distances[worst]:.1f} standard deviations ({worst})',
    )


def _distance(row):
    """Return how many standard deviations the truth is from the mean."""
    if row.truth is None or not row.sd > 0:
        return math.inf
    return abs(row.mean - row.truth) / row.sd


def _noticed(goals, at, history):
    """Return whether a change of the robot was reported in time."""
    delays = [report - at for report in history.reports if report >= at]
    if not delays:
        return Check(False, f'the change at {at:.2f} s was not noticed')
    return Check(
        delays[0] <= goals.notice, f'the change at {at:.2f} s was noticed {delays[0]:.2f} s later'
    )


def _quiet(history):
    """Return whether no change was reported before there was one."""
    false = [report for report in history.reports if report < history.changes[0]]
    said = ', '.join(f'at {report:.2f} s' for report in false) or 'none'
    return Check(not false, f'false alarms before: {said}')


def _learnt(goals, history):
    """Return, for each parameter that changed, whether its new value was found."""
    first, last = history.before(history.changes[0]), history.before(math.inf)
    if first is None or last is None:
        return (Check(False, 'the values before and after the change are not known'),)
    changed = [row for name, row in last.rows.items() if row.truth != first.rows[name].truth]
    if not changed:
        return (Check(False, 'nothing that is estimated changed'),)
    held = _held(goals, history.payload, first, last)
    return (*(_found(goals, row) for row in changed), held)


def _held(goals, payload, first, last):
    """Return whether what was picked up between two `Moment`s is known."""
    if payload is None:
        return Check(False, 'no payload was reported')
    link, mass, sd = payload
    name = f'{link}.mass'
    if name not in last.rows or name not in first.rows:
        return Check(False, f'{link} is said to hold {mass:.4g} kg, and its mass is not estimated')
    truth = last.rows[name].truth - first.rows[name].truth
    return Check(
        abs(mass - truth) <= goals.held,
        f'{link} is said to hold {mass:.4f} +- {sd:.1g} kg, and holds {truth:.4g} kg',
    )


def _found(goals, row):
    error = abs(row.mean - row.truth) / abs(row.truth) if row.truth else math.inf
    return Check(
        error < goals.error,
        f'the new {row.name} is found to {100 * error:.2g} %',
    )
