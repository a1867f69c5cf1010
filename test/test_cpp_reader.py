"""The C++ reader, compiled against look-alikes of the messages and against ROS's own classes."""

from pathlib import Path
import shutil
import subprocess
import sys

import numpy as np
import pytest

from sim2real_estimator.records import Estimate, Payload, PayloadReason, UpdateReport
from sim2real_estimator.ros.publishers import (
    estimate_message,
    payload_message,
    payload_uncertainty_message,
    samples_message,
)

ROOT = Path(__file__).resolve().parent.parent
STAMP_NS = 1_700_000_000_000_000_007
# Where ROS's wheels have the headers of messages.
INCLUDED = Path(sys.prefix, 'include')
LOOK_ALIKES = """
#include <cstdint>
#include <string>
#include <vector>
struct Stamp { std::int32_t sec; std::uint32_t nanosec; };
struct Header { Stamp stamp; std::string frame_id; };
struct Vector3 { double x, y, z; };
struct Inertia { double m; Vector3 com; double ixx, ixy, ixz, iyy, iyz, izz; };
struct InertiaStamped { Header header; Inertia inertia; };
struct PointField { std::string name; std::uint32_t offset; std::uint8_t datatype;
  std::uint32_t count; };
struct PointCloud2 { Header header; std::uint32_t height, width; std::vector<PointField> fields;
  bool is_bigendian; std::uint32_t point_step, row_step; std::vector<std::uint8_t> data;
  bool is_dense; };
struct JointState { Header header; std::vector<std::string> name;
  std::vector<double> position, velocity, effort; };
"""
OF_ROS = """
#include <geometry_msgs/msg/inertia_stamped.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
using geometry_msgs::msg::InertiaStamped;
using sensor_msgs::msg::JointState;
using sensor_msgs::msg::PointCloud2;
using sensor_msgs::msg::PointField;
"""
# Prints all numbers that were read, one a line, then whether five broken messages are refused.
MAIN = """
#include <cstdio>
#include <sim2real_estimator/readers.hpp>
using namespace sim2real_estimator;
%(makers)s
int main()
{
  const auto payload = read_payload(inertia(), uncertainty());
  if (!payload) { return 1; }
  std::printf("%%s %%d %%d %%lld\\n", payload->frame.c_str(), payload->valid, payload->reason,
    static_cast<long long>(payload->stamp_ns));
  std::printf("%%.17g\\n", payload->probability);
  for (double x : payload->mean) { std::printf("%%.17g\\n", x); }
  for (const auto & row : payload->covariance) {
    for (double x : row) { std::printf("%%.17g\\n", x); }
  }
  std::printf("%%.17g\\n", payload->sd(3));
  const auto beliefs = read_estimate(estimate());
  for (const auto & [name, belief] : *beliefs) {
    std::printf("%%s %%.17g %%.17g\\n", name.c_str(), belief.mean, belief.sd);
  }
  const auto columns = read_samples(samples());
  for (const auto & [name, draws] : *columns) {
    std::printf("%%s", name.c_str());
    for (double x : draws) { std::printf(" %%.17g", x); }
    std::printf("\\n");
  }
  auto other = inertia(); other.header.stamp.nanosec += 1;
  auto turned = uncertainty(); turned.header.frame_id = "elsewhere";
  auto cut = uncertainty(); cut.data.pop_back();
  auto far = uncertainty(); far.fields[0].offset = 4000000000u;
  auto uneven = estimate(); uneven.velocity.pop_back();
  std::printf("%%d\\n", read_payload(other, uncertainty()) || read_payload(inertia(), turned) ||
    read_payload(inertia(), cut) || read_payload(inertia(), far) ||
    read_payload(inertia(), samples()) || read_estimate(uneven));
}
"""


def made_header(message):
    stamp = message.header.stamp
    return (
        f'  message.header.stamp.sec = {stamp.sec};\n'
        f'  message.header.stamp.nanosec = {stamp.nanosec};\n'
        f'  message.header.frame_id = "{message.header.frame_id}";\n'
    )


def maker(kind, name, message, body):
    head = f'{kind} {name}()\n{{\n  {kind} message{{}};\n'
    return f'{head}{made_header(message)}{body}  return message;\n}}\n'


