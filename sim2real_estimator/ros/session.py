"""
A session of the node, from configuring to cleaning up: subscriptions, worker, outputs.

`poll` is called every few milliseconds: it passes buffered messages to the worker process,
publishes the newest estimate, watches the inputs, takes snapshots of the worker's state, starts
another worker when one dies, and saves the posterior from time to time.
"""

from collections import Counter
import time

from ..errors import DataError
from ..reported_events import Happened
from ..setup.sources import build_inputs, build_model, build_sensors, topics
from .health import Tally
from .inputs import subscribe
from .news import News
from .outputs import Outputs
from .publishers import estimate_message
from .worker.pipes import Reply, Wishes
from .worker.realtime import RealTime
from .worker.saving import folder_of, Saving
from .worker.snapshot import Snapshot
from .worker.worker import Worker

# Between two snapshots of the worker's state, from which another could continue [s].
_SNAPSHOT_PERIOD = 2.0
# Between two checks of who subscribes and whether inputs are healthy [s].
_LOOK_PERIOD = 0.2
# How long the node waits at shutdown for the posterior to be written [s]: `ros2 launch` kills
# ten seconds after SIGINT.
_PATIENCE = 6.0
_WAIT = 0.01
# A message may wait in the node for so many times the age limit: a worker that the processor is
# taken from for a moment loses nothing.
_WAITING = 2.0
# A worker that has not answered for so long, although it is asked for snapshots, hangs [s].
_SILENCE = 5.0
# Deaths of workers in a row, without a frame processed in between, after which none is started.
_MOST_DEATHS = 3


