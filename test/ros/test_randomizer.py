"""The randomizer as a process of its own, over DDS: what it draws, and when it must not."""

from dataclasses import fields, replace
import json
import re
import signal
import time
from xml.etree import ElementTree

import measured_arms
import numpy as np
import pytest
import yaml

from sim2real_estimator.config import to_yaml
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.posterior.draws import draw_robots, DrawSettings, KINDS, read_draws
from sim2real_estimator.setup.build import build_parts

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from listening import KEPT
from live import Client, discovery, node_process, ROOT
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from recordings import send
from sensor_msgs.msg import PointCloud2
from simulated import CONFIG, record
from std_msgs.msg import Empty, String
from std_srvs.srv import Trigger
from waiting import PATIENCE

from sim2real_estimator.ros.publishers import (
    coordinates_message,
    map_of,
    posterior_message,
    read_posterior,
    read_samples,
)
from sim2real_estimator.ros.randomizer.randomizer import RandomizerSettings

MODULE = 'ros.randomizer.node'
SECOND = 10**9
COUNT, SEED = 5, 40


class Robot:
    """A robot, its posterior, and the messages an estimator would publish of them."""

    def __init__(self, folder):
        """Write the settings into a folder."""
        urdf = str(CONFIG.with_suffix('.urdf'))
        known = measured_arms.config()
        self.config = replace(known, model=replace(known.model, urdf=urdf), source='')
        self.file = folder / 'arm.yaml'
        self.file.write_text(to_yaml(self.config))
        self.problem = build_parts(self.config)[0]
        prior, nothing = self.problem.prior, np.zeros((0, 1))
        self.mixture = Mixture(np.zeros(1), nothing, prior.mean[:, None], 0.3 * prior.root[None])
        names = self.problem.parametrization.names
        units = [self.problem.parameters.unit(name) for name in names]
        self.map = map_of(self.problem.parametrization, units)

    def posterior(self, age=0.0, mixture=None, labels=None):
        """Return the message of a posterior whose newest datum is of some seconds ago."""
        return posterior_message(
            mixture or self.mixture,
            labels or self.problem.labels,
            time.time_ns() - round(age * SECOND),
        )

    def coordinates(self, **changes):
        return coordinates_message(replace(self.map, **changes), time.time_ns())


class Ears:
    """What the randomizer has published."""

    def __init__(self, client, since=None):
        self._client, self.sets, self.draws, self.urdfs = client, [], [], []
        topics = (
            (PointCloud2, 'samples', self.sets),
            (String, 'draw', self.draws),
            (String, 'robot_description', self.urdfs),
        )
        self._subscriptions = [
            client.node.create_subscription(kind, f'/randomizer/{name}', heard.append, KEPT)
            for kind, name, heard in topics
        ]

    def close(self):
        for each in self._subscriptions:
            self._client.node.destroy_subscription(each)

    @property
    def counts(self):
        return len(self.sets), len(self.draws), len(self.urdfs)

    def wait_for(self, sets, draws):
        self._client.wait(
            lambda: self.counts == (sets, draws, draws), f'{sets} sets, {draws} draws'
        )


