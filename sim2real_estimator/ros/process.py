"""The process of a node: start, signals, and exit status."""

import signal
import sys
import threading

import rclpy
from rclpy.exceptions import InvalidParameterException, ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos_overriding_options import InvalidQosOverridesError
from rclpy.signals import SignalHandlerOptions
from rclpy.time_source import TimeSource

from ..errors import EstimatorError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# How long a node waits for messages before it looks whether it is to end [s].
_POLL = 0.05
# What rclpy raises on parameters, QoS overrides and arguments that it refuses.
REFUSALS = (
    InvalidParameterException,
    InvalidQosOverridesError,
    ParameterException,
    rclpy_implementation.RCLError,
    rclpy_implementation.RCLInvalidROSArgsError,
    rclpy_implementation.UnknownROSArgsError,
)


def run(name, make, work, arguments=None):
    """
    Run a node until SIGINT or SIGTERM, and return the exit status.

    make: function that returns the node, with a method `close`; work: function of the node and
    an event, which returns soon after the event is set. What cannot be used is reported in a
    sentence that begins with `name`.
    """
    stop = _stop_on_signals()
    node = None
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        TimeSource.clock_callback = _take_clock
        node = make()
        work(node, stop)
    except (EstimatorError, *REFUSALS) as error:
        print(f'{name}: {sentence(error)}', file=sys.stderr)
        return 2
    finally:
        # A handler is taken away while Python ends, and one more signal would then kill it.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if node:
            node.close()
        rclpy.try_shutdown()
    return 0


def serve(node, stop):
    """Let a node answer messages, calls and timers until an event is set; a `work` of `run`."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stop.is_set():
        executor.spin_once(timeout_sec=_POLL)


_set_clock = TimeSource.clock_callback


def _take_clock(source, message):
    """Take a message on /clock; rclpy's own callback raises on a time before zero."""
    if message.clock.sec >= 0:
        _set_clock(source, message)
        return
    rclpy.logging.get_logger('clock').warning(
        'a time on /clock is before zero and is ignored; see who publishes it', once=True
    )


def _stop_on_signals():
    """
    Return the event that SIGINT and SIGTERM set, however often and whenever they come.

    rclpy's own handlers raise in the middle of whatever is done, and a second signal raises
    again in the clean-up.
    """
    stop = threading.Event()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: stop.set())
    return stop


def sentence(error):
    """Return the first line of an error's text; rcl appends where in its source it arose."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
