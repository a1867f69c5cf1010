"""What the payload bridge needs of a driver: a service that sets the payload."""

from abc import ABC, abstractmethod

from rclpy.callback_groups import ReentrantCallbackGroup

from ....errors import ConfigError
from ....messages import ros_class


class AbstractDriver(ABC):
    """
    A driver whose payload can be set.

    A member has `kind`, its name in the table, `service_type`, imported only when it is used, and
    `service`, the usual name of the service. `needs_rest`: whether the driver sets a payload only
    while the robot is at rest.
    """

    kind = ''
    service_type = ''
    service = ''
    needs_rest = True

    def __init__(self, node, service=''):
        """Take the node, and the name of the service, empty: the usual one."""
        self._node, name = node, service or self.service
        if not name:
            raise ConfigError(f"service: is empty, and '{self.kind}' has no usual one; name it")
        self._client = node.create_client(
            self._type(), name, callback_group=ReentrantCallbackGroup()
        )

    def _type(self):
        """Return the class of the service."""
        try:
            return ros_class(self.service_type)
        except ImportError as error:
            package = self.service_type.partition('/')[0]
            raise ConfigError(
                f"driver: '{self.kind}' needs {self.service_type}, and {package} is not "
                f'installed: `apt install ros-$ROS_DISTRO-{package.replace("_", "-")}`, or source '
                'the workspace that has it'
            ) from error

    @property
    def is_ready(self):
        """Whether the service is there."""
        return self._client.service_is_ready()

    def read(self, then):
        """Ask for the payload that the driver has; then: called with a `Body`, None: unknown."""
        then(None)

    def send(self, body, seconds, then):
        """
        Set a payload.

        body: a `Body`; seconds: of the transition, where the driver has one; then: called once
        with (whether it was accepted, text, `Body` read back or None).
        """
        future = self._client.call_async(self.request(body, seconds))
        future.add_done_callback(lambda done: self._hear(done, then))

    def _hear(self, done, then):
        if done.exception() is not None:
            then(False, f'the service failed: {done.exception()}', None)
            return
        then(*self.answer(done.result()), None)

    @abstractmethod
    def request(self, body, seconds):
        """Return the request that sets a `Body`."""

    @abstractmethod
    def answer(self, response):
        """Return (whether a response says that it was accepted, text)."""
