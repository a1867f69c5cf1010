"""An estimator taken through the frames of a problem, watched."""

from dataclasses import dataclass, field

import numpy as np

from sim2real_estimator.estimation.changes.detection import ChangeDetector
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.filter.phases import FilterState
from sim2real_estimator.estimation.mixture import Mixture

# Frames whose squared innovations are looked at together.
GROUP = 5


@dataclass
class Course:
    """
    What happened.

    mixtures, states: after the frames asked for, by index; events: (index, event); innovations:
    (squared, degrees of freedom) of every frame the filter took.
    """

    mixtures: dict = field(default_factory=dict)
    states: dict = field(default_factory=dict)
    events: list = field(default_factory=list)
    innovations: list = field(default_factory=list)

    def when(self, event):
        """Return the index of the first frame at which something happened, or None."""
        return next((k for k, each in self.events if each == event), None)

    def innovation_record(self):
        """Return mean and grouped means of squared innovations per degree of freedom."""
        whole = np.array(self.innovations[: len(self.innovations) // GROUP * GROUP])
        if not whole.size:
            return {'nis': None, 'nis_groups': []}
        grouped = whole.reshape(-1, GROUP, 2).sum(1)
        return {
            'nis': float(whole[:, 0].sum() / whole[:, 1].sum()),
            'nis_groups': np.round(grouped[:, 0] / grouped[:, 1], 3).tolist(),
        }


def follow(problem, estimator, frames, marks, state=None):
    """Return the `Course` of an estimator from its beginning, or from a state of its own."""
    course = Course()
    state = estimator.init(problem) if state is None else state
    for k, frame in enumerate(frames[: max(marks) + 1]):
        state, report = estimator.update(problem, state, frame)
        course.events += [(k, event) for event in report.events]
        if report.stage == 'filter':
            course.innovations.append((report.nis, report.degrees))
        if k in marks:
            course.states[k] = state
            course.mixtures[k] = estimator.mixture(problem, state)
    return course


def follow_from_prior(problem, frames, marks):
    """Return the `Course` of a filter that begins with the prior: what one should not do."""
    point, root = problem.first_state(frames)
    size, p = problem.tangent_size, len(problem.prior.mean)
    whole = np.zeros((1, size + p, size + p))
    whole[0, :size, :size], whole[0, size:, size:] = root, problem.prior.root
    mixture = Mixture(np.zeros(1), point[:, None], problem.prior.mean[:, None], whole)
    # Else it would notice its own misfit, and begin again.
    deaf = ESTIMATORS['gaussian_sum'](detector=ChangeDetector(false_alarms=0.0))
    return follow(problem, deaf, frames, marks, FilterState(mixture))
