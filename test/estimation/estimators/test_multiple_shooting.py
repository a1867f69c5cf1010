"""Multiple shooting, from samples to the posterior: what it learns, keeps, and believes not."""

from dataclasses import replace
from functools import cache

import numpy as np
from posteriors import feed, pipeline_of, posterior_bytes
import pytest
from simulated import CONFIG, RATE, record
from simulated import config as shipped_config

from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import estimates as offline
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.records import Sample, UpdateReport
from sim2real_estimator.reported_events import Explained, Happened

SECONDS = 6.0
SECOND = 10**9


def settings():
    config = shipped_config()
    return replace(config, estimator=replace(config.estimator, name='multiple_shooting'))


def new_pipeline():
    return pipeline_of({'frames.max_rate': 50.0}, settings())


@cache
def recorded(seed=0, seconds=SECONDS):
    return record(seconds, seed)


def samples_of(recording):
    found = []
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        found.append(Sample('encoders', int(stamp), angles))
        found.append(Sample('commanded_efforts', int(stamp), torques))
    return found


def events_of(estimates):
    return [event for estimate in estimates for event in estimate.report.events]


@pytest.fixture(scope='module')
def expected():
    """Return (pipeline, estimates) of all samples, one after the other."""
    pipeline = new_pipeline()
    return pipeline, feed(pipeline, samples_of(recorded()))


def intervals_of(pipeline, recording, draws=2000):
    """Return name -> (truth, quantiles at 5, 50 and 95 %) of what torques are made of."""
    problem = pipeline.problem
    found = problem.parametrization.to_named(
        pipeline.mixture.draw(draws, np.random.default_rng(0))
    )
    nominal = dict(zip(problem.parameters, problem.parameters.nominal()))
    drawn = dict(zip(problem.parametrization.names, found))

    def of(values):
        def get(name):
            return values.get(name, nominal[name])

        return {
            'moment of lower': get('lower.mass') * get('lower.com.z'),
            'inertia of lower': get('lower.inertia.yy')
            + get('lower.mass') * (get('lower.com.z') ** 2 + get('lower.com.x') ** 2)
            + get('elbow.armature'),
            'damping of shoulder': get('shoulder.damping'),
            'damping of elbow': get('elbow.damping'),
        }

    truth, of_draws = of(recording.values), of(drawn)
    return {k: (truth[k], *np.quantile(of_draws[k], (0.05, 0.5, 0.95))) for k in truth}


def test_it_learns_and_intervals_hold_the_truth():
    held, wide = [], []
    for seed in range(4):
        pipeline, recording = new_pipeline(), recorded(seed)
        events = events_of(feed(pipeline, samples_of(recording)))
        assert not {Happened.CHANGED, Happened.FORGOTTEN, Happened.UPDATE_REFUSED} & set(events)
        for name, (truth, low, middle, high) in intervals_of(pipeline, recording).items():
            held.append(low <= truth <= high)
            if 'damping' not in name:
                assert middle == pytest.approx(truth, rel=0.1)
                wide.append((high - low) / abs(truth))
    assert np.mean(held) > 0.85
    assert np.median(wide) < 0.2


def test_losses_stay_above_zero(expected):
    pipeline, _ = expected
    parametrization = pipeline.problem.parametrization
    values = parametrization.to_named(pipeline.mixture.draw(500, np.random.default_rng(0)))
    losses = [
        k for k, name in enumerate(parametrization.names) if name.endswith(('damping', 'friction'))
    ]
    assert losses and (values[losses] > 0).all()


def test_nothing_is_wider_than_before_any_data(expected):
    pipeline, _ = expected
    prior = pipeline.problem.prior
    whitened = np.linalg.solve(prior.root, pipeline.state.root)
    assert np.linalg.svd(whitened, compute_uv=False).max() <= 1 + 1e-6


def test_a_run_goes_on_from_a_file_bit_for_bit(expected, tmp_path):
    samples = samples_of(recorded())
    half = len(samples) // 2 + 1
    first = new_pipeline()
    feed(first, samples[:half], to_the_end=False)
    path = tmp_path / 'posterior.npz'
    first.save(path)
    second = new_pipeline()
    second.load(path)
    feed(second, samples[half:])
    assert posterior_bytes(second) == posterior_bytes(expected[0])


def test_segments_add_up_across_gaps(expected):
    recording = recorded()
    begin = recording.stamps[0]
    kept = [s for s in samples_of(recording) if ((s.stamp_ns - begin) / SECOND) % 2.0 < 1.2]
    pipeline = new_pipeline()
    events = events_of(feed(pipeline, kept))
    assert not {Happened.CHANGED, Happened.FORGOTTEN} & set(events)
    state = pipeline.state
    whole = len(expected[0].state.windows) + expected[0].state.folded.number
    assert len(state.windows) + state.folded.number > 0.4 * whole
    for truth, low, _, high in intervals_of(pipeline, recording).values():
        assert low - 0.3 * (high - low) < truth < high + 0.3 * (high - low)