def made_cloud(name, message):
    body = ''
    for key in ('height', 'width', 'point_step', 'row_step'):
        body += f'  message.{key} = {getattr(message, key)};\n'
    body += f'  message.is_bigendian = {str(bool(message.is_bigendian)).lower()};\n'
    for field in message.fields:
        body += (
            '  { PointField field{}; '
            f'field.name = "{field.name}"; field.offset = {field.offset}; '
            f'field.datatype = {field.datatype}; field.count = {field.count}; '
            'message.fields.push_back(field); }\n'
        )
    data = ', '.join(map(str, bytes(message.data)))
    return maker('PointCloud2', name, message, body + f'  message.data = {{{data}}};\n')


def made_inertia(message):
    own, body = message.inertia, ''
    for key in ('m', 'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'):
        body += f'  message.inertia.{key} = {getattr(own, key)!r};\n'
    for axis in 'xyz':
        body += f'  message.inertia.com.{axis} = {getattr(own.com, axis)!r};\n'
    return maker('InertiaStamped', 'inertia', message, body)


def made_estimate(message):
    names = ', '.join(f'"{name}"' for name in message.name)
    body = f'  message.name = {{{names}}};\n'
    for key in ('position', 'velocity'):
        values = ', '.join(map(repr, map(float, getattr(message, key))))
        body += f'  message.{key} = {{{values}}};\n'
    return maker('JointState', 'estimate', message, body)


def sent():
    """Return (payload, estimate, draws) as records."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((10, 10))
    reason = PayloadReason.OTHER_LINK
    payload = Payload('hand', 'tool0', STAMP_NS, rng.random(10), root @ root.T, 2 / 3, reason)
    names, mean, sd = ('elbow.damping', 'hand.mass'), rng.random(2), rng.random(2)
    estimate = Estimate(STAMP_NS, names, mean, sd, ('identified',) * 2, UpdateReport('filter'))
    return payload, estimate, rng.standard_normal((2, 3))


def compiled(folder, messages, *options):
    """Return what the program prints, compiled with these includes."""
    payload, estimate, draws = sent()
    makers = made_inertia(payload_message(payload))
    makers += made_cloud('uncertainty', payload_uncertainty_message(payload))
    makers += made_estimate(estimate_message(estimate))
    makers += made_cloud('samples', samples_message(estimate.names, draws, STAMP_NS))
    source, program = folder / 'main.cpp', folder / 'main'
    source.write_text(messages + MAIN % {'makers': makers})
    strict = '-std=c++17', '-Wall', '-Wextra', '-Werror', '-O1', '-fsanitize=undefined'
    command = ['g++', *strict, *options, '-I', ROOT / 'include', source, '-o', program]
    found = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert not found.returncode, found.stderr
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def check(text):
    """Assert that all numbers arrived, bit for bit."""
    payload, estimate, draws = sent()
    first, *numbers = text.splitlines()
    assert first == f'tool0 0 {payload.reason.number} {STAMP_NS}'
    values = np.array(list(map(float, numbers[:112])))
    assert values[0] == payload.probability
    np.testing.assert_array_equal(values[1:11], payload.mean)
    np.testing.assert_array_equal(values[11:111].reshape(10, 10), payload.covariance)
    assert values[111] == payload.sd[3]
    rows = [line.split() for line in numbers[112:-1]]
    for row, name, mean, sd in zip(rows[:2], estimate.names, estimate.mean, estimate.sd):
        assert row[0] == name and tuple(map(float, row[1:])) == (mean, sd)
    for row, name, own in zip(rows[2:], estimate.names, draws):
        assert row[0] == name and list(map(float, row[1:])) == own.tolist()
    assert len(rows) == 4
    # None of the broken messages was taken.
    assert numbers[-1] == '0'


needs_compiler = pytest.mark.skipif(not shutil.which('g++'), reason='there is no g++')


@needs_compiler
def test_it_reads_look_alikes_of_the_messages(tmp_path):
    check(compiled(tmp_path, LOOK_ALIKES))


@needs_compiler
def test_it_reads_the_messages_of_ros(tmp_path):
    if not (
        INCLUDED / 'geometry_msgs' / 'geometry_msgs' / 'msg' / 'inertia_stamped.hpp'
    ).is_file():
        pytest.skip(f'no headers of geometry_msgs in {INCLUDED}')
    folders = [each for each in INCLUDED.iterdir() if each.is_dir()]
    includes = [word for each in folders for word in ('-isystem', each)]
    check(compiled(tmp_path, OF_ROS, *includes))
