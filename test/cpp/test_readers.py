"""
The header of C++, compiled by g++, finds what the readers of Python find, bit for bit.

It is compiled against look-alikes of the messages, and against the headers of ROS where Python's
environment has them.
"""

from array import array
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

from every_output import every_output
import numpy as np
import pytest

from sim2real_estimator.errors import DataError
from sim2real_estimator.messages import deserialized, maker, serialized
from sim2real_estimator.records import Payload, PayloadReason
from sim2real_estimator.ros.publishers import (
    payload_message,
    payload_uncertainty_message,
    read_bands,
    read_estimate,
    read_posterior,
    read_samples,
    samples_message,
)
from sim2real_estimator.ros.publishers.clouds import cloud_message, read_cloud

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
READERS = ROOT / 'cpp' / 'include'
COMPILE = ('g++', '-std=c++17', '-Wall', '-Wextra', '-Wconversion', '-Wpedantic', '-Werror')
# What reads beyond a message, or overflows, ends the program.
STRICT = ('-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover')
LOOK_ALIKES = ('-I', str(HERE / 'look_alikes'))
CLOUD = 'sensor_msgs/msg/PointCloud2'
KINDS = {
    'posterior': CLOUD,
    'samples': CLOUD,
    'estimate': 'sensor_msgs/msg/JointState',
    'bands': 'sensor_msgs/msg/JointState',
}
STAMP_NS = 1_700_000_000_000_000_007

pytestmark = pytest.mark.skipif(shutil.which('g++') is None, reason='there is no g++')


def ros_headers():
    """Return the options of the headers of ROS; skipped where there are none."""
    # Of a ROS that is sourced, or of its wheels: include/PACKAGE/PACKAGE.
    prefixes = [*filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(':')), sys.prefix]
    folders = [Path(prefix, 'include') for prefix in prefixes]
    if not any((f / 'sensor_msgs/sensor_msgs/msg/point_cloud2.hpp').exists() for f in folders):
        pytest.skip('no headers of sensor_msgs, neither in AMENT_PREFIX_PATH nor beside Python')
    packages = [each for folder in folders for each in sorted(folder.glob('*')) if each.is_dir()]
    return [word for each in packages for word in ('-isystem', str(each))]


