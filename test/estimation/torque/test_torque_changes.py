"""Changes of a robot whose torques are measured: found in a toy robot, and not where none is."""

from linear_robots import JOINTS, LinearRobot, rows_of, SIZE
import numpy as np
import pytest

from sim2real_estimator.estimation.changes.isolation import EarlierModel
from sim2real_estimator.estimation.torque.changes import (
    find_changes,
    isolate,
    name_of_return,
    Onset,
    Snapshot,
    windows,
)
from sim2real_estimator.estimation.torque.regression import begin, fit, Rows, Sums

TRUTH = np.array([2.0, -1.5, 0.8, 1.2])
HEAVIER, STICKIER = TRUTH + [0.7, 0, 0, 0], TRUTH + [0, 0, 0, 0.9]
# Blocks of 20 ms, snapshots every .3 s.
ROW_NS, PER_SNAPSHOT = 20_000_000, 15
BEFORE = 20.0


def root_of(found):
    return found.root


class Course:
    """A robot that is followed: `snapshots` of all times so far, the last one now."""

    def __init__(self, seed=0, seconds=BEFORE, sd=(0.3, 0.1), has_gains=False):
        """Follow an unchanged robot."""
        self.model = LinearRobot(has_gains=has_gains)
        self._rng, self.sd = np.random.default_rng(seed), sd
        self._sums = Sums.none(JOINTS, SIZE)
        self._recent, self._fit = [], begin(self.model, self.model.prior)
        self.snapshots, self._now_ns = [], 0
        self.go_on(TRUTH, seconds)

    def go_on(self, truth, seconds, sd=None, earlier=0.0):
        """Follow a robot of these numbers, and maybe scales of torques, for some seconds."""
        truth, scales = truth[:SIZE], truth[SIZE:] if len(truth) > SIZE else (1.0,) * JOINTS
        for _ in range(round(seconds * 1e9 / ROW_NS / PER_SNAPSHOT)):
            rows = rows_of(truth, PER_SNAPSHOT, self._rng, sd or self.sd, scales, earlier)
            self._sums, self._now_ns = self._sums.plus(rows), self._now_ns + PER_SNAPSHOT * ROW_NS
            self._recent = [*self._recent[-99:], rows]
            recent = Rows.joined(self._recent)
            known = self.model, self.model.prior, self._sums, recent, self._fit
            self._fit = fit(*known, 100, steps=1)
            self.snapshots.append(Snapshot(self._now_ns, self._sums, self._fit))

    def find_changes(self, earlier_models=()):
        """Return the `Finding` of now."""
        *before, now = self.snapshots
        kept = [s for s in before if s.end_ns >= now.end_ns - 8.3e9]
        return find_changes(
            self.model, kept, now, self.model.model_changes(), earlier_models, root_of
        )

    def found_within(self, truth, seconds, earlier_models=()):
        """Return (`Finding`, seconds it took) of a change, (None, None) where it is not found."""
        for k in range(round(seconds / 0.3)):
            self.go_on(truth, 0.3)
            if (found := self.find_changes(earlier_models)).causes:
                return found, 0.3 * (k + 1)
        return None, None


@pytest.mark.parametrize(
    ('truth', 'name'), [(HEAVIER, 'mass on hand'), (STICKIER, 'friction of second')]
)
def test_a_change_is_found_and_named(truth, name):
    for seed in range(4):
        found, took = Course(seed).found_within(truth, 4.0)
        assert found and found.causes[0].name == name
        assert found.causes[0].jump.name == name and found.causes[0].returns_to is None


@pytest.mark.parametrize(('joint', 'part'), [(0, 0.7), (1, 0.7), (1, 1.3)])
def test_a_gain_that_changes_is_isolated_from_bodies_and_friction(joint, part):
    scales = np.ones(JOINTS)
    scales[joint] = part
    for seed in range(3):
        course = Course(seed, has_gains=True)
        found, _ = course.found_within(np.append(TRUTH, scales), 4.0)
        name = ('gain of first', 'gain of second')[joint]
        assert found.causes[0].name == name
        # A body is still found, and isolated from the gains that it resembles.
        course = Course(seed, has_gains=True)
        found, _ = course.found_within(HEAVIER, 4.0)
        assert found.causes[0].name == 'mass on hand'


def test_a_larger_change_is_found_earlier_and_more_surely():
    took = []
    for more in (0.5, 1.0, 3.0):
        course = Course(sd=(3.0, 1.0))
        took.append(course.found_within(TRUTH + [more, 0, 0, 0], 12.0)[1])
    assert took == sorted(took, reverse=True) and took[0] > took[-1]


def test_noise_alone_is_no_change():
    for seed in range(5):
        course = Course(seed)
        for _ in range(30):
            course.go_on(TRUTH, 0.3)
            assert not course.find_changes().causes
            assert not course.find_changes().noisier


