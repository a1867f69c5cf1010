"""
The node `controller`: gravity compensation and computed torque with the live estimate.

It listens to joint states, to the posterior of an estimator and to wanted motion, and publishes
efforts. It acts on each message of joint states: there is no clock of its own that could drift
from the robot's. docs/consumers.md has the safety rules.
"""

import sys
import time

from ...ros import exit_without_ros

if __name__ == '__main__':
    # Before imports that would end in a traceback.
    exit_without_ros('controller')

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ...config import load_config
from ...errors import ConfigError, DataError, EstimatorError
from ...ros.process import run, serve
from ...ros.publishers import read_coordinates, read_posterior

NAME = 'controller'
# States older than this are not acted on [s].
_FRESH = 0.1
# An estimate older than this is reported; the parameters stay, as those of a robot do [s].
_OLD = 10.0
# Between two times that the spread of the commands is worked out [s].
_SPREAD_PERIOD = 0.1
# Time constant of speeds that are made of positions, where a robot reports none [s].
_SPEED_TIME = 0.01
# Between two warnings of one kind, and between two looks at what is missing [s].
_PATIENCE, _LOOK_PERIOD = 5.0, 0.5
_LATEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class ControllerNode(Node):
    """Efforts out, for each message of joint states."""

    def __init__(self):
        """Read the parameters, and subscribe; a ConfigError names what is wrong."""
        super().__init__(NAME)
        path = self._declared('config_file', '', "YAML file with the estimator's settings")
        if not path:
            raise ConfigError('parameter config_file: is empty; give the one of the estimator')
        estimator = self._declared('estimator', '/sim2real_estimator', 'full name of its node')
        output = self._declared('output', 'effort_commands', 'topic of efforts, for the driver')
        self._is_live = self._declared(
            'enabled', False, 'whether efforts go to the driver; else only to ~/commands'
        )
        stiffness = self._number('stiffness', 100.0, 'acceleration per error of position [1/s^2]')
        damping = self._number('damping', 20.0, 'acceleration per error of velocity [1/s]')
        blend = self._number('blend', 0.3, 'time constant with which new parameters act [s]')
        full_error = self._number(
            'full_error',
            0.5,
            'error of position at which a spring of the joint itself asks for its largest effort '
            '[rad or m]; 0: there is no spring',
        )
        self._config = load_config(path)
        self._gains = {
            'stiffness': stiffness,
            'damping': damping,
            'blend': blend,
            'full_error': full_error,
        }
        self._model, self._sensors = _robot_of(self._config)
        self._moving = [m for m in self._model.moving_joints if m.is_independent]
        self._learned = self._mapping = self._trajectory = None
        self._law_names, self._law = (), self._new_law(())
        self._states, self._warned = {}, {}
        self._spread = self._acted = self._trajectory_begin = 0.0
        self._outputs = self.create_publisher(JointState, '~/commands', 10)
        self._spreads = self.create_publisher(JointState, '~/commands_sd', 10)
        self._to_driver = (
            self.create_publisher(Float64MultiArray, output, 1) if self._is_live else None
        )
        for topic, joints in self._sensors:
            self.create_subscription(
                JointState,
                topic,
                lambda message, of=joints: self._hear_state(message, of),
                _LATEST,
            )
        self.create_subscription(
            DiagnosticArray, f'{estimator}/coordinates', self._hear_coordinates, _LATCHED
        )
        self.create_subscription(PointCloud2, f'{estimator}/posterior', self._hear, 1)
        self.create_subscription(JointTrajectory, '~/target', self._hear_target, 1)
        self._began = time.monotonic()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_LOOK_PERIOD, self._look_after, clock=steady)
        where = output if self._is_live else 'nowhere but ~/commands (enabled is false)'
        self.get_logger().info(
            f'efforts of {", ".join(self._law.dynamics.joints)} go to {where}; until the '
            'estimator says more they are those of the robot description'
        )

    def close(self):
        """End the node."""
        self.destroy_node()

    # ----------------------------------------------------------------------------- what it hears
    def _hear_coordinates(self, message):
        """Take what the coordinates of the posterior mean."""
        try:
            mapping = read_coordinates(message)
            if mapping.names != self._law_names:
                self._law = self._new_law(mapping.names)
        except EstimatorError as error:
            self._mapping = None
            self._warn('coordinates', f'the posterior is not used: {error}')
            return
        self._mapping, self._law_names = mapping, mapping.names

    def _hear(self, message):
        """Take a posterior."""
        mapping = self._mapping
        if mapping is None:
            return
        try:
            reading = read_posterior(message)
        except (EstimatorError, ValueError) as error:
            self._warn('posterior', f'a posterior cannot be read: {error}')
            return
        if tuple(reading.labels) != tuple(mapping.labels):
            self._warn('labels', 'a posterior has other coordinates than ~/coordinates says')
            return
        if not self._law.learn_from(reading.mixture(), mapping):
            self._warn('posterior', 'a posterior has numbers that are not finite; it is not used')
            return
        self._learned = time.monotonic()

    def _hear_state(self, message, joints):
        """Take positions and velocities, and act on them."""
        now = time.monotonic()
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        has_speeds = len(message.velocity) == len(message.name)
        for k, name in enumerate(message.name):
            if name not in joints or k >= len(message.position):
                continue
            position = message.position[k]
            if not np.isfinite(position):
                continue
            speed = message.velocity[k] if has_speeds else np.nan
            if not np.isfinite(speed):
                speed = self._speed(name, position, stamp)
            self._states[name] = position, speed, stamp, now
        self._act(message, now)

    def _speed(self, name, position, stamp):
        """Return the speed of a joint, of the differences of its positions."""
        before = self._states.get(name)
        if before is None or not 0 < stamp - before[2] < _FRESH:
            return 0.0
        step = stamp - before[2]
        share = step / (step + _SPEED_TIME)
        return before[1] + share * ((position - before[0]) / step - before[1])

    def _hear_target(self, message):
        """Follow a trajectory, or say why not."""
        # Imports numpy only, but the room of the law is loaded with the model.
        from ...control.trajectory import checked

        present = self._present(time.monotonic())
        if present is None:
            self._refuse('there are no joint states')
            return
        dynamics = self._law.dynamics
        limits = {m.joint.name: m.joint.limits for m in self._moving}
        points = [
            (p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec,
             p.positions, p.velocities, p.accelerations)
            for p in message.points
        ]  # fmt: skip
        at, names = dynamics.positions_of_commands(present[0]), list(message.joint_names)
        try:
            self._trajectory = checked(dynamics.joints, names, points, limits, at)
        except DataError as error:
            self._refuse(str(error))
            return
        self._trajectory_begin = time.monotonic()
        self.get_logger().info(f'following a trajectory of {len(points)} points')

    def _refuse(self, why):
        self.get_logger().warning(f'a trajectory is not followed: {why}')

    # ------------------------------------------------------------------------------ what it does
    def _act(self, message, now):
        """Publish the commands for the present state."""
        present = self._present(now)
        if present is None:
            return
        elapsed = min(now - self._acted, _FRESH) if self._acted else 0.0
        self._acted, target = now, None
        if self._trajectory is not None:
            target = self._trajectory.target(now - self._trajectory_begin)
        with_sd = now - self._spread > _SPREAD_PERIOD
        asked = self._law.commands(*present, target, elapsed, with_sd)
        if not np.isfinite(asked.values).all():
            self._warn('commands', 'commands are not finite; none is sent')
            return
        if self._to_driver:
            self._to_driver.publish(Float64MultiArray(data=asked.values.tolist()))
        names = list(self._law.dynamics.joints)
        self._outputs.publish(
            JointState(header=message.header, name=names, effort=asked.values.tolist())
        )
        if with_sd:
            self._spread = now
            self._spreads.publish(
                JointState(header=message.header, name=names, effort=asked.sd.tolist())
            )
        if asked.is_limited.any():
            limited = [name for name, cut in zip(names, asked.is_limited) if cut]
            self._warn('limits', f'more effort would be needed than {", ".join(limited)} may have')

    def _present(self, now):
        """Return (q [nq], v [nv]), or None where joints are unknown or states are old."""
        if self._missing(now):
            return None
        model = self._model
        q, v = np.array(model.neutral_positions()), np.zeros(model.velocity_size)
        for moving in self._moving:
            position, speed, *_ = self._states[moving.joint.name]
            q[moving.positions.start], v[moving.velocities.start] = position, speed
        return q, v

    def _missing(self, now):
        """Return the names of the joints of which no state is known that is not old."""
        names = (moving.joint.name for moving in self._moving)
        return [n for n in names if n not in self._states or now - self._states[n][3] > _FRESH]

    def _look_after(self):
        """Say what keeps the node from acting."""
        now = time.monotonic()
        if now - self._began > _PATIENCE and (missing := self._missing(now)):
            self._warn('states', f'no efforts: there are no states of {", ".join(missing)}')
        if self._learned and now - self._learned > _OLD:
            self._warn('age', 'the estimator is silent; its last parameters stay in use')

    def _warn(self, kind, text):
        now = time.monotonic()
        if now - self._warned.get(kind, -np.inf) > _PATIENCE:
            self._warned[kind] = now
            self.get_logger().warning(text)

    def _new_law(self, names):
        """Return the law for parameters of these names; it begins with the robot description."""
        from ...control.computed_torque import ComputedTorque
        from ...control.inverse_dynamics import InverseDynamics
        from ...setup.sources import build_sensors

        sensors = build_sensors(self._config, self._model)
        more = [parameter for sensor in sensors for parameter in sensor.parameters]
        return ComputedTorque(InverseDynamics(self._model, list(names), more), **self._gains)

    def _declared(self, name, default, description):
        """Return the value of a parameter that does not change."""
        about = ParameterDescriptor(description=description, read_only=True)
        return self.declare_parameter(name, default, about).value

    def _number(self, name, default, description):
        span = [FloatingPointRange(from_value=0.0, to_value=1e6, step=0.0)]
        about = ParameterDescriptor(
            description=description, read_only=True, floating_point_range=span
        )
        return self.declare_parameter(name, default, about).value


def _robot_of(config):
    """Return (the `Model`, [(topic, joints)] of the sensors of joint positions)."""
    from ...setup.sources import build_model

    found = [
        (sensor.topic, frozenset(sensor.joints))
        for sensor in config.sensors.values()
        if sensor.kind == 'joint_positions'
    ]
    model = build_model(config)
    measured = frozenset().union(*(joints for _, joints in found))
    missing = [
        m.joint.name
        for m in model.moving_joints
        if m.is_independent and m.joint.name not in measured
    ]
    if missing:
        raise ConfigError(
            f'sensors: no joint_positions has {missing[0]}; a controller has to know all joints'
        )
    return model, found


def main(arguments=None):
    """Run the node until a signal ends it, and return the exit status."""
    return run(NAME, ControllerNode, serve, arguments)


if __name__ == '__main__':
    sys.exit(main())
