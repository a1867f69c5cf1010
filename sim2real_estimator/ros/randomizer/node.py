"""The node `randomizer`: hears a posterior, and publishes draws of it when it is asked to."""

from dataclasses import fields
import difflib
import json
import re
import sys
from typing import get_type_hints

from .. import exit_without_ros

if __name__ == '__main__':
    # Before imports that would end in a traceback.
    exit_without_ros('randomizer')

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import Empty, String
from std_srvs.srv import Trigger

from ...config.reading import check_facts, parsed
from ...errors import ConfigError, DataError, EstimatorError
from ...posterior.draws import mjcf_of, urdf_of, write_draws
from ...posterior.export.text_files import replace_file
from ..process import run, serve
from ..publishers import read_coordinates, read_posterior, samples_message
from ..publishers.diagnostics import OK, status, status_array, WARN
from ..quality import overridable
from .randomizer import changed, Randomizer, RandomizerSettings

NAME = 'randomizer'
_NANO = 10**9
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Episodes may begin faster than robots are written.
_EPISODES, _DIAGNOSTICS = QoSProfile(depth=100), QoSProfile(depth=10)
_HEALTH_PERIOD = 1.0
# rclpy declares these itself; QoS is declared with the topics.
_OF_ROS = ('use_sim_time', 'start_type_description_service')
_QOS = 'qos_overrides.'
_NUMBERS = re.compile(r'[\d.]+')