def test_correlated_noise_is_no_change():
    for seed in range(3):
        course = Course(seed, 3.0)
        course.go_on(TRUTH, 20.0, earlier=0.9)
        for _ in range(20):
            course.go_on(TRUTH, 0.3, earlier=0.9)
            assert not course.find_changes().causes


def test_more_noise_in_a_joint_is_said_to_be_that():
    course = Course()
    course.go_on(TRUTH, 3.0, sd=(0.3, 0.4))
    found = course.find_changes()
    assert not found.causes
    assert found.noisier == (1,)


def test_a_window_that_began_before_the_change_finds_when():
    """Of eight seconds only the last ones are of the changed robot."""
    course = Course()
    course.go_on(TRUTH, 5.4)
    begun = course.snapshots[-1].end_ns
    found, _ = course.found_within(HEAVIER, 3.0)
    since = {cause.since.end_ns for cause in found.causes}
    assert len(since) == 1
    assert abs(since.pop() - begun) <= 0.3e9


def test_what_was_known_before_is_recognised():
    """It is believed no later than what is new, and stands before it."""
    noisy, took = (3.0, 1.0), []
    before = Course(sd=noisy).snapshots[-1].fit
    earlier = EarlierModel('mass on hand', ('hand.mass',), before.mean, before.root)
    for earlier_models in ((earlier,), ()):
        course = Course(seconds=0.3, sd=noisy)
        course.go_on(HEAVIER, BEFORE)
        found, seconds = course.found_within(TRUTH, 8.0, earlier_models)
        took.append(seconds)
        first = found.causes[0]
        assert first.returns_to is (earlier if earlier_models else None)
        assert (first.jump is None) == bool(earlier_models)
        assert first.name == ('as before: mass on hand' if earlier_models else 'mass on hand')
    assert took[0] <= took[1]


def test_other_causes_that_are_possible_are_kept_and_named_in_order():
    found, _ = Course().found_within(HEAVIER, 4.0)
    evidence = [cause.evidence for cause in found.causes]
    assert evidence == sorted(evidence, reverse=True)
    assert evidence[0] >= 12.0 and evidence[-1] > evidence[0] - 6.0


def test_windows_are_as_long_as_the_snapshots_reach():
    course = Course(seconds=9.0)
    now_ns = course.snapshots[-1].end_ns
    ages = [round((now_ns - s.end_ns) * 1e-9, 1) for s in windows(course.snapshots, now_ns)]
    assert ages == [1.2, 3.0, 8.1]
    assert windows(course.snapshots[-4:], now_ns) == []
    few = windows(course.snapshots[-7:], now_ns)
    assert [round((now_ns - s.end_ns) * 1e-9, 1) for s in few] == [1.2]


@pytest.mark.parametrize('before', [10, 37, 80])
def test_the_time_of_a_change_is_found_among_rows(before):
    course = Course(sd=(0.3, 0.1))
    known, count = course.snapshots[-1].fit, 100
    rng = np.random.default_rng(before)
    rows = Rows.joined(
        [
            rows_of(TRUTH, before, rng, course.sd),
            rows_of(HEAVIER, count - before, rng, course.sd),
        ]
    )
    course.go_on(TRUTH, 0.3)
    heavier = Course(seconds=0.3)
    heavier.go_on(HEAVIER, BEFORE)
    onset = Onset(known, rows, 0, 0).moved(heavier.snapshots[-1].fit)
    assert before - 1 <= onset.before - 2 <= before + 1
    assert onset.since.count == count - onset.before


def test_a_change_is_isolated_better_later_and_is_no_second_one():
    """From before, with all rows since; what was answered first is of no account."""
    for truth, name in ((HEAVIER, 'mass on hand'), (STICKIER, 'friction of second')):
        course = Course()
        known, sums = course.snapshots[-1].fit, Sums.none(JOINTS, SIZE)
        evidence = []
        for seed in range(3):
            rows = rows_of(truth, 30, np.random.default_rng(seed), course.sd)
            sums = sums.plus(rows)
            jumps = course.model.model_changes()
            causes, left = isolate(course.model, known, sums, jumps, (), root_of)
            assert left == ()
            evidence.append(causes[0].evidence)
            assert causes[0].name == name
        assert evidence == sorted(evidence)


def test_joints_that_no_cause_explains_are_reported():
    """Half of what the second joint should report comes: a gain, which this robot has not."""
    course = Course()
    rows = rows_of(HEAVIER, 200, np.random.default_rng(0), course.sd)
    rows = Rows(rows.columns, rows.torques * [1.0, 0.5], rows.shares)
    sums = Sums.none(JOINTS, SIZE).plus(rows)
    known, jumps = course.snapshots[-1].fit, course.model.model_changes()
    assert isolate(course.model, known, sums, jumps, (), root_of)[1]


def test_what_comes_back_is_called_by_the_change_that_it_undoes():
    assert name_of_return('mass on hand') == 'as before: mass on hand'
    assert name_of_return('as before: mass on hand') == 'again: mass on hand'
    assert name_of_return('again: mass on hand') == 'as before: mass on hand'
