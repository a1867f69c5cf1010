"""The consequences of delays for the stream: how long samples wait, and efforts are kept."""

import math

from ..errors import ConfigError
from ..parameters.delays import COMMAND_DELAY, is_delay, joint_delays
from ..stream.restamping import Restamping

# Standard deviations to either side: the middle 95 %, and the farthest delay considered.
_CENTRAL, _FAR = 1.959963984540054, 3.0
# Largest delay of the reference's clock [s]: its measurements must lie in its frames.
_REFERENCE_REACH = 0.03
_MILLI, _MILLI_NS = 1e-3, 1_000_000


class Delays:
    """
    The possible delays of sensors and commands.

    lead, history [s]: how far after the end and before the beginning of a frame efforts may act
    in it; past [s]: how much farther back if a delay that is held fixed is wrong.
    """

    def __init__(self, parametrization, reference, sensors, model, nuisances=()):
        """
        Collect the delays that are estimated or fixed.

        reference: name of the sensor by whose clock frames are cut; sensors: names;
        nuisances: names with `Prior`s of what is held fixed and may join the unknowns. No frame
        waits for these, but the past that they need is kept.
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
        own = [prior for name, prior in dict(nuisances).items() if name in kinds[1]]
        self.past = max([0.0, *(prior.mean + _FAR * prior.sd for prior in own)])

    def _require_near(self, name):
        """Raise a ConfigError where the delay of the reference sensor may be long."""
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
        """Return the delay of the commands of a joint as far as it is known for certain [ns]."""
        own = self._own[joint]
        name = own if own in self._priors or own in self._fixed else COMMAND_DELAY
        return round(1e9 * self._fixed.get(name, 0.0))

    def ahead_ns(self, sensor):
        """Return by how much a sensor's clock may be ahead of that of the reference [ns]."""
        return max(0, round(1e9 * self._ends(f'{sensor}.delay')[1]))

    def restamping(self):
        """Return the initial `Restamping`: by the least delay of each clock that may be late."""
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
        """Return the ends of the prior interval of a delay [s]."""
        prior = self._priors.get(name)
        if prior is None:
            return (self._fixed.get(name, 0.0),) * 2
        return prior.mean - deviations * prior.sd, prior.mean + deviations * prior.sd


def _up(seconds):
    """Return a time rounded up to whole milliseconds [s]."""
    return math.ceil(seconds / _MILLI - 1e-9) * _MILLI
