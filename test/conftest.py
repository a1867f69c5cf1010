"""Tiny robots as URDF text, for every test that needs one."""

import pytest
import torch

_PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <origin xyz="0 0 -0.5"/>
      <mass value="1.0"/>
      <inertia ixx="0.084" iyy="0.084" izz="0.002" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="pivot" type="continuous">
    <parent link="base"/>
    <child link="rod"/>
    <axis xyz="0 1 0"/>
    <dynamics damping="0.1" friction="0.05"/>
  </joint>
</robot>
"""

_DOUBLE_PENDULUM = """
<robot name="double_pendulum">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 -0.4"/>
      <mass value="1.5"/>
      <inertia ixx="0.05" iyy="0.06" izz="0.02" ixy="0.001" ixz="-0.002" iyz="0.003"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0 0.02 -0.3"/>
      <mass value="0.8"/>
      <inertia ixx="0.03" iyy="0.03" izz="0.004" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" velocity="3" effort="20"/>
    <dynamics damping="0.2"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/>
    <child link="lower"/>
    <origin xyz="0 0 -0.8" rpy="0.3 0 0"/>
    <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="20"/>
    <dynamics damping="0.1" friction="0.02"/>
  </joint>
</robot>
"""

# Fixed links at the base, between moving ones and at the tips; turned and shifted frames.
_BRANCHING_ARM = """
<robot name="branching_arm">
  <link name="stand"/>
  <link name="plate">
    <inertial>
      <mass value="9"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="trunk">
    <inertial>
      <origin xyz="0.01 0.02 0.2" rpy="0.1 -0.2 0.3"/>
      <mass value="3"/>
      <inertia ixx="0.04" iyy="0.05" izz="0.02" ixy="0.001" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="bracket">
    <inertial>
      <origin xyz="0 0.03 0" rpy="0 0 0.5"/>
      <mass value="0.4"/>
      <inertia ixx="0.001" iyy="0.002" izz="0.0015" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="left_arm">
    <inertial>
      <origin xyz="0.2 0 0"/>
      <mass value="1.2"/>
      <inertia ixx="0.002" iyy="0.02" izz="0.021" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="left_tool">
    <inertial>
      <mass value="0.3"/>
      <inertia ixx="0.0004" iyy="0.0004" izz="0.0002" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="left_tip"/>
  <link name="right_slide">
    <inertial>
      <origin xyz="0 -0.1 0.05"/>
      <mass value="0.9"/>
      <inertia ixx="0.01" iyy="0.011" izz="0.003" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="stand_plate" type="fixed">
    <parent link="stand"/><child link="plate"/><origin xyz="0 0 0.1" rpy="0 0 0.7"/>
  </joint>
  <joint name="waist" type="revolute">
    <parent link="plate"/><child link="trunk"/><origin xyz="0 0.05 0.02"/><axis xyz="0 0 1"/>
    <limit velocity="3" effort="20"/>
  </joint>
  <joint name="trunk_bracket" type="fixed">
    <parent link="trunk"/><child link="bracket"/><origin xyz="0.1 0 0.4" rpy="0.4 0.1 -0.6"/>
    <axis xyz="0 0 0"/>
  </joint>
  <joint name="left_shoulder" type="revolute">
    <parent link="bracket"/><child link="left_arm"/><origin xyz="0 0.1 0" rpy="1.1 0 0"/>
    <axis xyz="1 2 -2"/>
    <limit velocity="3" effort="20"/>
  </joint>
  <joint name="left_flange" type="fixed">
    <parent link="left_arm"/><child link="left_tool"/><origin xyz="0.4 0 0" rpy="0 0.5 0"/>
  </joint>
  <joint name="left_tool_tip" type="fixed">
    <parent link="left_tool"/><child link="left_tip"/><origin xyz="0.1 0 0.02"/>
  </joint>
  <joint name="right_rail" type="prismatic">
    <parent link="trunk"/><child link="right_slide"/><origin xyz="0 -0.1 0.3" rpy="0 0 -1.57"/>
    <axis xyz="0 1 0"/>
    <limit velocity="3" effort="20"/>
  </joint>
</robot>
"""

_GRIPPER = """
<robot name="gripper">
  <link name="palm"/>
  <link name="left_finger">
    <inertial>
      <mass value="0.05"/>
      <inertia ixx="1e-5" iyy="1e-5" izz="4e-6" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="right_finger">
    <inertial>
      <mass value="0.05"/>
      <inertia ixx="1e-5" iyy="1e-5" izz="4e-6" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="left" type="prismatic">
    <parent link="palm"/><child link="left_finger"/><origin xyz="0 0.02 0.05"/>
    <axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" velocity="0.1" effort="40"/>
  </joint>
  <joint name="right" type="prismatic">
    <parent link="palm"/><child link="right_finger"/><origin xyz="0 -0.02 0.05"/>
    <axis xyz="0 1 0"/>
    <limit lower="-0.04" upper="0" velocity="0.1" effort="40"/>
    <mimic joint="left" multiplier="-1.0" offset="0.001"/>
  </joint>
  <transmission name="left_drive">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="left"/>
    <actuator name="motor"><mechanicalReduction>50</mechanicalReduction></actuator>
  </transmission>
</robot>
"""


@pytest.fixture
def pendulum_urdf():
    """Return a rod of 1 kg on a damped hinge about y, its centre of mass 0.5 m below."""
    return _PENDULUM


@pytest.fixture
def double_pendulum_urdf():
    """Return two rods; joints 'shoulder' and 'elbow'."""
    return _DOUBLE_PENDULUM


@pytest.fixture
def branching_arm_urdf():
    """Return a waist that carries a hinged arm and a slide, with fixed links all over."""
    return _BRANCHING_ARM


@pytest.fixture(scope='module')
def arm_urdf():
    """Return the same, for what a module makes once."""
    return _BRANCHING_ARM


@pytest.fixture
def gripper_urdf():
    """Return two sliding fingers; 'right' follows 'left' mirrored, which has a gear of 50."""
    return _GRIPPER


@pytest.fixture(scope='module')
def one_thread():
    """Let a module compute with one thread, as the worker does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
