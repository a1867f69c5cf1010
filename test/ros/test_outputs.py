"""Everything the node publishes, over real DDS, against the same samples from arrays."""

from functools import partial
import json
import signal

import numpy as np
from posteriors import pipeline_of
import pytest
from simulated import CONFIG, record
from waiting import PATIENCE

from sim2real_estimator.prediction.forecast import mean_state
from sim2real_estimator.records import Sample

pytest.importorskip('rclpy')

from listening import Listener
from live import node_process
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from recordings import send, stamp_ns
from shown import received
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker

from sim2real_estimator.reported_events import Happened
from sim2real_estimator.ros.markers import scene, view_of
from sim2real_estimator.ros.publishers import (
    draw_samples,
    map_of,
    predicted_message,
    read_bands,
    read_coordinates,
    read_parameters,
    read_posterior,
    read_samples,
)

COUNT, SEED = 40, 7
# However busy this computer is, frames are those of the arrays.
PATIENT = ('-p', 'frames.max_age:=1000.0', '-p', 'frames.overload:=1000.0')
SETTINGS = ('-p', f'samples.count:={COUNT}', '-p', f'samples.seed:={SEED}', *PATIENT)


class Arrays:
    """What a pipeline from arrays knows after all samples, and knew on the way."""

    def __init__(self, recording):
        """Feed a pipeline; `judged` and `handed_over` are the progress at these instants."""
        self.pipeline, self.judged, self.handed_over = pipeline_of(), [], None
        rows = zip(recording.stamps, recording.angles, recording.torques)
        for stamp, angles, torques in rows:
            self.pipeline.push(Sample('encoders', int(stamp), angles))
            self.pipeline.push(Sample('commanded_efforts', int(stamp), torques))
            for _ in self.pipeline.step():
                self._note(self.pipeline.progress)
        self.stamp_ns = self.pipeline.estimate().stamp_ns

    def _note(self, progress):
        known = self.judged[-1].assessment.latest if self.judged else None
        if progress.assessment.latest is not known:
            self.judged.append(progress)
        if Happened.HANDED_OVER in progress.estimate.report.events:
            self.handed_over = progress

    @property
    def trail(self):
        """Means of the mixture whenever it was judged."""
        return [progress.mixture.moments()[0] for progress in self.judged]


@pytest.fixture(scope='module')
def recording():
    return record(2.5)


@pytest.fixture(scope='module')
def arrays(recording):
    found = Arrays(recording)
    assert found.handed_over
    return found


def convergences(listener):
    """Return the stamps [ns] of all events that the filter has taken over."""
    return [stamp for stamp, event in listener.events() if event.name == 'converged']


@pytest.fixture(scope='module')
def live(client, recording, arrays, tmp_path_factory):
    """Yield (`Listener` from the beginning, call of a service) after a recording."""
    output = tmp_path_factory.mktemp('outputs') / 'output'
    with node_process(CONFIG, output, *SETTINGS) as process:
        listener = Listener(client)
        client.forget()
        client.wait(lambda: client.status('worker'), 'the worker')
        publisher = send(client, recording)
        for topic in ('predicted_joint_states', 'markers'):
            listener.wait_for(topic, arrays.stamp_ns)
        for topic in ('posterior', 'parameters', 'bands'):
            listener.wait_for(topic, arrays.judged[-1].estimate.stamp_ns)
        listener.wait_for('samples', arrays.handed_over.estimate.stamp_ns)
        client.wait(lambda: convergences(listener), 'the event')
        yield listener, partial(client.call, Trigger)
        listener.close()
        client.node.destroy_publisher(publisher)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert 'Traceback' not in output.read_text()


def test_the_posterior_is_the_mixture_of_the_same_arrays(live, arrays):
    listener, _ = live
    found, last = read_posterior(listener.latest('posterior')), arrays.judged[-1]
    assert found.stamp_ns == last.estimate.stamp_ns
    assert found.labels == arrays.pipeline.problem.labels
    np.testing.assert_array_equal(found.weights, last.mixture.weights)
    np.testing.assert_array_equal(found.means, last.mixture.means)
    np.testing.assert_array_equal(found.covariances, last.mixture.parameter_covariances())


def test_posteriors_are_those_at_which_it_was_judged(live, arrays):
    listener, _ = live
    stamps = [stamp_ns(message) for message in listener.heard['posterior']]
    assert stamps == sorted(set(stamps))
    assert set(stamps) <= {progress.estimate.stamp_ns for progress in arrays.judged}


def test_the_map_leads_from_coordinates_to_parameters(live, arrays):
    listener, _ = live
    problem, draws = (
        arrays.pipeline.problem,
        arrays.pipeline.mixture.draw(9, np.random.default_rng(0)),
    )
    (message,) = listener.heard['coordinates']
    mapping = read_coordinates(message)
    expected = map_of(problem.parametrization, [''] * len(problem.parametrization.names))
    np.testing.assert_array_equal(mapping.to_named(draws), expected.to_named(draws))
    assert dict(zip(mapping.names, mapping.units))['lower.mass'] == 'kg'


