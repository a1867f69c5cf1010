"""Stopped at any frame, saved, loaded and continued: the same posterior as without the stop."""

from dataclasses import dataclass

import numpy as np
from posteriors import feed, posterior_bytes
import pytest
from scenarios import continued, SCENARIOS

from sim2real_estimator.estimation.changes.pending import PendingChange
from sim2real_estimator.estimation.filter.phases import BatchState, FilterState
from sim2real_estimator.posterior.file import load
from sim2real_estimator.reported_events import Happened

# The long one takes part in the tests of files.
NAMES = sorted(set(SCENARIOS) - {'remounted'})


@dataclass
class Run:
    """
    A scenario without a stop, and with one after every frame.

    expected, found: `facts` of the two; events: of every frame; stops: after every frame (path,
    number of samples in the file).
    """

    expected: tuple
    found: tuple
    events: list
    stops: list

    def happened(self, event):
        """Return the number of the first frame with an event."""
        return next(k for k, events in enumerate(self.events) if event in events)


def facts(pipeline):
    """Return what has to be the same, whether there were stops or not."""
    plan = pipeline.stream.recorded_plan
    return (
        posterior_bytes(pipeline),
        pipeline.counts.table(),
        pipeline.posterior().recordings,
        plan,
    )


def stopped_run(name, folder):
    """Return the `Run` of a scenario."""
    ours, samples = SCENARIOS[name]()
    events = [estimate.report.events for estimate in feed(ours, samples)]
    expected, stops = facts(ours), []
    # Two pipelines take turns: what is not in the file is of another time.
    other, (ours, _) = ours, SCENARIOS[name]()
    for number, sample in enumerate([*samples, None], 1):
        if sample:
            ours.push(sample)
        while frame := ours.next_frame(is_end=not sample):
            ours.accept(ours.after(ours.progress, frame))
            stops.append((folder / f'{name}_{len(stops)}.npz', number))
            ours.save(stops[-1][0])
            other.load(stops[-1][0])
            ours, other = other, ours
    return Run(expected, facts(ours), events, stops)


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp('stops')
    return {name: stopped_run(name, folder) for name in NAMES}


def state_of(path):
    """Return the estimator's state in a file."""
    return load(path).run['state']


@pytest.mark.parametrize('name', NAMES)
def test_a_stop_after_every_frame_changes_no_bit(runs, name):
    run = runs[name]
    assert len(run.stops) == len(run.events)
    assert run.found == run.expected


def test_the_stops_are_where_they_should_be(runs):
    for run in runs.values():
        handed_over = run.happened(Happened.HANDED_OVER)
        assert isinstance(state_of(run.stops[handed_over - 1][0]), BatchState)
        assert isinstance(state_of(run.stops[handed_over][0]), FilterState)
    noticed, given_up = (
        runs['changed'].happened(word) for word in (Happened.CHANGED, Happened.FORGOTTEN)
    )
    for number in range(noticed, given_up):
        state = state_of(runs['changed'].stops[number][0])
        assert isinstance(state, PendingChange) and len(state.frames) == number - noticed
    after_change = state_of(runs['changed'].stops[given_up][0])
    assert isinstance(after_change, BatchState) and not after_change.frames
    in_gap = state_of(runs['paused'].stops[runs['paused'].happened(Happened.RESUMED) - 1][0])
    assert isinstance(in_gap, BatchState) and in_gap.knowledge is not None
    assert 'commands.delay' in load(runs['late'].stops[0][0]).identity['parameters']
    disturbed = state_of(runs['disturbed'].stops[-1][0]).mixture
    assert disturbed.disturbances.sizes[np.argmax(disturbed.log_weights)] > 0
    assert 'Student' in str(load(runs['with_outliers'].stops[0][0]).identity['estimator'])
    centres = state_of(runs['ambiguous'].stops[-1][0]).mixture
    heavy = np.sort(centres.means[0, centres.weights > 0.1])
    assert len(heavy) == 2 and heavy[1] - heavy[0] > 1


def test_another_process_goes_on_from_a_batch_from_a_hand_over_and_from_a_filter(runs):
    stops, expected = [], []
    for name, run in runs.items():
        handed_over = run.happened(Happened.HANDED_OVER)
        for k in (handed_over - 9, handed_over, len(run.stops) - 15):
            stops.append((*run.stops[k], name))
            expected.append(run.expected[0])
    assert continued(stops) == expected