class Scene:
    """A randomizer, who hears it, and an estimator's publishers."""

    def __init__(self, robot, folder, client, *arguments):
        self.robot, self.folder, self.client = robot, folder, client
        self.lines, self.mjcf = folder / 'draws.jsonl', folder / 'draw.xml'
        self.output = folder / 'output'
        given = {
            'count': COUNT,
            'seed': SEED,
            'lines_file': self.lines,
            'mjcf_file': self.mjcf,
        }
        words = [word for n, v in given.items() for word in ('-p', f'{n}:={v}')]
        self.node = node_process(robot.file, self.output, *words, *arguments, module=MODULE)

    def __enter__(self):
        self.client.forget()
        self.process, self.ears = self.node.__enter__(), Ears(self.client)
        publish = self.client.publisher
        self.posterior = publish(PointCloud2, '/sim2real_estimator/posterior', KEPT)
        kind = type(self.robot.coordinates())
        self.coordinates = publish(kind, '/sim2real_estimator/coordinates', KEPT)
        self.episodes = publish(Empty, '/randomizer/episode')
        return self

    def __exit__(self, *error):
        for each in (self.posterior, self.coordinates, self.episodes):
            self.client.node.destroy_publisher(each)
        self.ears.close()
        return self.node.__exit__(*error)

    def redraw(self):
        answer = self.client.call(Trigger, 'redraw')
        return answer.success, answer.message

    def status(self):
        return self.client.status('draws')

    def publish(self, **changes):
        """Publish a posterior and wait until it has arrived."""
        self.posterior.publish(self.robot.posterior(**changes))

    def expect_ready(self):
        """Publish what is right until the node says that it can draw."""
        self.coordinates.publish(self.robot.coordinates())
        self.publish()
        self.expect_status('ready to draw', DiagnosticStatus.OK)

    def expect_status(self, text, level=DiagnosticStatus.WARN):
        self.client.wait(
            lambda: self.status() and text in self.status()[1] and self.status()[0] == level, text
        )

    def expect_refusal(self, text):
        """Check that nothing is drawn, neither by the service nor by an episode, and why."""
        self.expect_status(text)
        before = self.ears.counts
        refused = int(self.client.health['draws']['refused'])
        assert self.redraw()[0] is False
        success, why = self.redraw()
        assert not success and text in why
        self.episodes.publish(Empty())
        self.client.wait(
            lambda: int(self.client.health['draws']['refused']) >= refused + 3, 'three refusals'
        )
        assert self.ears.counts == before

    def set(self, name, value):
        kinds = {
            str: ('string_value', ParameterType.PARAMETER_STRING),
            int: ('integer_value', ParameterType.PARAMETER_INTEGER),
            float: ('double_value', ParameterType.PARAMETER_DOUBLE),
            list: ('string_array_value', ParameterType.PARAMETER_STRING_ARRAY),
        }
        field, kind = kinds[type(value)]
        given = Parameter(name=name, value=ParameterValue(type=kind, **{field: value}))
        (result,) = self.client.call(SetParameters, 'set_parameters', parameters=[given]).results
        return result


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    return Robot(tmp_path_factory.mktemp('robot'))


@pytest.fixture(scope='module')
def listener():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in discovery().items():
            patch.setenv(name, value)
        client = Client('listener', target='randomizer')
        yield client
        client.close()


@pytest.fixture(scope='module')
def scene(robot, listener, tmp_path_factory):
    with Scene(robot, tmp_path_factory.mktemp('scene'), listener) as scene:
        yield scene


def test_nothing_is_drawn_before_there_is_a_posterior_and_what_it_is_of(scene):
    scene.expect_refusal('no posterior has come from sim2real_estimator yet')
    scene.publish()
    scene.expect_refusal('no coordinates have come from sim2real_estimator yet')
    assert scene.ears.counts == (0, 0, 0)


def test_a_set_is_drawn_when_the_service_is_called(scene, robot):
    scene.expect_ready()
    message = robot.posterior()
    scene.posterior.publish(message)
    stamp_ns = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
    account = {}

    def is_of_it():
        success, text = scene.redraw()
        account.update(json.loads(text))
        return success and account['stamp_ns'] == stamp_ns

    scene.client.wait(is_of_it, 'draws of the latest posterior')
    assert (account['kind'], account['count']) == ('posterior', COUNT)
    seed = account['seed']
    assert seed >= SEED
    mixture = read_posterior(message).mixture()
    wanted = draw_robots(robot.problem, mixture, DrawSettings(count=COUNT), seed)
    sets = account['seed'] - SEED + 1
    scene.ears.wait_for(sets, sets)
    found = read_samples(scene.ears.sets[-1])
    assert set(found) == set(wanted.values)
    for name, values in wanted.values.items():
        np.testing.assert_array_equal(found[name], values)
    record = json.loads(scene.ears.draws[-1].data)
    assert (record['seed'], record['index']) == (seed, 0)
    assert record['parameters'] == wanted[0].values
    model = load_urdf(scene.ears.urdfs[-1].data)
    assert next(x for x in model.links if x.name == 'lower').inertial.mass == pytest.approx(
        wanted.bodies['lower'][0][0], rel=1e-12
    )
    head, draws = read_draws(scene.lines)
    assert head['seed'] == seed and draws == [wanted[k] for k in range(COUNT)]
    bodies = ElementTree.parse(scene.mjcf).iter('body')
    (lower,) = [each for each in bodies if each.get('name') == 'lower']
    assert float(lower.find('inertial').get('mass')) == wanted.bodies['lower'][0][0]


def test_episodes_take_one_draw_after_the_other_and_then_a_new_set(scene):
    scene.expect_ready()
    assert scene.redraw()[0]
    scene.client.wait(lambda: json.loads(scene.ears.draws[-1].data)['index'] == 0, 'a first draw')
    records = []
    for _ in range(COUNT):
        before = len(scene.ears.draws)
        scene.episodes.publish(Empty())
        scene.client.wait(lambda: len(scene.ears.draws) > before, 'the draw of an episode')  # noqa: B023
        records.append(json.loads(scene.ears.draws[-1].data))
    assert [each['index'] for each in records] == [*range(1, COUNT), 0]
    assert records[-1]['seed'] == records[0]['seed'] + 1
    masses = [each['bodies']['lower']['mass'] for each in records]
    assert len(set(masses)) == COUNT