class Session:
    """Subscriptions, worker and outputs of a configured node."""

    def __init__(self, node, config):
        """Subscribe and start the worker; raise an EstimatorError for unusable settings."""
        self._node, self._logger, self.config = node, node.get_logger(), config
        model = build_model(config)
        sources = (*build_sensors(config, model), *build_inputs(config, model))
        self.is_active, self.is_enabled, self._is_stopped = False, True, False
        self.ignored, self.lost, self.deaths = Counter(), 0, 0
        self._deaths_in_a_row, self.has_given_up = 0, False
        self.tally, self._reliefs, self._is_relieved = Tally(), 0, False
        self.saving = Saving(folder_of(config), config.saving.keep)
        self._outputs, self._wishes = Outputs(node), None
        self.inputs = ()
        try:
            self.inputs = subscribe(node, sources, topics(config), self._hand_on)
            self.worker = Worker(config)
        except BaseException:
            self._unsubscribe()
            raise
        self.real_time = RealTime(config.node.realtime_priority, self._logger)
        self.news = News(self.inputs, self._logger, self._outputs)
        now = time.monotonic()
        self._saved, self._published, self._snapped, self._looked = now, now, now, now
        self._snapshot, self._snapshot_sent, self._updates, self._resets = Snapshot(), 0, 0, 0
        self._known_to_file, self._is_asked = self._known, False
        # What the worker was asked for and has not answered -> who wants the same once more.
        self._later, self._is_filtering = {}, False
        self._logger.info(
            f'listening to {", ".join(each.topic for each in self.inputs)}; '
            f'the worker has process id {self.worker.pid}'
        )

    @property
    def at_risk(self):
        """Number of messages that would be lost if the worker died now."""
        return self.worker.sent - self._snapshot_sent

    @property
    def is_estimating(self):
        """Whether messages are used, by a worker that lives and has answered lately."""
        worker = self.worker
        is_there = worker.report is not None and not worker.death and not self.has_given_up
        return is_there and self._is_listening and time.monotonic() - worker.heard < _SILENCE

    def activate_late(self):
        """Begin to use messages in a node that is active already."""
        self.is_active = True
        self._outputs.activate()

    def stop(self, reason):
        """Ignore all further messages; the posterior is saved if the settings say so."""
        if self._is_stopped:
            return
        self._is_stopped = True
        self.news.tell_stop(reason, self._node.get_clock().now().nanoseconds)
        if self.config.saving.folder:
            self._save_what_is_new(lambda _: None)

    def apply(self, config):
        """Use a config of which settings have changed that may change while the node runs."""
        self.config = config
        self.saving.keep = config.saving.keep
        self._tell_wishes()

    def poll(self):
        """
        Exchange data with the worker and publish its newest estimate and its other messages.

        An EstimatorError by which the worker refused the settings is raised here.
        """
        before = self.worker.report
        for report in self.worker.poll():
            self.tally.add(report)
            self.news.take(report)
            if Happened.RESET in report.events:
                self._updates = None
        for publication in self.worker.publications():
            self._outputs.publish(publication.topic, publication.data)
        report = self.worker.report
        self._drop_old(report)
        if report:
            # Not only new ones: the last estimate before a pause may await its turn by the rate.
            self._tell_estimate(report)
        if report is not before:
            self._tell_relief(report)
        now = time.monotonic()
        if now - self._looked > _LOOK_PERIOD:
            self._looked = now
            self._tell_wishes()
            clock_ns = self._node.get_clock().now().nanoseconds
            # Publishers may start as slowly as the worker does: inputs are judged from then on.
            self.news.look(now, clock_ns, self._is_listening and self.worker.report is not None)
        if self.worker.death:
            self._replace_worker()
        elif report and now - self._snapped > _SNAPSHOT_PERIOD:
            self._snapped = now
            self._ask_for_snapshot()
        if self.config.saving.folder and now - self._saved > self.config.saving.period:
            self._saved = now
            self._save_what_is_new(lambda _: None)

    def _drop_old(self, report):
        """
        Drop messages that wait for so long that their estimate would be too old.

        During the first fits there is no estimate yet, and none while a worker starts.
        """
        age = self.config.frames.max_age
        if report is None or self.worker.death or age is None:
            self._is_filtering = False
            return
        if report.estimate and report.estimate.report.stage == 'filter':
            self._is_filtering = True
        if self._is_filtering:
            self.worker.backlog.drop_before(time.monotonic() - _WAITING * age)

    def draw_samples(self, then):
        """
        Let the worker draw samples and publish them; then: is called with the `Reply`.

        Raise a DataError where the node does not publish.
        """
        if not self.is_active:
            raise DataError('the node is not active, and publishes nothing; activate it first')
        self._tell_wishes()
        self._share('draw_samples', lambda hear: self.worker.ask('draw_samples', then=hear), then)

    def reset(self, then):
        """Let the worker begin again from the prior; then: is called with the `Reply`."""
        self._resets += 1
        self._share('reset', lambda hear: self.worker.ask('reset', then=hear), then)

    def save(self, then):
        """Ask the worker to write a posterior file; then: is called with the `Reply`."""

        def ask(hear):
            def tell(reply):
                self._tell_saved(reply)
                hear(reply)

            try:
                self.worker.ask('save', self.saving.next_path(), then=tell)
            except DataError as error:
                tell(Reply(0, False, str(error)))

        self._share('save', ask, then)

    def _share(self, what, ask, then):
        """
        Ask the worker, once for all who want the same while an answer is awaited.

        So a thousand calls at once neither fill the disk nor keep the worker busy for minutes.
        What each of them gets was begun after its call.
        """
        if what in self._later:
            self._later[what].append(then)
            return
        self._later[what] = []

        def hear(reply):
            later = self._later.pop(what)
            then(reply)
            if later:
                self._share(what, ask, lambda reply: [each(reply) for each in later])

        ask(hear)

    @property
    def _known(self):
        """A value that differs when the posterior may have changed."""
        return self.deaths, self._resets, self.worker.report.updates if self.worker.report else 0

    def _save_what_is_new(self, then):
        """Save the posterior if it has changed, and prune old files; then: as for `save`."""
        known = self._known

        def hear(reply):
            if reply.is_good:
                self._known_to_file = known
                self.saving.prune()
            then(reply)

        # A robot that is started often without moving must not push older files out.
        if known != self._known_to_file:
            self.save(hear)

    def close(self):
        """Save the posterior if the settings say so, then end worker and subscriptions."""
        try:
            if self.config.saving.folder and self._known != self._known_to_file:
                self._save_last()
        finally:
            self.worker.close()
            self.real_time.close()
            self._unsubscribe()

    def _hand_on(self, name, decoded):
        """Enqueue a decoded message for the worker, if the node is estimating."""
        if self._is_listening:
            self.worker.backlog.append(name, decoded)
        else:
            self.ignored[name] += 1

    @property
    def _is_listening(self):
        return self.is_active and self.is_enabled and not self._is_stopped

    def _tell_wishes(self):
        """Tell the worker which outputs are subscribed to, where that has changed."""
        topics = self._outputs.wanted() if self.is_active else frozenset()
        config = self.config
        wishes = Wishes(topics, config.node.rate, config.samples, config.markers)
        if wishes != self._wishes:
            self._wishes = wishes
            self.worker.ask('wish', wishes, then=self._hear_of_wish)

    def _hear_of_wish(self, reply):
        if not reply.is_good and not self.worker.death:
            self._logger.error(reply.text)

    def _tell_estimate(self, report):
        """Publish a new estimate, at most at the configured rate, or at once after an event."""
        if report.updates == self._updates:
            return
        now = time.monotonic()
        if report.events or now - self._published >= 1 / self.config.node.rate:
            self._published, self._updates = now, report.updates
            message = estimate_message(report.estimate, report.findings)
            self._outputs.publish('estimate', message)

    def _tell_relief(self, report):
        """Log once that frames are made longer because of overload, and once that it is over."""
        if report.reliefs > self._reliefs:
            self._reliefs = report.reliefs
            # The worker may have caught up for a moment between two reports.
            if not self._is_relieved:
                self._is_relieved = True
                self._logger.warning(
                    'too much data wait for the estimator: frames are made longer until it has '
                    'caught up; see docs/node.md'
                )
        if self._is_relieved and not report.is_relieved:
            self._is_relieved = False
            self._logger.info('the estimator has caught up: frames are as usual again')

    def _tell_saved(self, reply):
        """Log an error of saving, each once."""
        if reply.is_good:
            self.saving.error = ''
        elif reply.text != self.saving.error:
            self.saving.error = reply.text
            self._logger.error(f'the posterior is not saved: {reply.text}')

    def _ask_for_snapshot(self):
        """Ask the worker for a snapshot of its state, unless one is on its way."""
        if self._is_asked:
            return
        sent, self._is_asked = self.worker.sent, True

        def keep(reply):
            self._is_asked = False
            if reply.is_good:
                self._snapshot.take(reply.content)
                self._snapshot_sent = sent

        self.worker.ask('snapshot', *self._snapshot.known, then=keep)

    def _replace_worker(self):
        """Start another worker from the last snapshot; count the messages lost since then."""
        dead, self._updates, self._reliefs = self.worker, 0, 0
        has_worked = dead.report is not None and dead.report.updates > 0
        self._deaths_in_a_row = 1 if has_worked else self._deaths_in_a_row + 1
        if self._deaths_in_a_row > _MOST_DEATHS:
            if not self.has_given_up:
                self.has_given_up = True
                self._logger.error(
                    f'the worker {dead.death}, and so did those before it: there are no '
                    'estimates any more, and the node is deactivated; clean up and configure again'
                )
            return
        lost = self.at_risk
        self.lost, self.deaths, self._snapshot_sent = self.lost + lost, self.deaths + 1, 0
        self.news.tell_death(dead.death, lost, self._node.get_clock().now().nanoseconds)
        dead.close()
        self._wishes = None
        self.worker = Worker(self.config, self._snapshot.content(), dead.backlog)
        # Who has asked since it died.
        dead.poll()

    def _save_last(self):
        """Write a last file, and wait for it at most `_PATIENCE`."""
        replies, end = [], time.monotonic() + _PATIENCE
        self._save_what_is_new(replies.append)
        while not replies and time.monotonic() < end:
            self.worker.poll()
            time.sleep(_WAIT)
        if not replies:
            self._logger.error('the posterior is not saved: the worker is too busy')

    def _unsubscribe(self):
        for each in self.inputs:
            each.close()
        self._outputs.close()
