"""A pipeline fed by a synthetic robot, and how long it takes."""

import time

import numpy as np

from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.reported_events import Happened


class ArmCourse:
    """A pipeline fed by a robot, and how long it takes; events: (time [s], event) so far."""

    def __init__(self):
        """Begin with nothing."""
        self.events, self._nis, self._frames, self._batch = [], [], [], 0.0

    def follow(self, pipeline, robot, until):
        """Feed a pipeline until a time of the robot [s]; what is sent at it is taken too."""
        for reading in robot.run(until - 1e-9 * robot.time_ns):
            message = message_of(reading)
            for name in robot.readers[reading.topic]:
                pipeline.receive(name, message, robot.arrival_ns(reading))
            begin, cpu = time.perf_counter(), time.process_time()
            estimates = pipeline.step()
            taken, used = time.perf_counter() - begin, time.process_time() - cpu
            self._note(estimates, taken, used)

    def _note(self, estimates, taken, used):
        for estimate in estimates:
            report = estimate.report
            self.events += [(1e-9 * estimate.stamp_ns, event) for event in report.events]
            if report.stage == 'filter':
                self._nis.append((report.nis, report.degrees))
                self._frames.append(taken / len(estimates))
            else:
                self._batch += used / len(estimates)

    def record(self):
        """Return what happened as numbers."""
        handed = [at for at, event in self.events if event == Happened.HANDED_OVER]
        squared, degrees = np.sum(self._nis, 0) if self._nis else (np.nan, 1.0)
        return {
            'handed_over': handed[0] if handed else None,
            'false_alarms': sum(event == Happened.CHANGED for _, event in self.events),
            'nis': float(squared / degrees),
            'frame_ms': 1e3 * float(np.median(self._frames)) if self._frames else None,
            'batch_cpu': self._batch,
        }
