"""What the node says is the same where there is no ROS, byte for byte."""

import os
from pathlib import Path
import subprocess
import sys

from every_output import every_output
import numpy as np
import pytest

from sim2real_estimator.messages import message_class, serialized, typestore, TypestoreMaker

HERE = Path(__file__).parent


def test_every_message_is_the_same_without_ros():
    pytest.importorskip('rclpy')
    path = os.pathsep.join((str(HERE), str(HERE.parent)))
    script = [sys.executable, str(HERE / 'every_output.py')]
    found = subprocess.run(
        script, stdout=subprocess.PIPE, check=True, env={**os.environ, 'PYTHONPATH': path}
    )
    lines = [line.split() for line in found.stdout.decode().splitlines()]
    without = {topic: bytes.fromhex(digits) for topic, digits in lines}
    expected = every_output()
    assert len(expected) == 11
    assert without == expected


def test_what_is_not_given_is_empty_and_lists_become_arrays():
    make = TypestoreMaker('sensor_msgs/msg/JointState')
    written = serialized(make(name=['pivot'], position=[0.25]))
    read = typestore().deserialize_cdr(written, 'sensor_msgs/msg/JointState')
    assert read.name == ['pivot'] and read.header.frame_id == ''
    np.testing.assert_array_equal(read.position, [0.25])
    assert len(read.velocity) == len(read.effort) == 0


def test_a_maker_has_the_constants_of_its_type():
    name = 'visualization_msgs/msg/Marker'
    assert TypestoreMaker(name).SPHERE == message_class(name).SPHERE == 2
