"""
The lifecycle node: it passes messages to the worker process and publishes its estimates.

Callbacks only decode and enqueue. All that takes long runs in the worker of a `Session`, which
exists while the node is configured.
"""

import sys
import time

from . import exit_without_ros

if __name__ == '__main__':
    # Before imports that would end in a traceback.
    exit_without_ros('sim2real_estimator_node')

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.task import Future
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger

from ..config import with_values
from ..errors import DataError, EstimatorError
from .description import Description
from .health import Health, Tally
from .node_parameters import NodeParameters
from .process import REFUSALS, run, sentence
from .quality import overridable

NAME = 'sim2real_estimator'
_DIAGNOSTICS = QoSProfile(depth=10)
_POLL_PERIOD, _HEARTBEAT_PERIOD, _HEALTH_PERIOD = 0.005, 0.2, 1.0
_HEARTBEAT = QoSProfile(depth=1)
# Of a service: calls that come at once, of which the default keeps ten.
_CALLS = QoSProfile(depth=1000)
_NOT_CONFIGURED = 'nothing is configured; configure and activate the node first'
_ANOTHER_ROBOT = (
    'the robot description has become another: the filter has stopped, and what is known of the '
    'robot before is kept; clean up, configure and activate to estimate the new one'
)


class EstimatorNode(LifecycleNode):
    """The node `sim2real_estimator`: its life cycle, services and diagnostics."""

    def __init__(self):
        """Declare the parameters that name the settings, the timers and the services."""
        super().__init__(NAME, automatically_declare_parameters_from_overrides=True)
        self._settings = NodeParameters(self, self._apply)
        self._session, self._state = None, 'unconfigured'
        self._description, self._robot = None, ''
        self._refusal, self._is_starting = None, False
        self._diagnostics = self.create_publisher(
            DiagnosticArray, '/diagnostics', **overridable(_DIAGNOSTICS)
        )
        self._heartbeat = self.create_publisher(Header, '~/heartbeat', **overridable(_HEARTBEAT))
        self._health = Health(self.get_fully_qualified_name()[1:])
        self._reported = time.monotonic()
        # Simulated time may stand still; polling must not.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_POLL_PERIOD, self._poll, clock=steady)
        self.create_timer(_HEALTH_PERIOD, self._tell_health, clock=steady)
        self.create_timer(_HEARTBEAT_PERIOD, self._beat, clock=steady)
        # Services that await the worker must not block the other callbacks.
        apart = ReentrantCallbackGroup()
        for name, answer in (
            ('save', self._save),
            ('reset', self._reset),
            ('draw_samples', self._draw),
        ):
            self.create_service(
                Trigger, f'~/{name}', answer, qos_profile=_CALLS, callback_group=apart
            )
        self.create_service(SetBool, '~/set_enabled', self._set_enabled, qos_profile=_CALLS)
        self._contain_transitions()

    def _contain_transitions(self):
        """
        Answer a transition that the state does not have with a refusal.

        The service of rclpy up to 7.1 raises there, which ends the node.
        """
        service = next(each for each in self.services if each.srv_name.endswith('/change_state'))
        change = service.callback

        def answer(request, response):
            try:
                return change(request, response)
            except rclpy_implementation.RCLError:
                wanted = request.transition.label or request.transition.id
                self.get_logger().warning(
                    f"transition '{wanted}' is refused: the node is {self._state}, a state "
                    'without it'
                )
                response.success = False
                return response

        service.callback = answer

    def start(self):
        """Configure and activate if `autostart` is set; raise where the settings are refused."""
        if not self._settings.start('autostart'):
            return
        self._is_starting = True
        self.trigger_configure()
        self._is_starting = False
        if self._refusal:
            raise self._refusal
        self.trigger_activate()

    def close(self):
        """End the session and destroy the node."""
        self._end_session()
        self.destroy_node()

    def on_configure(self, state):
        """Read the settings, subscribe, and start the worker."""
        self._refusal = None
        try:
            config = self._settings.configure()
            if config.node.robot_description:
                self._description = Description(self, self._take_robot)
            else:
                self._begin(config)
        except (EstimatorError, *REFUSALS) as error:
            self._refusal = error
            # At start the error ends the node, and `run` reports it.
            if not self._is_starting:
                self.get_logger().error(sentence(error))
            return TransitionCallbackReturn.FAILURE
        self._settings.lock(True)
        self._state = 'inactive'
        return super().on_configure(state)

    def on_activate(self, state):
        """Begin to use the messages that arrive; refuse it where no worker is left."""
        if self._session and self._session.has_given_up:
            self.get_logger().error('there is no worker any more; clean up and configure again')
            return TransitionCallbackReturn.FAILURE
        self._state = 'active'
        if self._session:
            self._session.is_active = True
        return super().on_activate(state)

    def on_deactivate(self, state):
        """Ignore the messages that arrive; the posterior stays."""
        self._state = 'inactive'
        if self._session:
            self._session.is_active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state):
        """End the session; the posterior is saved if the settings say so."""
        self._end_session()
        self._state = 'unconfigured'
        return super().on_cleanup(state)

    def on_shutdown(self, state):
        """End the session for good."""
        self._end_session()
        self._state = 'finalized'
        return super().on_shutdown(state)

    def _begin(self, config):
        """Start a `Session`; raise an EstimatorError where a setting cannot be used."""
        # Imports the robot and its sensors, which takes long: not before signals are handled.
        from .session import Session

        self._session = Session(self, config)
        for warning in self._settings.unused_qos():
            self.get_logger().warning(warning)
        if self._state == 'active':
            self._session.activate_late()

    def _take_robot(self, text):
        """Start with the robot description that was awaited; stop if it is replaced later."""
        if self._session:
            self._session.stop(_ANOTHER_ROBOT)
            self._description.hold(_ANOTHER_ROBOT)
            return
        self._robot = text
        try:
            self._begin(self._with_robot(self._settings.config))
        except (EstimatorError, *REFUSALS) as error:
            self._description.refuse(sentence(error))
        else:
            self._description.accept()

    def _with_robot(self, config):
        """Return the config with the robot description from the topic, if one is used."""
        return with_values(config, {'model.urdf': self._robot}) if self._robot else config

    def _end_session(self):
        session, self._session = self._session, None
        description, self._description = self._description, None
        self._robot = ''
        if description:
            description.close()
        if session:
            session.close()
        self._settings.lock(False)

    def _apply(self, config):
        if self._session:
            self._session.apply(self._with_robot(config))

    @property
    def _obstacle(self):
        """The reason why there is no session."""
        return self._description.trouble if self._description else _NOT_CONFIGURED

    def _poll(self):
        """Exchange data with the worker; deactivate and clean up where it refuses the settings."""
        if not self._session:
            return
        try:
            self._session.poll()
        except EstimatorError as error:
            if self._description:
                # The settings may fit the next robot description.
                session, self._session = self._session, None
                session.close()
                self._description.refuse(sentence(error))
                return
            if self._settings.start('autostart'):
                raise
            self.get_logger().error(sentence(error))
            if self._state == 'active':
                self.trigger_deactivate()
            self.trigger_cleanup()
            return
        if self._session.has_given_up and self._state == 'active':
            # So that whoever supervises the node sees it.
            self.trigger_deactivate()

    def _beat(self):
        """Publish a heartbeat while the node estimates."""
        if self._state == 'active' and self._session and self._session.is_estimating:
            self._heartbeat.publish(Header(stamp=self.get_clock().now().to_msg()))

    def _tell_health(self):
        """Publish the diagnostics."""
        elapsed = time.monotonic() - self._reported
        self._reported += elapsed
        now = self.get_clock().now()
        self._diagnostics.publish(
            self._health.message(now, elapsed, self._state, self._session, self._description)
        )
        if self._session:
            self._session.tally = Tally()

    async def _save(self, _, response):
        """Answer ~/save: write a posterior file."""
        return await self._answer(response, lambda session, then: session.save(then))

    async def _reset(self, _, response):
        """Answer ~/reset: begin again from the prior."""
        return await self._answer(response, lambda session, then: session.reset(then))

    async def _draw(self, _, response):
        """Answer ~/draw_samples: publish new draws."""
        return await self._answer(response, lambda session, then: session.draw_samples(then))

    async def _answer(self, response, ask):
        """Return the response with the worker's `Reply`; ask: sends the request of a `Session`."""
        future = Future(executor=self.executor)
        try:
            if not self._session:
                raise DataError(self._obstacle)
            ask(self._session, future.set_result)
        except EstimatorError as error:
            response.success, response.message = False, str(error)
            return response
        reply = await future
        response.success, response.message = reply.is_good, reply.text
        return response

    def _set_enabled(self, request, response):
        """Answer ~/set_enabled: use the messages that arrive, or ignore them."""
        if not self._session:
            response.message = self._obstacle
            return response
        self._session.is_enabled = request.data
        response.success = True
        response.message = 'estimating' if request.data else 'ignoring what comes in'
        return response


def main(arguments=None):
    """Run the node until a signal ends it, and return the exit status."""
    return run(NAME, EstimatorNode, _spin, arguments)


def _spin(node, stop):
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    node.start()
    while not stop.is_set():
        executor.spin_once()


if __name__ == '__main__':
    sys.exit(main())
