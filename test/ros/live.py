"""The node as a process of its own, and somebody who talks to it over DDS."""

from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from waiting import PATIENCE

from sim2real_estimator.app.demo.domain import environment, own_domain

ROOT = Path(__file__).resolve().parents[2]
_ATTEMPTS = 3
# Taken until this process ends, so that tests that run side by side do not hear each other.
_TAKEN = ExitStack()
DOMAIN, OTHER_DOMAIN = (_TAKEN.enter_context(own_domain()) for _ in range(2))


@contextmanager
def node_process(config_file, output, *arguments, module='ros.node', domain=DOMAIN):
    """
    Start the node, its output into a file; end it with all its children, whatever happens.

    module: of the package, whose node it is.
    """
    command = [f'sim2real_estimator.{module}', '--ros-args']
    if config_file:
        command += ['-p', f'config_file:={config_file}']
    with _process([*command, *arguments], output, domain) as process:
        yield process


@contextmanager
def command_process(output, *arguments, keyboard=subprocess.DEVNULL):
    """
    Start the command of the package, its output into a file; end it whatever happens.

    keyboard: the file that it reads from.
    """
    module = ['sim2real_estimator.cli', *map(str, arguments)]
    with _process(module, output, DOMAIN, keyboard) as process:
        yield process


@contextmanager
def _process(module, output, domain, keyboard=subprocess.DEVNULL):
    """Run a module of Python with its arguments in a group of its own."""
    variables = {**os.environ, 'PYTHONPATH': str(ROOT), **discovery(domain)}
    variables['XDG_STATE_HOME'] = str(Path(output).resolve().parent / 'state')
    with open(output, 'w') as file:
        process = subprocess.Popen(
            [sys.executable, '-m', *module],
            env=variables,
            stdin=keyboard,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # The group may live on without the node.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            assert process.poll() is not None
        process.wait(PATIENCE)


def discovery(domain=DOMAIN):
    """Return the environment in which only this computer is seen, and only this test."""
    return environment(domain)


class Client:
    """Publishes and listens."""

    def __init__(self, name='client', domain=DOMAIN, namespace='', target='sim2real_estimator'):
        """Join a domain, as a node of that name; namespace, target: of the node to talk to."""
        self._target = f'{namespace}/{target}'.lstrip('/')
        self.estimates, self._statuses, self._since_ns = [], {}, 0
        self._context = Context()
        self._context.init(domain_id=domain)
        self.node = Node(name, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.node.create_subscription(JointState, f'/{self._target}/estimate', self._take, 1000)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, 10)

    def close(self):
        """Leave the domain."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def publisher(self, kind, topic, qos=None):
        """Return a publisher that somebody listens to."""
        publisher = self.node.create_publisher(kind, topic, qos or QoSProfile(depth=1000))
        self.wait(publisher.get_subscription_count, f'a subscription of {topic}')
        return publisher

    def wait(self, condition, about):
        """Listen until a condition holds, and fail where it never does."""
        found = self._listen(condition, PATIENCE)
        assert found, f'waited in vain: {about}; last heard: {self.health}'

    def call(self, kind, service, **values):
        """
        Return the response of a service of the node.

        A response is lost where the node has not found yet who asks: DDS only tells the asker that
        it has found the node (rmw_fastrtps, issues 392 and 842). So after a while it is asked
        again; a transition that it has gone through by then it does not go through twice.
        """
        for _ in range(_ATTEMPTS):
            client = self.node.create_client(kind, f'/{self._target}/{service}')
            try:
                self.wait(client.service_is_ready, f'the service {service}')
                future = client.call_async(kind.Request(**values))
                if self._listen(future.done, PATIENCE / _ATTEMPTS):
                    return future.result()
            finally:
                self.node.destroy_client(client)
        raise AssertionError(
            f'asked {_ATTEMPTS} times in vain: {service}; last heard: {self.health}'
        )

    def _listen(self, condition, seconds):
        """Listen until a condition holds, for so long at the most, and tell whether it does."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self._executor.spin_once(timeout_sec=0.1)
        return True

    @property
    def health(self):
        """Return task -> {key: value} of the latest diagnostics."""
        return {
            name: {each.key: each.value for each in status.values}
            for name, status in self._statuses.items()
        }

    def status(self, task):
        """Return (level, message) of a task by the latest diagnostics, None before any."""
        found = self._statuses.get(task)
        return found and (found.level, found.message)

    def forget(self):
        """Hear only what is sent from now on, not what a node before has left on the way."""
        self._statuses, self._since_ns = {}, time.time_ns()

    def _take(self, message, info):
        if info['source_timestamp'] >= self._since_ns:
            self.estimates.append(message)

    def _hear(self, message, info):
        if info['source_timestamp'] < self._since_ns:
            return
        for status in message.status:
            node, task = status.name.split(': ', 1)
            if node == self._target:
                self._statuses[task] = status