def test_who_comes_late_gets_the_present_robot(scene, robot):
    scene.expect_ready()
    assert scene.redraw()[0]
    late = Ears(scene.client)
    scene.client.wait(lambda: all(late.counts), 'latched messages')
    late.close()


def test_what_is_drawn_may_be_chosen_while_it_runs(scene, robot):
    scene.expect_ready()
    assert scene.set('kind', 'corners').successful
    assert scene.set('names', ['lower.mass']).successful
    assert scene.set('seed', 7).successful
    success, text = scene.redraw()
    assert success and json.loads(text)['kind'] == 'corners' and json.loads(text)['seed'] == 7
    scene.client.wait(
        lambda: json.loads(scene.ears.draws[-1].data).get('note', '').startswith('lower.mass low'),
        'a corner',
    )
    assert scene.set('kind', 'posterior').successful
    for name, value, said in (
        ('kind', 'wide', 'choose one of posterior'),
        ('count', 0, 'at least 1'),
        ('count', 'many', 'INTEGER'),
        ('config_file', 'other.yaml', ''),
        ('max_age', 0.0, ''),
    ):
        result = scene.set(name, value)
        assert not result.successful and said in result.reason
    assert json.loads(scene.redraw()[1])['kind'] == 'posterior'


def test_no_draw_of_a_posterior_that_is_stale(scene):
    scene.expect_ready()
    scene.publish(age=10.5)
    scene.expect_refusal('s old, and max_age is 10 s: see that the estimator runs')
    scene.expect_ready()
    assert scene.redraw()[0]


def test_no_draw_of_a_posterior_of_the_future(scene):
    scene.expect_ready()
    scene.publish(age=-60.0)
    scene.expect_refusal('ahead of the clock of this node: synchronize the clocks')


@pytest.mark.parametrize('part', ['means', 'roots', 'log_weights'])
def test_no_draw_of_numbers_that_are_not_finite(scene, robot, part):
    scene.expect_ready()
    numbers = getattr(robot.mixture, part).copy()
    numbers.flat[0] = np.nan
    scene.publish(mixture=replace(robot.mixture, **{part: numbers}))
    scene.expect_refusal('that are not finite; reset the estimator')
    scene.expect_ready()
    assert scene.redraw()[0]


def test_no_draw_of_weights_that_are_none(scene, robot):
    scene.expect_ready()
    scene.publish(mixture=replace(robot.mixture, log_weights=np.array([1.0])))
    scene.expect_refusal('not those of a mixture')


def test_no_draw_of_another_robot(scene, robot):
    scene.expect_ready()
    reference, mean = robot.map.reference.copy(), robot.map.prior_mean.copy()
    row = robot.map.names.index('lower.mass')
    reference[row] *= 1.1
    mean[row] *= 1.1
    scene.coordinates.publish(robot.coordinates(prior_mean=mean, reference=reference))
    scene.expect_refusal('is of another robot or prior than config_file: another ')
    assert 'lower.mass' in scene.status()[1]
    scene.expect_ready()
    assert scene.redraw()[0]


def test_no_draw_of_other_parameters(scene, robot):
    scene.expect_ready()
    labels = tuple(label.replace('lower', 'hand') for label in robot.problem.labels)
    scene.publish(labels=labels)
    scene.expect_refusal('has other coordinates than config_file: hand.')


def test_no_draw_of_what_is_no_posterior(scene):
    scene.expect_ready()
    message = scene.robot.posterior()
    message.data = message.data[:-3]
    scene.posterior.publish(message)
    scene.expect_refusal('what came as posterior cannot be read: a cloud of')
    scene.expect_ready()
    assert scene.redraw()[0]


def test_it_says_once_in_its_log_why_nothing_is_drawn(scene):
    lines = [line for line in scene.output.read_text().splitlines() if 'nothing is drawn' in line]
    assert 1 <= sum('max_age is 10 s' in line for line in lines) <= 2
    assert sum('no coordinates have come' in line for line in lines) == 1


def test_a_signal_ends_it_in_order(scene):
    scene.process.send_signal(signal.SIGINT)
    assert scene.process.wait(PATIENCE) == 0
    assert 'Traceback' not in scene.output.read_text()


