"""The messages of a `Progress`, composed by the worker for the node to publish."""

from ...errors import EstimatorError
from ...prediction.forecast import mean_state
from ...reported_events import Explained, Happened, kinds_of
from ..markers import Board, require_axes, scene, view_of
from ..publishers import (
    bands_message,
    coordinates_message,
    draw_samples,
    map_of,
    parameters_message,
    payload_message,
    payload_uncertainty_message,
    posterior_message,
    predicted_message,
    samples_message,
)

# Events after which the posterior is another one than that of which draws were made before.
_OUTDATING = frozenset((Happened.HANDED_OVER, Happened.CHANGED, Explained))


def outdates_draws(report):
    """Tell whether draws made before an `UpdateReport` are of another posterior."""
    return bool(_OUTDATING & kinds_of(report.events))


class Composer:
    """
    Composes messages, each from a `Progress` alone.

    Only the markers have a memory: which of them are shown.
    """

    def __init__(self, problem):
        """Take the `RobotProblem` that the progress is of."""
        self._problem, self._board = problem, Board()

    def refusal(self, wishes):
        """Return why the `Wishes` cannot be met, or an empty text."""
        try:
            require_axes(self._problem.parametrization.names, wishes.markers.kernels)
        except EstimatorError as error:
            return str(error)
        return ''

    def message(self, topic, progress, wishes, trail):
        """
        Return the message of a topic, all but samples.

        trail: earlier means [p] of the mixture, in coordinates, the oldest first.
        """
        return _MAKERS[topic](self, progress, wishes, trail)

    def samples(self, progress, settings, pause):
        """
        Return (message of draws of the posterior, their number).

        settings: a `SamplesConfig`; pause: called between pieces of the work, and may wait.
        """
        how = (settings.count, settings.seed, pause)
        draws = draw_samples(self._problem, progress.mixture, *how)
        names = self._problem.parametrization.names
        return samples_message(names, draws, progress.estimate.stamp_ns), draws.shape[1]

    def _posterior(self, progress, *_):
        labels, stamp_ns = self._problem.labels, progress.estimate.stamp_ns
        return posterior_message(progress.mixture, labels, stamp_ns)

    def _coordinates(self, progress, *_):
        parametrization = self._problem.parametrization
        return coordinates_message(
            map_of(parametrization, self._units(parametrization.names)), progress.estimate.stamp_ns
        )

    def _payload(self, progress, *_):
        return payload_message(progress.assessment.latest.payload)

    def _payload_uncertainty(self, progress, *_):
        return payload_uncertainty_message(progress.assessment.latest.payload)

    def _parameters(self, progress, *_):
        found = progress.assessment.latest
        return parameters_message(found, self._units(each.name for each in found.parameters))

    def _bands(self, progress, *_):
        return bands_message(progress.assessment.latest)

    def _predicted(self, progress, *_):
        state = mean_state(self._problem, progress.mixture)
        return predicted_message(self._problem.model, state, progress.estimate.stamp_ns)

    def _markers(self, progress, wishes, trail):
        settings = wishes.markers
        view = view_of(
            self._problem,
            progress.mixture,
            progress.assessment.latest,
            progress.efforts,
            settings.kernels if not self.refusal(wishes) else (),
            trail,
            ghosts=settings.ghosts,
            horizon=settings.horizon,
            tangents=progress.assessment.tangents,
        )
        return self._board.update(scene(view), progress.estimate.stamp_ns)

    def _units(self, names):
        return [self._problem.parameters.unit(name) for name in names]


_MAKERS = {
    'payload': Composer._payload,
    'payload_uncertainty': Composer._payload_uncertainty,
    'posterior': Composer._posterior,
    'coordinates': Composer._coordinates,
    'parameters': Composer._parameters,
    'bands': Composer._bands,
    'predicted_joint_states': Composer._predicted,
    'markers': Composer._markers,
}