class RandomizerNode(Node):
    """Topics, services, parameters and files of a `Randomizer`."""

    def __init__(self):
        """Read the settings and build the robot; a ConfigError names what is wrong."""
        super().__init__(NAME, automatically_declare_parameters_from_overrides=True)
        self._declared = {each.name: each for each in fields(RandomizerSettings)}
        self._settings = changed(RandomizerSettings(), self._declare())
        self._randomizer = Randomizer(self._settings)
        # The present set, what became of ranges, its robot, the posterior's stamp, the next draw.
        self._draws, self._lines, self._robot, self._of_ns, self._next = None, [], None, None, 0
        self._sets, self._refused, self._said = 0, 0, ''
        theirs = self._settings.estimator
        self.create_subscription(
            DiagnosticArray,
            f'{theirs}/coordinates',
            self._take_coordinates,
            **overridable(_LATCHED),
        )
        self.create_subscription(
            PointCloud2, f'{theirs}/posterior', self._take_posterior, **overridable(_LATCHED)
        )
        self.create_subscription(Empty, '~/episode', self._begin_episode, **overridable(_EPISODES))
        self._outputs = {
            name: self.create_publisher(kind, f'~/{name}', **overridable(_LATCHED))
            for name, kind in (
                ('samples', PointCloud2),
                ('draw', String),
                ('robot_description', String),
            )
        }
        self._diagnostics = self.create_publisher(
            DiagnosticArray, '/diagnostics', **overridable(_DIAGNOSTICS)
        )
        self.create_service(Trigger, '~/redraw', self._redraw)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_HEALTH_PERIOD, self._tell_health, clock=steady)
        if self._settings.rate:
            self.create_timer(1 / self._settings.rate, self._tick, clock=steady)
        self.add_on_set_parameters_callback(self._set)
        names = ', '.join(each.topic_name for each in self._outputs.values())
        self.get_logger().info(f'ready: publishes {names}')

    def close(self):
        """End the node."""
        self.destroy_node()

    # ------------------------------------------------------------------------------ inputs

    def _take_coordinates(self, message):
        try:
            self._randomizer.take_coordinates(read_coordinates(message))
        except (DataError, KeyError, ValueError) as error:
            self._randomizer.refuse(f'what came as coordinates cannot be read: {error}')

    def _take_posterior(self, message):
        try:
            self._randomizer.take_posterior(read_posterior(message))
        except (DataError, ValueError) as error:
            self._randomizer.refuse(f'what came as posterior cannot be read: {error}')

    # ------------------------------------------------------------------------------- draws

    def _redraw(self, request, response):
        response.success, response.message = self._attempt(self._new_set)
        return response

    def _tick(self):
        self._attempt(self._new_set)

    def _begin_episode(self, message):
        self._attempt(self._advance)

    def _attempt(self, what):
        """Return (whether something was drawn, its account as JSON, or why not)."""
        try:
            account = what()
        except EstimatorError as error:
            self._refused += 1
            # Ages and the like differ each time.
            reason = _NUMBERS.sub('', str(error))
            if reason != self._said:
                self._said = reason
                self.get_logger().warning(f'nothing is drawn: {error}')
            return False, str(error)
        self._said = ''
        return True, json.dumps(account)

    def _new_set(self):
        """Draw a set and publish it, and its first draw; return the account."""
        seed = self._settings.seed + self._sets
        draws, lines = self._randomizer.draw(self._settings, seed, self._now_ns())
        robot = self._randomizer.robot()
        if self._settings.lines_file:
            write_draws(self._settings.lines_file, robot, draws, lines)
        if lines != self._lines:
            for line in lines:
                self.get_logger().info(line)
        self._draws, self._lines, self._robot = draws, lines, robot
        self._of_ns, self._next = self._randomizer.stamp_ns, 0
        self._sets += 1
        self._outputs['samples'].publish(
            samples_message(draws.values, draws.values.values(), self._of_ns)
        )
        return self._publish_next()

    def _advance(self):
        """Publish the next draw of the set; of a new one where it is used up, or outdated."""
        if trouble := self._randomizer.trouble(self._now_ns()):
            raise DataError(trouble)
        is_over = self._draws is None or self._next == len(self._draws)
        if is_over or self._of_ns != self._randomizer.stamp_ns:
            return self._new_set()
        return self._publish_next()

    def _publish_next(self):
        """Publish a draw of the set; return what all its draws have in common."""
        draws, index = self._draws, self._next
        account = {
            'kind': draws.kind,
            'seed': draws.seed,
            'count': len(draws),
            'method': draws.method,
            'stamp_ns': self._of_ns,
        }
        if self._settings.mjcf_file:
            replace_file(self._settings.mjcf_file, mjcf_of(self._robot, draws, index))
        urdf = urdf_of(self._robot, draws, index).decode()
        self._outputs['robot_description'].publish(String(data=urdf))
        record = {**account, **draws[index].record()}
        self._outputs['draw'].publish(String(data=json.dumps(record, allow_nan=False)))
        self._next += 1
        return account

    def _now_ns(self):
        return self.get_clock().now().nanoseconds

    # -------------------------------------------------------------------------- parameters

    def _declare(self):
        """Return name -> value of the parameters; a ConfigError where one cannot be used."""
        given = {name: each.value for name, each in self.get_parameters_by_prefix('').items()}
        for name in given:
            if name.startswith(_QOS):
                self.undeclare_parameter(name)
            elif name not in self._declared and name not in _OF_ROS:
                near = difflib.get_close_matches(name, self._declared, n=1) or self._declared
                raise ConfigError(f'parameter {name}: there is none; nearest: {", ".join(near)}')
        values = {}
        for name, each in self._declared.items():
            values[name] = self._checked(name, given.get(name, each.default))
            about = ParameterDescriptor(
                description=each.metadata['description'],
                read_only=not each.metadata.get('dynamic', False),
            )
            if name in given:
                self.undeclare_parameter(name)
            value = values[name]
            # An empty list has no type.
            value = list(value) or [''] if isinstance(value, tuple) else value
            self.declare_parameter(name, value, about, ignore_override=True)
        return values

    def _checked(self, name, value):
        """Return a value as the type of its parameter; a ConfigError where it is out of range."""
        hint = get_type_hints(RandomizerSettings)[name]
        found = parsed(hint, () if value is None else value, f'parameter {name}')
        check_facts(self._declared[name].metadata, found, f'parameter {name}')
        return found

    def _set(self, parameters):
        """Take new values over from the next set on; the first of a new seed has that seed."""
        values = {p.name: p.value for p in parameters if p.name in self._declared}
        try:
            fixed = [n for n in values if not self._declared[n].metadata.get('dynamic', False)]
            if fixed:
                raise ConfigError(f'parameter {fixed[0]}: is read at the start; start again')
            settings = changed(
                self._settings, {n: self._checked(n, value) for n, value in values.items()}
            )
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if values:
            self._settings, self._draws = settings, None
        if 'seed' in values:
            self._sets = 0
        return SetParametersResult(successful=True)

    # ------------------------------------------------------------------------- diagnostics

    def _tell_health(self):
        now_ns = self._now_ns()
        trouble = self._randomizer.trouble(now_ns)
        values = {'sets': self._sets, 'refused': self._refused}
        if self._draws is not None:
            values |= {
                'kind': self._draws.kind,
                'seed': self._draws.seed,
                'draws': len(self._draws),
                'used': self._next,
                'method': self._draws.method,
            }
        if self._randomizer.stamp_ns is not None:
            values['age [s]'] = f'{(now_ns - self._randomizer.stamp_ns) / _NANO:.3f}'
        text = f'nothing is drawn: {trouble}' if trouble else 'ready to draw'
        name = f'{self.get_fully_qualified_name()[1:]}: draws'
        self._diagnostics.publish(
            status_array([status(name, values, text, WARN if trouble else OK)], now_ns)
        )


def main(arguments=None):
    """Run the node until a signal ends it, and return the exit status."""
    return run(NAME, RandomizerNode, serve, arguments)


if __name__ == '__main__':
    sys.exit(main())