def test_sets_come_at_a_rate_and_ranges_by_hand_are_narrowed(robot, listener, tmp_path):
    ranges = ROOT / 'config' / 'randomization.yaml'
    arguments = ['-p', 'rate:=5.0', '-p', f'ranges_file:={ranges}', '-p', 'count:=300']
    with Scene(robot, tmp_path, listener, *arguments) as scene:
        scene.expect_ready()
        scene.client.wait(lambda: len(scene.ears.sets) > 2, 'sets by themselves')
        found = read_samples(scene.ears.sets[-1])
        assert found['action.rate'].min() >= 125
        text = scene.output.read_text()
        assert 'lower.mass: by hand' in text and 'times narrower (90 %)' in text
        head, _ = read_draws(scene.lines)
        assert any('times narrower' in line for line in head['ranges'])


def test_robots_are_drawn_of_a_live_estimator(listener, tmp_path):
    hearer = Client('hearer')
    arguments = ['-p', 'max_age:=0.0', '-p', 'count:=20']
    try:
        with (
            node_process(CONFIG, tmp_path / 'estimator'),
            node_process(CONFIG, tmp_path / 'randomizer', *arguments, module=MODULE),
        ):
            hearer.forget()
            hearer.wait(lambda: hearer.status('worker'), 'the first diagnostics')
            hearer.wait(lambda: hearer.status('worker')[1] == 'running', 'the worker')
            publisher = send(hearer, record(2.5))

            def is_drawn():
                answer = listener.call(Trigger, 'redraw')
                accounts.append(answer.message)
                return answer.success

            accounts = []
            listener.wait(is_drawn, 'a set of the estimator')
            account = json.loads(accounts[-1])
            assert (account['count'], account['method']) == (20, 'rejected')
            ears = Ears(listener)
            listener.wait(lambda: all(ears.counts), 'latched messages')
            masses = read_samples(ears.sets[-1])['lower.mass']
            assert len(masses) == 20 and masses.min() > 0 and masses.std() > 0
            load_urdf(ears.urdfs[-1].data)
            ears.close()
            hearer.node.destroy_publisher(publisher)
    finally:
        hearer.close()


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (['-p', 'kind:=wide'], "parameter kind: is 'wide'; choose one of posterior"),
        (['-p', 'knid:=prior'], 'parameter knid: there is none; nearest: kind'),
        (['-p', 'count:=-1'], 'parameter count: is -1; give a value at least 1'),
        (['-p', 'ranges_file:=none.yaml'], 'none.yaml'),
        (['-p', "config_file:=''"], 'parameter config_file: is empty; give the YAML file'),
        (['-p', 'urdf_file:=none.urdf'], 'none.urdf'),
    ],
)
def test_what_it_cannot_start_with_is_a_sentence(robot, tmp_path, arguments, said):
    output = tmp_path / 'output'
    with node_process(robot.file, output, *arguments, module=MODULE) as process:
        assert process.wait(PATIENCE) == 2
    assert said in output.read_text() and 'Traceback' not in output.read_text()


def test_the_shipped_parameters_are_those_of_the_node_and_its_defaults():
    shipped = yaml.safe_load((ROOT / 'config' / 'randomizer.yaml').read_text())
    given = shipped['/**']['ros__parameters']
    assert set(given) == {each.name for each in fields(RandomizerSettings)}
    for each in fields(RandomizerSettings):
        default = [''] if each.default == () else each.default
        assert given[each.name] == default, each.name


def test_the_page_has_every_parameter_topic_and_default():
    pages = (ROOT / 'docs' / 'consumers.md').read_text()
    # Other nodes have parameters of the same names.
    page = pages[pages.index('## Randomizer\n') :]
    page = page[: page.index('\n## ')]
    for each in fields(RandomizerSettings):
        star = ' *' if each.metadata.get('dynamic') else ''
        (row,) = re.findall(rf'^\| `{each.name}`{re.escape(star)} \|(.*)\|$', page, re.M)
        default = row.split('|')[0].strip().strip('`')
        shown = 'required' if each.metadata.get('required') else str(each.default or '')
        assert default == (str(each.default) if each.default == 0 else shown), each.name
    for name in ('samples', 'draw', 'robot_description', 'episode', 'redraw'):
        assert f'| `~/{name}` |' in page
    for kind in KINDS:
        assert f'| `{kind}` |' in page


def test_a_mixture_is_drawn_by_its_weights(robot):
    means = np.concatenate([robot.mixture.means, robot.mixture.means], 1)
    row = robot.problem.labels.index('lower.mass')
    means[row, 1] *= 1.5
    roots = 0.02 * np.concatenate([robot.mixture.roots] * 2)
    mixture = Mixture(np.log([0.25, 0.75]), np.zeros((0, 2)), means, roots)
    draws = draw_robots(robot.problem, mixture, DrawSettings(count=4000), 0)
    middle = means[row].mean()
    assert (draws.values['lower.mass'] > middle).mean() == pytest.approx(0.75, abs=0.03)
