"""States as JSON and arrays: nothing is lost, and nothing is made that has no name."""

import json

import measured_arms
import numpy as np
from posteriors import feed, pipeline_of, samples_of
import pytest

from sim2real_estimator.estimation.changes.isolation import (
    CarriedOn,
    EarlierModel,
    Hypothesis,
    IsolatedChange,
)
from sim2real_estimator.estimation.changes.pending import PendingChange
from sim2real_estimator.estimation.disturbances import NO_DISTURBANCE
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.filter.smoother import Trajectories
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.posterior.encoding import Decoder, Encoder
from sim2real_estimator.records import Frame, Sample

# A robot whose efforts nobody tells, and of which something is seen.
SEEN = {
    'joints.shoulder.effort': 'unknown',
    'joints.elbow.effort': 'unknown',
    'sensors.tip.kind': 'marker',
    'sensors.tip.topic': 'tip',
    'sensors.tip.link': 'lower',
    'sensors.tip.point': [0.0, 0.0, -0.5],
    'sensors.tip.sd': 0.001,
    'estimate.*.offset.sd': 0.02,
}


def test_all_estimators_can_be_saved():
    pipelines = {}
    for name in set(ESTIMATORS) - {'measured_torque', 'kinematic_calibration'}:
        pipelines[name] = pipeline_of({'estimator.name': name})
        feed(pipelines[name], samples_of()[:30], to_the_end=False)
    pipelines['measured_torque'] = measured_arms.new_pipeline()
    feed(pipelines['measured_torque'], measured_arms.record(1.5).samples(), to_the_end=False)
    pipelines['kinematic_calibration'] = pipeline_of(SEEN)
    seen = [sample for sample in samples_of()[:60] if sample.sensor == 'encoders']
    seen = [(s, Sample('tip', s.stamp_ns, np.array([0.0, 0.0, -1.0]))) for s in seen]
    feed(pipelines['kinematic_calibration'], [s for both in seen for s in both], False)
    for pipeline in pipelines.values():
        encoder = Encoder()
        content = encoder.encode(pipeline.state)
        nodes, arrays = encoder.tables()
        state = Decoder(json.loads(json.dumps(nodes)), arrays).decode(content)
        again = Encoder()
        assert again.encode(state) == content
        assert again.tables()[0] == nodes


@pytest.mark.parametrize(
    'value',
    [
        None,
        (1, -0.0, 'text', True, (None,)),
        {'a': (1.5,), 'b': {}},
        frozenset({3, 1_700_000_000_000_000_001}),
        Frame(1, 2, (Sample('s', 2, np.arange(3.0)),), ((1, np.array([True])),)),
    ],
)
def test_values_come_back_as_they_were(value):
    encoder = Encoder()
    content = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
    assert Decoder(*encoder.tables()).decode(content) == value


def test_a_memory_in_an_answer_is_still_the_one_that_is_remembered():
    earlier = EarlierModel('mass on lower', ('lower.mass',), np.zeros(1), np.eye(1))
    mixture = Mixture(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), np.eye(2)[None])
    hypothesis = Hypothesis('as before: mass on lower', NO_DISTURBANCE, earlier=earlier)
    trajectories = Trajectories(np.zeros((2, 1, 1)), np.zeros((1, 1)))
    answer = CarriedOn(IsolatedChange(hypothesis, 0.99, True, 3, trajectories), mixture, None)
    encoder = Encoder()
    content = encoder.encode(PendingChange((), (), mixture, (earlier,), answer))
    state = Decoder(*encoder.tables()).decode(content)
    # Only so does it go when it holds again.
    assert state.answer.isolated.hypothesis.earlier is state.earlier_models[0]
    assert state.mixture is state.known


def test_numbers_keep_their_bits_and_arrays_their_order():
    array = np.swapaxes(np.arange(24.0).reshape(2, 3, 4)[:, :2], 1, 2)
    encoder = Encoder()
    content = encoder.encode((np.inf, np.nan, np.float64(0.1), array, array, np.zeros((0, 2))))
    infinite, unknown, number, one, same, empty = Decoder(*encoder.tables()).decode(content)
    assert infinite == np.inf
    assert np.isnan(unknown)
    assert isinstance(number, np.float64)
    np.testing.assert_array_equal(one, array)
    assert one is same
    assert one.strides == (64, 8, 32)
    assert empty.shape == (0, 2)


def test_what_has_no_name_in_the_table_is_not_saved():
    with pytest.raises(TypeError, match='encoding.KINDS'):
        Encoder().encode(object())
    with pytest.raises(TypeError, match='array of object'):
        Encoder().encode(np.array([{}]))
