"""What the priors of delays mean for the stream: how long to wait, and for what."""

import math

from ..errors import ConfigError
from ..parameters.delays import COMMAND_DELAY, is_delay, joint_delays
from ..stream.restamping import Restamping

# To either side, in standard deviations: the middle 95 %, and where a delay is no more looked for.
_CENTRAL, _FAR = 1.959963984540054, 3.0
# The clock of the reference may be off by no more [s]: what it sees must lie in its frames.
_REFERENCE_REACH = 0.03
_MILLI, _MILLI_NS = 1e-3, 1_000_000


class Delays:
    """
    How late sensors and commands may be, in what the stream takes.

    lead, history [s]: how far efforts after the end, and before the beginning, of a frame matter
    to it; past [s]: how much farther back they do where what is held fixed is wrong.
    """

    def __init__(self, parametrization, reference, sensors, model, doubts=()):
        """
        Collect the delays that are estimated or fixed.

        reference: name of the sensor by whose clock frames are cut; sensors: names; doubts: names
        with `Prior`s of what is held fixed and may join the unknowns. No frame waits for these,
        but the past that they need is kept.
        """
        self._priors = {n: p for n, p in parametrization.priors.items() if is_delay(n)}
        self._fixed, self._reference, self._sensors = (
            parametrization.fixed,
            reference,
            tuple(sensors),
        )
        self._require_near(f'{reference}.delay')
        self._own = joint_delays(model)
        kinds = [f'{name}.delay' for name in sensors], [COMMAND_DELAY, *self._own.values()]
        self.lead = _up(sum(max([0.0, *(-self._ends(n)[0] for n in names)]) for names in kinds))
        self.history = sum(max([0.0, *(self._ends(n, _FAR)[1] for n in names)]) for names in kinds)
        doubted = [prior for name, prior in dict(doubts).items() if name in kinds[1]]
        self.past = max([0.0, *(prior.mean + _FAR * prior.sd for prior in doubted)])

    def _require_near(self, name):
        """Raise a ConfigError where the delay of the reference may be a long one."""
        low, high = self._ends(name)
        if max(-low, high) > _REFERENCE_REACH:
            raise ConfigError(
                f'estimate.{name}: reaches from {low:.3g} to {high:.3g} s, but '
                f"'{self._reference}' is the reference, "
                'by whose clock frames are cut; make another sensor '
                f'frames.reference, or estimate {COMMAND_DELAY} instead: between these two '
                'clocks only the difference counts'
            )

    def commands_ns(self, joint):
        """Return how long after their stamp the commands of a joint act, where that is known."""
        own = self._own[joint]
        name = own if own in self._priors or own in self._fixed else COMMAND_DELAY
        return round(1e9 * self._fixed.get(name, 0.0))

    def ahead_ns(self, sensor):
        """Return by how much the clock of a sensor may be ahead of that of the reference."""
        return max(0, round(1e9 * self._ends(f'{sensor}.delay')[1]))

    def restamping(self):
        """Return the `Restamping` to begin with: by what every delay has at least."""
        moved, margins = {}, {}
        for sensor in self._sensors:
            name = f'{sensor}.delay'
            if sensor == self._reference or not (name in self._priors or name in self._fixed):
                continue
            low, high = (round(1e9 * end) for end in self._ends(name))
            is_fixed = name in self._fixed
            moved[sensor] = low if is_fixed else max(low // _MILLI_NS, 0) * _MILLI_NS
            margins[sensor] = max(high - moved[sensor], 0)
        return Restamping(moved, margins)

    def _ends(self, name, deviations=_CENTRAL):
        """Return the ends [s] of the interval of a delay that is to be estimated."""
        prior = self._priors.get(name)
        if prior is None:
            return (self._fixed.get(name, 0.0),) * 2
        return prior.mean - deviations * prior.sd, prior.mean + deviations * prior.sd


def _up(seconds):
    """Return whole milliseconds that are no shorter, in seconds."""
    return math.ceil(seconds / _MILLI - 1e-9) * _MILLI
