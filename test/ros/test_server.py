"""The loop of the worker, in a thread of this process."""

import multiprocessing
import threading

from posteriors import feed, pipeline_of, samples_of
import pytest
from waiting import PATIENCE

from sim2real_estimator.background import Relief
from sim2real_estimator.estimation.batch.first_fits import FirstFits
from sim2real_estimator.reported_events import Happened
from sim2real_estimator.ros.worker.pipes import Reply, Request
from sim2real_estimator.ros.worker.server import serve
from sim2real_estimator.sensors.decoding import Decoded

# What the worker publishes are messages of ROS.
pytest.importorskip('rclpy')

RELIEF = Relief(limit=0.5, rate=25.0, full_rate=100.0)


class Line:
    """The node's end of the pipe."""

    def __init__(self, pipeline):
        """Let a thread serve a pipeline."""
        self._near, far = multiprocessing.Pipe()
        self._outputs, outlet = multiprocessing.Pipe(duplex=False)
        self._thread = threading.Thread(
            target=serve, args=(far, outlet, pipeline, RELIEF, 'native'), daemon=True
        )
        self._thread.start()
        self.reports = []

    def until(self, condition):
        """Receive reports up to one of which a condition holds, and return it."""
        while not (self.reports and condition(self.reports[-1])):
            assert self._near.poll(PATIENCE)
            self.reports.append(self._near.recv())
        return self.reports[-1]

    def send(self, samples):
        """Send a batch once the one before has been taken in."""
        self.until(lambda report: report.has_room)
        self._near.send([(sample.sensor, Decoded((sample,))) for sample in samples])

    def asked_for(self, what, meanwhile):
        """Ask for something, call a function, and return the `Reply`."""
        self._near.send(Request(1, what, ()))
        meanwhile()
        while True:
            assert self._near.poll(PATIENCE)
            received = self._near.recv()
            if isinstance(received, Reply):
                return received
            self.reports.append(received)

    def close(self):
        """Close the pipe, and wait for the end of the thread."""
        self._near.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def held_up(monkeypatch):
    """Yield an event that lets fits go on."""
    going, original = threading.Event(), FirstFits.fit

    def fit(*arguments):
        assert going.wait(PATIENCE)
        return original(*arguments)

    monkeypatch.setattr(FirstFits, 'fit', fit)
    yield going
    going.set()


def bounds_of(pipeline):
    """Return the ends of all frames that were cut."""
    return pipeline.stream.recorded_plan.bounds


def test_messages_are_taken_in_while_a_fit_runs_and_all_is_told(held_up):
    samples, pipeline = samples_of()[:200], pipeline_of()
    line = Line(pipeline)
    line.send(samples[:100])
    line.send(samples[100:])
    # The fit of the first frames has not come to its end, and will not before it may.
    report = line.until(lambda r: r.taken == 200 and r.updates == 11)
    # Whether the first frames were long already depends on how fast they were done.
    assert report.samples > 80 and report.lag > 0.4 and report.has_room
    assert report.counts['encoders']['used'] < 50
    held_up.set()
    report = line.until(lambda r: r.lag == 0 and r.updates == len(bounds_of(pipeline)))
    line.close()
    assert report.reliefs >= 1 and not report.is_relieved
    again = pipeline_of(plan=pipeline.stream.recorded_plan)
    estimates = feed(again, samples, to_the_end=False)
    told = [event for report in line.reports for event in report.events]
    assert told == [event for estimate in estimates for event in estimate.report.events]
    assert Happened.FITTED in told
    assert report.estimate.mean.tobytes() == estimates[-1].mean.tobytes()
    assert report.estimate.stamp_ns == estimates[-1].stamp_ns


def test_a_reset_while_frames_wait_begins_again_and_goes_on(held_up):
    samples, pipeline = samples_of()[:300], pipeline_of()
    line = Line(pipeline)
    line.send(samples[:200])
    line.until(lambda report: report.updates == 11)
    reply = line.asked_for('reset', held_up.set)
    assert reply.is_good
    line.until(lambda report: Happened.RESET in report.events)
    line.send(samples[200:])
    report = line.until(lambda report: report.lag == 0 and report.taken == 300)
    line.close()
    assert report.updates > 12