def test_rest_has_no_information():
    generator, stamps = np.random.default_rng(0), np.arange(200) * (SECOND // RATE) + 10**18
    pipeline = new_pipeline()
    samples = []
    for stamp in stamps:
        samples.append(Sample('encoders', int(stamp), 1e-3 * generator.standard_normal(2)))
        samples.append(Sample('commanded_efforts', int(stamp), np.zeros(2)))
    events = events_of(feed(pipeline, samples))
    assert Happened.AT_REST in events and Happened.FITTED not in events
    assert np.array_equal(pipeline.state.mean, pipeline.problem.prior.mean)


def test_a_burst_of_wrong_samples_is_left_out_and_the_robot_is_no_other():
    recording = recorded()
    begin = recording.stamps[0]

    def wrong(sample):
        since = (sample.stamp_ns - begin) / SECOND
        if sample.sensor == 'encoders' and 4.0 < since < 4.15:
            return Sample(sample.sensor, sample.stamp_ns, sample.values + np.array([1.0, -2.0]))
        return sample

    pipeline = new_pipeline()
    events = events_of(feed(pipeline, [wrong(s) for s in samples_of(recording)]))
    assert {Happened.WINDOW_MISFIT, Happened.OUTLIER} <= set(events)
    assert Happened.CHANGED not in events
    for name, (truth, low, _, high) in intervals_of(pipeline, recording).items():
        assert low - 0.3 * (high - low) < truth < high + 0.3 * (high - low), name


@pytest.mark.parametrize(('usual', 'is_changed'), [(1.0, True), (3.0, False)])
def test_a_change_stands_out_of_what_is_usual_for_the_robot(expected, usual, is_changed):
    pipeline, _ = expected
    estimator, problem = pipeline.estimator, pipeline.problem
    state = replace(pipeline.state, latest=(), misfits=np.array([20 * usual, 20.0]))
    window, events = state.windows[-1], []
    for _ in range(3):
        report = UpdateReport('filter')
        state, report = estimator._tested(problem, state, window, 6.0, report)
        events += report.events
    assert (Happened.CHANGED in events) == is_changed


def test_the_state_is_where_the_robot_is(expected):
    pipeline, estimates = expected
    mixture, recording = pipeline.mixture, recorded()
    assert isinstance(mixture, Mixture) and mixture.size == 1
    at = np.searchsorted(recording.stamps, estimates[-1].stamp_ns)
    assert mixture.points[:2, 0] == pytest.approx(recording.angles[at], abs=0.02)


def test_a_load_is_noticed_named_weighed_and_its_return_recognised():
    loaded = replace(load_synthetic(CONFIG.parent / 'synthetic' / CONFIG.name), seed=3)
    weight = replace(loaded.payloads['weight'], at=6.0, until=12.0)
    robot = SyntheticRobot(replace(loaded, payloads={'weight': weight}), config=settings())
    pipeline, alarms, begin, load = new_pipeline(), [], None, None
    for estimate in offline(pipeline, robot, 14.5):
        begin = begin or estimate.stamp_ns
        seconds = (estimate.stamp_ns - begin) / SECOND
        if Happened.CHANGED in estimate.report.events:
            alarms.append((seconds, estimate.report))
        if load is None and seconds > 11.5:
            load = pipeline.findings(exact=False).payload
    (first, taken), (second, put_down) = alarms
    assert 0 < first - weight.at < 1.5 and 0 < second - weight.until < 1.5
    assert Explained('mass on lower') in taken.events and 'lower.mass' in taken.changed
    assert Explained('as before: mass on lower') in put_down.events
    assert load.link == 'lower'
    assert abs(load.mass - weight.mass) < 2.5 * load.mass_sd < 0.5


def test_short_throws_add_up():
    recording = recorded()
    begin = recording.stamps[0]
    # Stretches shorter than the second from which the length of windows is found otherwise.
    kept = [s for s in samples_of(recording) if ((s.stamp_ns - begin) / SECOND) % 1.5 < 0.7]
    pipeline = new_pipeline()
    events = events_of(feed(pipeline, kept))
    assert Happened.FITTED in events and Happened.CHANGED not in events
    assert len(pipeline.state.windows) >= 6
    name = 'moment of lower'
    truth, low, _, high = intervals_of(pipeline, recording)[name]
    assert low - 0.3 * (high - low) < truth < high + 0.3 * (high - low)