def test_parameters_are_the_findings_of_the_same_arrays(live, arrays):
    listener, _ = live
    found, findings = read_parameters(listener.latest('parameters')), arrays.judged[-1]
    findings = findings.assessment.latest
    assert tuple(found.parameters.values()) == findings.parameters
    assert found.posterior['observed dimensions'] == str(findings.observed)
    assert found.units['elbow.damping'] == 'N m s/rad'


def test_bands_are_the_quantiles_of_the_same_arrays(live, arrays):
    listener, _ = live
    found = read_bands(listener.latest('bands'))
    expected = arrays.judged[-1].assessment.latest.parameters
    assert found.mean == {each.name: each.mean for each in expected}
    assert found.low == {each.name: each.quantiles[0] for each in expected}
    assert found.high == {each.name: each.quantiles[2] for each in expected}


def test_samples_are_drawn_at_the_hand_over(live, arrays):
    listener, _ = live
    problem, turn = arrays.pipeline.problem, arrays.handed_over
    found = read_samples(listener.heard['samples'][0])
    assert tuple(found) == tuple(problem.parametrization.names)
    expected = draw_samples(problem, turn.mixture, COUNT, SEED)
    np.testing.assert_array_equal(np.stack([*found.values()]), expected)


def test_events_are_told_once(live, arrays):
    listener, _ = live
    (stamp,) = convergences(listener)
    assert arrays.handed_over.estimate.stamp_ns <= stamp


def test_the_predicted_joints_are_those_of_the_mean_state(live, arrays, recording):
    listener, _ = live
    pipeline = arrays.pipeline
    state = mean_state(pipeline.problem, pipeline.mixture)
    message = listener.latest('predicted_joint_states')
    expected = predicted_message(pipeline.problem.model, state, arrays.stamp_ns)
    assert message == received(expected)
    by_name = dict(zip(message.name, message.position))
    measured = recording.angles[[*recording.stamps].index(arrays.stamp_ns)]
    assert [by_name['shoulder'], by_name['elbow']] == pytest.approx(measured, abs=0.01)


def test_the_markers_are_the_scene_of_the_same_arrays(live, arrays):
    listener, _ = live
    progress = arrays.pipeline.progress
    view = view_of(
        arrays.pipeline.problem,
        progress.mixture,
        progress.assessment.latest,
        progress.efforts,
        trail=arrays.trail,
        ghosts=6,
        tangents=progress.assessment.tangents,
    )
    shown = {}
    for message in listener.heard['markers']:
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                shown.clear()
            elif marker.action == Marker.DELETE:
                del shown[marker.ns, marker.id]
            else:
                shown[marker.ns, marker.id] = marker
    expected = {(each.ns, each.id): each for each in scene(view)}
    assert set(shown) == set(expected)
    for key, marker in expected.items():
        marker.header.stamp = shown[key].header.stamp
        assert shown[key] == received(marker)


def test_all_is_deleted_once_and_then_replaced_in_place(live):
    listener, _ = live
    first, *others = listener.heard['markers']
    assert first.markers[0].action == Marker.DELETEALL
    orders = [marker.action for message in others for marker in message.markers]
    assert Marker.DELETEALL not in orders
    keys = [{(m.ns, m.id) for m in message.markers if m.ns} for message in others]
    assert any(a & b for a, b in zip(keys, keys[1:])) or len(others) < 2


def test_a_late_listener_gets_what_is_kept(client, live):
    listener, _ = live
    late = Listener(client, ('posterior', 'coordinates', 'samples'))
    for topic in late.heard:
        client.wait(lambda topic=topic: late.latest(topic), f'{topic}, late')
        assert late.latest(topic) == listener.latest(topic)
    late.close()


def set_seed(client, seed):
    kind = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=seed)
    wish = Parameter(name='samples.seed', value=kind)
    (result,) = client.call(SetParameters, 'set_parameters', parameters=[wish]).results
    assert result.successful, result.reason


def test_samples_on_request_are_of_the_seed_and_the_newest_posterior(client, live, arrays):
    listener, call = live
    pipeline = arrays.pipeline
    for seed in (SEED, 11, SEED):
        set_seed(client, seed)
        before = len(listener.heard['samples'])
        response = call('draw_samples')
        assert response.success, response.message
        assert json.loads(response.message) == {
            'count': COUNT,
            'seed': seed,
            'stamp': arrays.stamp_ns,
        }
        client.wait(lambda n=before: len(listener.heard['samples']) > n, 'new samples')
        message = listener.latest('samples')
        assert stamp_ns(message) == arrays.stamp_ns
        expected = draw_samples(pipeline.problem, pipeline.mixture, COUNT, seed)
        np.testing.assert_array_equal(np.stack([*read_samples(message).values()]), expected)
