"""
The motion of chain and ball between impacts and through them, with exact derivatives by the mass.

Between impacts the package's simulator runs, compiled, with derivatives along one direction. At an
impact the step is cut where the gap closes, the velocities jump, and the derivative of the time of
the impact is carried on: the derivative of the whole motion is that of what is simulated.
"""

from dataclasses import dataclass

import numpy as np

from ....backend.base import RolloutInputs
from ....backend.choice import choose_backend
from ....dynamics.system import System
from ....dynamics.wrenches import LinkWrench
from ....errors import EstimatorError
from ....model.parameters import Parameters
from .chain_model import (
    BALL_MASS,
    centres_and_gaps,
    CHAIN_MASS,
    chain_with_ball,
    GRAVITY,
    Impacts,
    LINKS,
    mass_names,
    PUSH,
    PUSH_TIME,
    SIZE,
)

RATE = 30.0  # of steps and of observed positions [Hz]
SECONDS = 10.0
# Impacts at most in one motion; with more the ball rests on the chain, which no impact describes.
_MOST_IMPACTS = 60
# Of the time of an impact: steps of the search, and a gap [m] that is none.
_ITERATIONS, _TOUCHING = 30, 1e-13
# Numbers that are seen of a state: two of every centre.
SEEN = 2 * LINKS + 2


@dataclass(frozen=True)
class Motion:
    """
    positions [T + 1, 22] of centres [m] and their derivatives by the mass [m/kg].

    impacts: (time [s], link, approach speed [m/s]) of each.
    """

    positions: np.ndarray
    slopes: np.ndarray
    impacts: tuple


class ChainSimulation:
    """Simulates chain and ball for any mass of the chain."""

    def __init__(self, rate=RATE, seconds=SECONDS):
        """Compile; rate: steps and observed instants in a second [Hz]."""
        model = chain_with_ball()
        parameters = Parameters(model)
        wrenches = (LinkWrench('ball'),)
        system = System(parameters, tuple(mass_names()), 'rk4', wrenches, centres_and_gaps)
        values = dict(zip(parameters, parameters.nominal())) | {'world.gravity': GRAVITY}
        self._backend = choose_backend('auto')(system, values)
        self._backend.expects_forwards = True
        self._impacts = Impacts(model)
        self._unit = np.array(parameters.nominal(mass_names()))[:, None] / CHAIN_MASS
        self._steps, self._duration = round(rate * seconds), 1 / rate
        # Moments, then forces on the ball: it is pushed first, and it has no weight.
        self._controls = np.zeros((self._steps, 6, 1))
        self._controls[: round(PUSH_TIME * rate), 3] = PUSH
        self._controls[:, 5] = BALL_MASS * GRAVITY

    def motion(self, mass, derivatives=True):
        """Return the `Motion` for a mass of the chain [kg]; slopes are zero if not asked for."""
        parameters = mass * self._unit
        positions, slopes = np.zeros((2, self._steps + 1, SEEN))
        state, slope = np.zeros((2, 2 * SIZE))
        # Since when the motion has been free [s], its derivative, and the instant that follows.
        began, d_began, following = 0.0, 0.0, 1
        impacts = []
        while True:
            durations = np.full(self._steps - following + 1, self._duration)
            durations[0] = following * self._duration - began
            inputs = self._inputs(state, parameters, durations, following)
            states, outputs = self._backend.rollout_arrays(inputs)
            touch = self._touch(states, outputs, inputs)
            if touch is not None:
                steps, durations = touch.step, np.append(durations[: touch.step], touch.duration)
                inputs = self._inputs(state, parameters, durations, following)
            else:
                steps = len(durations)
            first = 0 if not impacts else 1
            places = slice(following - 1 + first, following + steps)
            positions[places] = outputs[first : steps + 1, :SEEN, 0]
            if derivatives:
                d_states, d_outputs = self._along(inputs, slope, -d_began)
                slopes[places] = d_outputs[first : steps + 1, :SEEN, 0]
            if touch is None:
                return Motion(positions, slopes, tuple(impacts))

            q, v = touch.state[:SIZE], touch.state[SIZE:]
            velocity, impulses, speed = self._impacts.hit(touch.link, q, v, mass)
            if derivatives:
                along, by_time = d_states[-1].T
                # The gap stays closed when the mass changes.
                d_gap, gap_rate = d_outputs[-1, SEEN + touch.link]
                d_time = -d_gap / gap_rate
                slope = along + by_time * d_time
                direction = np.append(slope, 1.0)
                slope[SIZE:] = self._impacts.slope(touch.link, q, v, mass, impulses, direction)
                d_began = d_time
            began = touch.duration + (
                began if steps == 0 else self._duration * (following + steps - 1)
            )
            following, state = following + steps, np.append(q, velocity)
            impacts.append((began, touch.link, speed))
            if len(impacts) > _MOST_IMPACTS:
                raise EstimatorError(
                    f'with a chain of {mass:.4g} kg the ball touches it more than '
                    f'{_MOST_IMPACTS} times: it rests on the chain, which impacts do not describe'
                )

    def _inputs(self, state, parameters, durations, following):
        """Return the `RolloutInputs` from a state [26] before the instant that follows."""
        controls = self._controls[following - 1 :][: len(durations)]
        return RolloutInputs(state[:, None], parameters, controls, durations[:, None])

    def _along(self, inputs, slope, d_first):
        """
        Return derivatives of states and outputs, [H + 1, ., 2].

        First by the mass, then by the last duration; slope: of the first state by the mass,
        d_first: of the first duration.
        """
        seeds = [np.zeros((*part.shape[:-1], 2)) for part in inputs.tensors()]
        by_state, by_parameters, by_controls, by_durations = seeds
        by_state[:, 0], by_parameters[:, 0] = slope, self._unit[:, 0]
        by_durations[0, 0] = d_first
        by_durations[-1, 1] = 1.0
        seeds = by_state[None], by_parameters[None], by_durations, by_controls
        found = self._backend.directions_arrays(inputs, seeds)
        return found.d_states[0], found.d_outputs[0]

    def _touch(self, states, outputs, inputs):
        """Return the first `_Touch` in a rollout, or None."""
        gaps = outputs[:, SEEN:, 0]
        closed = np.flatnonzero((gaps[1:] < 0).any(1))
        if not len(closed):
            return None
        step = int(closed[0])
        link = int(gaps[step + 1].argmin())
        one = inputs.controls[step : step + 1]
        low, high = 0.0, float(inputs.durations[step, 0])
        # After an impact the gap is zero, by rounding perhaps less: it opens.
        at_low, at_high = max(gaps[step, link], _TOUCHING), gaps[step + 1, link]
        for _ in range(_ITERATIONS):
            duration = (low * at_high - high * at_low) / (at_high - at_low)
            durations = np.array([[duration]])
            after, seen = self._backend.rollout_arrays(
                RolloutInputs(states[step], inputs.parameters, one, durations)
            )
            gap = seen[1, SEEN + link, 0]
            if abs(gap) < _TOUCHING:
                break
            # The end that stays counts half (Illinois), so that both ends move.
            if gap < 0:
                high, at_high, at_low = duration, gap, 0.5 * at_low
            else:
                low, at_low, at_high = duration, gap, 0.5 * at_high
        return _Touch(step, duration, link, after[1, :, 0])


@dataclass(frozen=True)
class _Touch:
    """A gap to a link that closes: so long after the beginning of a step [s], in a state [26]."""

    step: int
    duration: float
    link: int
    state: np.ndarray
