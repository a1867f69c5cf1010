"""Events of the estimator and of the inputs, for the log and for `~/events`, each once."""

from ..events import (
    clock_jumped,
    EventDescriber,
    input_back,
    input_lost,
    stopped,
    worker_replaced,
)
from .publishers import events_message
from .watch import JUMP, SILENT, Watch


class News:
    """Makes events of the worker's reports and of the state of the inputs."""

    def __init__(self, inputs, logger, outputs):
        """Take the `Input`s, the node's logger and the `Outputs`."""
        self._watches = {each: Watch(each) for each in inputs}
        self._inputs, self._logger, self._outputs = inputs, logger, outputs
        self._describer = EventDescriber()

    def troubles(self, each):
        """Return the present troubles of an `Input`, as texts."""
        return tuple(self._watches[each].troubles.values())

    def take(self, report):
        """Publish and log the events of a `Report` of the worker."""
        if report.estimate is None:
            return
        modes = len(report.findings.modes)
        events = self._describer.describe(report.events, report.estimate, modes)
        for event in events:
            text = f'{event.name}: {event.text}'
            # rclpy refuses another severity from the same line.
            if event.is_warning:
                self._logger.warning(text)
            else:
                self._logger.info(text)
        self._publish(events, report.estimate.stamp_ns)

    def tell_death(self, cause, lost, clock_ns):
        """Report that another worker was started; lost: messages; clock_ns: the node's time."""
        event = worker_replaced(cause, lost)
        self._logger.error(event.text)
        self._publish_now(event, clock_ns)

    def tell_stop(self, reason, clock_ns):
        """Report that messages are no longer used; clock_ns: the node's time."""
        self._publish_now(stopped(reason), clock_ns)

    def look(self, now, clock_ns, is_listening):
        """
        Tell what has begun to be wrong with what comes in, and what no longer is.

        now: by a steady clock [s]; clock_ns: the node's time; is_listening: whether it matters.
        """
        for watch in self._watches.values():
            if not is_listening:
                watch.begin(None)
                continue
            for trouble in watch.look(now, clock_ns):
                self._tell(trouble, clock_ns)

    def _tell(self, trouble, clock_ns):
        """Report a `Trouble` that has begun or ended; clock_ns: the node's time."""
        topic = trouble.topic
        if trouble.has_ended:
            self._logger.info(f"'{topic}': no longer: {trouble.text}")
        else:
            self._logger.warning(f"'{topic}': {trouble.text}")
        if trouble.kind == SILENT:
            event = input_back(topic) if trouble.has_ended else input_lost(topic, trouble.seconds)
            self._publish_now(event, clock_ns)
        elif trouble.kind == JUMP and not trouble.has_ended:
            self._publish_now(clock_jumped(topic, trouble.seconds), clock_ns)

    def _publish_now(self, event, clock_ns):
        # Nothing is newer than the newest that has come in on any topic, if anything has.
        newest_ns = max(each.stamp_ns for each in self._inputs)
        self._publish((event,), newest_ns or clock_ns)

    def _publish(self, events, stamp_ns):
        if events:
            self._outputs.publish('events', events_message(events, stamp_ns))