def compiled(source, program, *options):
    """Compile a program; what g++ says is the failure."""
    command = [*COMPILE, '-I', str(READERS), *options, str(source), '-o', str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


class Reader:
    """A compiled program that reads messages."""

    def __init__(self, program, folder):
        """Take the program, and a folder for the bytes of messages."""
        self._program, self._folder = program, folder

    def ask(self, *questions):
        """Return an answer per question: a topic and its messages, or their bytes."""
        lines = []
        for number, (topic, *messages) in enumerate(questions):
            paths = [self._folder / f'{number}_{k}' for k in range(len(messages))]
            for path, message in zip(paths, messages):
                is_made = isinstance(message, bytes)
                path.write_bytes(message if is_made else serialized(message))
            lines.append(' '.join([topic, *map(str, paths)]))
        done = subprocess.run(
            [self._program], input='\n'.join(lines), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(questions)
        return answers

    def ask_one(self, *question):
        """Return the answer to one question."""
        (answer,) = self.ask(question)
        return answer


@pytest.fixture(scope='module')
def look_alike(tmp_path_factory):
    """Return a `Reader` of structs that look like the messages."""
    folder = tmp_path_factory.mktemp('look_alike')
    options = (*LOOK_ALIKES, *STRICT)
    return Reader(compiled(HERE / 'reads.cpp', folder / 'reads', *options), folder)


@pytest.fixture(scope='module', params=['look-alikes', 'ros'])
def reader(request, tmp_path_factory):
    """Return a `Reader`, of the look-alikes and of the messages of ROS."""
    if request.param == 'look-alikes':
        return request.getfixturevalue('look_alike')
    options, folder = ros_headers(), tmp_path_factory.mktemp('ros')
    return Reader(compiled(HERE / 'reads.cpp', folder / 'reads', *options), folder)


@pytest.fixture(scope='module')
def outputs():
    """Return topic -> bytes of what a node publishes."""
    return every_output()


def numbers(texts):
    return np.array([float.fromhex(each) for each in texts])


def expect_same(found, expected):
    """Compare numbers bit for bit."""
    expected = np.ascontiguousarray(expected, dtype=float).ravel()
    assert numbers(found).tobytes() == expected.tobytes()


def payload_of(reason=PayloadReason.NONE):
    """Return a `Payload` of any numbers."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((10, 10))
    return Payload('hand', 'tool0', STAMP_NS, rng.random(10), root @ root.T, 2 / 3, reason)


def payload_messages(why=PayloadReason.NONE, **changed):
    """Return the two messages of `payload_of`, some fields of the second one replaced."""
    payload = payload_of(why)
    cloud = payload_uncertainty_message(payload)
    if changed:
        cloud = cloud_message(read_cloud(cloud) | changed, STAMP_NS)
        cloud.header.frame_id = payload.frame
    return payload_message(payload), cloud


@pytest.mark.parametrize('reason', PayloadReason)
def test_a_payload_is_read_bit_for_bit(reader, reason):
    payload, messages = payload_of(reason), payload_messages(reason)
    assert reader.ask_one('pair', *messages) == {'is_pair': 1}
    found = reader.ask_one('payload', *messages)
    assert (found['stamp_ns'], found['frame']) == (STAMP_NS, 'tool0')
    assert (found['valid'], found['reason']) == (payload.is_valid, reason.number)
    expect_same(found['mean'], payload.mean)
    expect_same(found['covariance'], payload.covariance)
    expect_same([found['probability'], found['sd']], [payload.probability, payload.mass_sd])
    assert found['allocations'] == 0


@pytest.mark.parametrize('said', [0.0, np.nan, 1e300, -3.0])
def test_a_payload_that_is_not_valid_has_a_reason(look_alike, said):
    messages = payload_messages(valid=np.zeros(1), reason=np.full(1, said))
    found = look_alike.ask_one('payload', *messages)
    assert (found['valid'], found['reason']) == (0, PayloadReason.UNKNOWN.number)


def test_a_valid_payload_has_only_finite_numbers(look_alike):
    changed = {'cov/mass': np.full((1, 10), np.nan)}
    messages = payload_messages(**changed)
    assert 'not finite' in look_alike.ask_one('payload', *messages)['error']
    messages = payload_messages(PayloadReason.MISFIT, **changed)
    assert look_alike.ask_one('payload', *messages)['valid'] == 0


def test_two_instants_or_frames_or_numbers_are_no_payload(look_alike):
    inertia, cloud = payload_messages()
    inertia.header.stamp.nanosec += 1
    assert look_alike.ask_one('pair', inertia, cloud) == {'is_pair': 0}
    assert 'different instants' in look_alike.ask_one('payload', inertia, cloud)['error']
    inertia, cloud = payload_messages()
    cloud.header.frame_id = 'hand'
    assert look_alike.ask_one('pair', inertia, cloud) == {'is_pair': 0}
    inertia, cloud = payload_messages()
    inertia.inertia.izz += 1e-9
    assert "differ in 'inertia.zz'" in look_alike.ask_one('payload', inertia, cloud)['error']


def test_what_has_not_come_yet_is_no_pair(look_alike):
    empty = maker('geometry_msgs/msg/InertiaStamped')(), maker(CLOUD)()
    assert look_alike.ask_one('pair', *empty) == {'is_pair': 0}


def test_other_fields_are_no_payload(look_alike):
    inertia, _ = payload_messages()
    cloud = samples_message(['hand.mass'], np.zeros((1, 1)), STAMP_NS)
    cloud.header.frame_id = 'tool0'
    assert '~/payload_uncertainty' in look_alike.ask_one('payload', inertia, cloud)['error']


def test_an_estimate_is_read_bit_for_bit(reader, outputs):
    found = reader.ask_one('estimate', outputs['estimate'])
    expected = read_estimate(deserialized(outputs['estimate'], KINDS['estimate']))
    assert (found['stamp_ns'], found['names']) == (expected.stamp_ns, [*expected.mean])
    expect_same(found['mean'], [*expected.mean.values()])
    expect_same(found['sd'], [*expected.sd.values()])
    expect_same(found['heaviest'], [*expected.heaviest.values()])
    assert found['allocations'] == 0


def test_bands_are_read_bit_for_bit(reader, outputs):
    found = reader.ask_one('bands', outputs['bands'])
    expected = read_bands(deserialized(outputs['bands'], KINDS['bands']))
    assert (found['stamp_ns'], found['names']) == (expected.stamp_ns, [*expected.mean])
    for part in ('mean', 'low', 'high'):
        expect_same(found[part], [*getattr(expected, part).values()])
    assert found['allocations'] == 0


def test_names_without_numbers_are_refused(look_alike):
    message = maker(KINDS['bands'])(name=['a'], position=[1.0], velocity=[1.0])
    assert '~/bands' in look_alike.ask_one('bands', message)['error']
    message = maker(KINDS['bands'])(name=['a', 'b'], position=[1.0, 2.0], velocity=[1.0])
    assert '~/estimate' in look_alike.ask_one('estimate', message)['error']


def test_samples_are_read_bit_for_bit(reader, outputs):
    found = reader.ask_one('samples', outputs['samples'])
    expected = read_samples(deserialized(outputs['samples'], CLOUD))
    assert found['names'] == [*expected]
    expect_same(found['values'], np.stack([*expected.values()], 1))
    assert (found['last'], found['none']) == (len(expected) - 1, 0)
    # The names, sorted for a moment.
    assert found['allocations'] == 1


def test_a_set_of_no_draws_is_read(look_alike):
    found = look_alike.ask_one('samples', samples_message(['a', 'b'], np.zeros((2, 0)), 0))
    assert (found['names'], found['values']) == (['a', 'b'], [])


def test_a_posterior_is_read_bit_for_bit(reader, outputs):
    found = reader.ask_one('posterior', outputs['posterior'])
    expected = read_posterior(deserialized(outputs['posterior'], CLOUD))
    assert (found['stamp_ns'], found['labels']) == (expected.stamp_ns, [*expected.labels])
    expect_same(found['weights'], expected.weights)
    expect_same(found['means'], expected.means.T)
    expect_same(found['covariances'], expected.covariances)
    assert found['allocations'] == 1


def posterior_cloud(components=3, coordinates=2):
    """Return a cloud with the fields of a posterior, and any numbers."""
    rng = np.random.default_rng(0)
    labels = [f'log(c{k})' for k in range(coordinates)]
    columns = {'weight': rng.random(components)}
    columns |= {f'mean/{label}': rng.random(components) for label in labels}
    columns |= {f'cov/{label}': rng.random((components, coordinates)) for label in labels}
    return cloud_message(columns, STAMP_NS)


def test_several_components_keep_their_order(look_alike):
    message = posterior_cloud()
    found, expected = look_alike.ask_one('posterior', message), read_posterior(message)
    expect_same(found['means'], expected.means.T)
    expect_same(found['covariances'], expected.covariances)


def test_the_other_order_of_bytes_is_read(look_alike):
    message = posterior_cloud()
    table = np.frombuffer(bytes(message.data), '<f8').astype('>f8')
    message.is_bigendian, message.data = True, array('B', table.tobytes())
    found, expected = look_alike.ask_one('posterior', message), read_posterior(message)
    expect_same(found['weights'], expected.weights)
    expect_same(found['covariances'], expected.covariances)


def cut_off(message):
    message.data = message.data[:-1]


def beyond(message):
    message.fields[-1].offset = message.point_step - 4


def far_beyond(message):
    message.fields[-1].offset = 2**32 - 8


def many(message):
    message.fields[-1].count = 2**32 - 1


def of_integers(message):
    message.fields[0].datatype = 5


def huge(message):
    message.width = message.height = message.point_step = 2**32 - 1


def wrapped(message):
    # 2^32 times 2^32 bytes are none, in 64 bits.
    message.width, message.height, message.point_step = 2**31, 2**31, 2**2
    message.data = array('B')


def empty_points(message):
    message.point_step, message.data = 0, array('B')


def twice(message):
    message.fields[2].name = message.fields[1].name


def overlapping(message):
    # As samples they would take more memory than the message.
    kind = type(message.fields[0])
    message.fields = [kind(name=f'{k}', datatype=8, count=1) for k in range(20)]


def without_fields(message):
    message.fields = []


BROKEN = (
    cut_off,
    beyond,
    far_beyond,
    many,
    of_integers,
    huge,
    wrapped,
    empty_points,
    twice,
    overlapping,
    without_fields,
)


@pytest.mark.parametrize('spoil', BROKEN, ids=lambda each: each.__name__)
@pytest.mark.parametrize('topic', ['samples', 'posterior'])
def test_a_cloud_that_contradicts_itself_is_refused(look_alike, topic, spoil):
    message = posterior_cloud()
    if topic == 'samples':
        message = samples_message(('a', 'b', 'c'), np.zeros((3, 5)), 0)
    spoil(message)
    error = look_alike.ask_one(topic, message)['error']
    assert error.endswith(f'; listen to ~/{topic}')


def fuzzed(message, rng):
    """Change a few numbers of what a cloud says of itself; return whether it is another's."""
    for _ in range(rng.integers(1, 4)):
        field = message.fields[rng.integers(len(message.fields))]
        value = int(rng.choice([0, 1, 2, 7, 8, 9, 24, 2**16, 2**31, 2**32 - 1]))
        target, name = (
            (message, str(rng.choice(['height', 'width', 'point_step', 'row_step'])))
            if rng.random() < 0.4
            else (field, str(rng.choice(['offset', 'count'])))
        )
        setattr(target, name, value)
    return message


def test_whatever_a_cloud_says_of_itself_nothing_is_read_beyond_it(look_alike):
    rng = np.random.default_rng(0)
    messages = [fuzzed(posterior_cloud(), rng) for _ in range(300)]
    topics = ('posterior', 'samples')
    answers = look_alike.ask(*((t, message) for message in messages for t in topics))
    refused = ['error' in answer for answer in answers]
    assert any(refused) and not all(refused)
    for message, answer in zip(messages, answers[::2]):
        if 'error' not in answer:
            expect_same(answer['covariances'], read_posterior(message).covariances)


def test_what_python_refuses_is_refused_here_too(look_alike):
    rng, messages = np.random.default_rng(1), []
    while len(messages) < 50:
        message = fuzzed(posterior_cloud(), rng)
        try:
            read_cloud(message)
        except (DataError, MemoryError):
            messages.append(message)
    answers = look_alike.ask(*(('posterior', message) for message in messages))
    assert all('error' in answer for answer in answers)


def example():
    """Return the example of docs/messages.md."""
    (text,) = re.findall(r'```cpp\n(.*?)```', (ROOT / 'docs/messages.md').read_text(), re.S)
    return text


MAIN = r"""
#include <cstdio>
#include "messages_of_bytes.hpp"

int main(int, char ** paths)
{
  Hand hand;
  hand.hear(of_file<InertiaStamped>(paths[1]));
  std::printf("%d ", hand.is_known());
  hand.hear(of_file<PointCloud2>(paths[2]));
  std::printf("%d %a\n", hand.is_known(), hand.payload.mass());
}
"""


@pytest.mark.parametrize('headers', ['look-alikes', 'ros'])
def test_the_example_of_the_page_does_what_it_says(headers, tmp_path):
    options = LOOK_ALIKES if headers == 'look-alikes' else ros_headers()
    source = tmp_path / 'example.cpp'
    source.write_text(example() + MAIN)
    program = compiled(source, tmp_path / 'example', '-I', str(HERE), *options)
    inertia, cloud = payload_messages(**{'cov/mass': np.full((1, 10), 1e-4)})
    paths = [tmp_path / 'inertia', tmp_path / 'cloud']
    for path, message in zip(paths, (inertia, cloud)):
        path.write_bytes(serialized(message))
    said = subprocess.run([program, *paths], capture_output=True, text=True, check=True).stdout
    before, after, mass = said.split()
    assert (before, after, float.fromhex(mass)) == ('0', '1', payload_of().mass)


@pytest.mark.skipif(shutil.which('cmake') is None, reason='there is no cmake')
def test_cmake_finds_the_header_where_it_is_installed(tmp_path):
    share = tmp_path / 'prefix' / 'share' / 'sim2real_estimator'
    shutil.copytree(READERS, share / 'cpp' / 'include')
    (share / 'cmake').mkdir()
    shutil.copy(ROOT / 'cpp' / 'sim2real_estimatorConfig.cmake', share / 'cmake')
    project = tmp_path / 'project'
    project.mkdir()
    (project / 'uses.cpp').write_text(example())
    (project / 'CMakeLists.txt').write_text(
        'cmake_minimum_required(VERSION 3.16)\nproject(uses CXX)\n'
        'find_package(sim2real_estimator REQUIRED)\nadd_library(uses STATIC uses.cpp)\n'
        f'target_include_directories(uses PRIVATE "{HERE / "look_alikes"}")\n'
        'target_link_libraries(uses PRIVATE sim2real_estimator::readers)\n'
    )
    build = tmp_path / 'build'
    prefix = f'-DCMAKE_PREFIX_PATH={tmp_path / "prefix"}'
    for command in (['-S', project, '-B', build, prefix], ['--build', build]):
        done = subprocess.run(['cmake', *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
