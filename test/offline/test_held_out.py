"""How long the stretch is that a state is fitted to before it is predicted."""

import numpy as np
import pytest

from sim2real_estimator.offline.identification import held_out
from sim2real_estimator.offline.identification.held_out import _shortened, LEAD, Window
from sim2real_estimator.records import Frame, Sample

STEP_NS = 20_000_000


def window_of(every=1):
    """Return a `Window` of .3 and 1 s, with a sample in every so many frames."""
    frames = []
    for k in range(65):
        begin, end = k * STEP_NS, (k + 1) * STEP_NS
        samples = () if k % every else (Sample('encoders', end, np.zeros(1)),)
        frames.append(Frame(begin, end, samples, ()))
    return Window(tuple(frames[:15]), tuple(frames[15:]), 0)


@pytest.mark.parametrize(('explained', 'lead'), [(1.0, LEAD), (0.14, 0.13), (0.01, 0.06)])
def test_the_lead_is_as_long_as_the_model_explains(monkeypatch, explained, lead):
    def left(problem, mean, frames):
        return 1.0 if (frames[-1].end_ns - frames[0].start_ns) * 1e-9 <= explained else 5.0

    monkeypatch.setattr(held_out, '_left', left)
    assert held_out._lead_of(None, None, [window_of()]) == lead


def test_without_windows_the_lead_is_the_longest():
    assert held_out._lead_of(None, None, []) == LEAD


def test_the_last_part_is_kept_with_some_samples_in_it():
    window = window_of()
    assert _shortened(window, 0.1).lead == window.lead[-5:]
    assert _shortened(window, LEAD) == window
    rare = window_of(every=3)
    assert sum(bool(each.samples) for each in _shortened(rare, 0.06).lead) == 4
