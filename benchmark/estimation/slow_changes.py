"""Double pendulums that are watched for long while something about them changes slowly."""

from dataclasses import dataclass, field
import time

import numpy as np
from problems import p2
from problems.common import make_frames, roll, states_of
import torch

from sim2real_estimator.reported_events import Happened

from .course import Course, follow

# So long [s] all but the torques stays as it is, and so much is simulated before it is followed.
_PIECE, _CHUNK = 1, 60


@dataclass(frozen=True)
class SlowPlant:
    """
    What is simulated.

    simulator: of the truth; values_at: time [s] -> name -> value; gain_at: times [H] -> what is
    made of the torques that are said to act; jitter [s]: standard deviation of when a sample is
    really taken; quantum [rad]: of the encoders, part of the noise that they are said to have.
    """

    simulator: object
    values_at: object
    gain_at: object = np.ones_like
    jitter: float = 0.0
    quantum: float = 0.0

    def frames(self, rng, seconds):
        """Yield the frames of so many seconds, those of a minute at a time."""
        state, torques = p2.draw_motion(rng, seconds)
        times = np.arange(len(torques)) / p2.RATE
        acting = torch.from_numpy(torques * self.gain_at(times)[:, None])
        length, states = round(_PIECE * p2.RATE), [np.asarray(state)[None]]
        for first in range(0, len(torques), length):
            controls, values = acting[first : first + length], self.values_at(times[first])
            rolled = roll(self.simulator, states[-1][-1], p2.RATE, len(controls), values, controls)
            states.append(states_of(rolled)[1:])
            end = first + len(controls)
            if end % round(_CHUNK * p2.RATE) == 0 or end == len(torques):
                path = np.concatenate(states)
                begin = end - len(path) + 1
                yield self._observed(rng, path, torques[begin:end], begin)
                states = [path[-1:]]

    def _observed(self, rng, path, torques, begin):
        """Return the frames along states [H + 1, 4], those of a run but for its first `begin`."""
        late = self.jitter * rng.standard_normal((len(path), 1))
        sd = np.sqrt(p2.NOISE**2 - self.quantum**2 / 12)
        angles = path[:, :2] + late * path[:, 2:] + sd * rng.standard_normal((len(path), 2))
        if self.quantum:
            angles = self.quantum * np.round(angles / self.quantum)
        frames = make_frames(p2.RATE, [{'encoders': row} for row in angles], torques, begin)
        # The instant with which all begins is a frame of its own.
        return frames[1:] if begin else frames


@dataclass
class LongCourse:
    """
    What happened in a long run.

    mixtures: by time [s]; events: (time, event); nis: of every minute; frame_ms: processor time
    of a frame.
    """

    mixtures: dict = field(default_factory=dict)
    events: list = field(default_factory=list)
    nis: list = field(default_factory=list)
    frame_ms: float = np.nan

    def count(self, event):
        """Return how often something happened."""
        return sum(each == event for _, each in self.events)

    @property
    def notable_events(self):
        """The events beside those of fits, as (time, text)."""
        usual = Happened.FITTED, Happened.HANDED_OVER
        return [(time, str(event)) for time, event in self.events if event not in usual]


def watch(problem, estimator, plant, rng, seconds, marks):
    """Return the `LongCourse` of an estimator; marks: times [s] whose mixtures are kept."""
    found, state, done, spent = LongCourse(), None, 0, 0.0
    wanted = {round(t * p2.RATE): t for t in marks}
    for frames in plant.frames(rng, seconds):
        here = [k - done for k in wanted if done <= k < done + len(frames)]
        last, begin = len(frames) - 1, time.process_time()
        course: Course = follow(problem, estimator, frames, [*here, last], state)
        spent += time.process_time() - begin
        state = course.states[last]
        found.mixtures |= {wanted[k + done]: course.mixtures[k] for k in here}
        found.events += [((k + done) / p2.RATE, event) for k, event in course.events]
        found.nis.append(course.innovation_record()['nis'])
        done += len(frames)
    found.frame_ms = 1e3 * spent / done
    return found
