"""In what ways a robot may change while the rest of it stays as it is, as jumps of coordinates."""

import numpy as np

from ..inference.protocol import Jump
from ..model.parameters import AXES, INERTIA_NAMES
from .fibre import on_slice

_DRAWS, _SEED = 200, 17
# Logarithms of factors: of friction or damping, and of what an actuator makes of a command.
_FRICTION, _GAIN = 0.5, 0.3
# A body that is taken up: the logarithm of its mass about this part of a usual link's.
_PART, _MASS_SPREAD = 0.5, 0.8
# How large it is for how far from the link's centre of mass it may be held.
_SIZE = 0.3
_PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


class PossibleChanges:
    """The kinds of changes that concern what is estimated of a robot."""

    def __init__(self, parameters, chart, sensors):
        """Take the model's `Parameters`, the `ParameterChart` and the sensors."""
        self._chart = chart
        self._nominal = dict(zip(parameters, parameters.nominal())) | dict(chart.fixed)
        model = parameters.model
        self._links = [link.name for link in model.links if f'{link.name}.mass' in chart.names]
        masses = [self._nominal[f'{link}.mass'] for link in self._links]
        self._usual_mass = float(np.mean(masses)) if masses else 0.0
        self._others = [each for each in _others(model, sensors, chart) if each[1]]

    def _extent(self, link):
        """Return how far a link of the robot description reaches [m]."""
        mass, centre, inertia = _body(link, self._nominal)
        spread = np.trace(inertia) / (2 * mass) if mass else 0.0
        return max(np.linalg.norm(centre), np.sqrt(max(spread, 0.0)))

    def jumps(self, mean):
        """Return a `Jump` for every kind, for a robot of coordinates [p]."""
        named = self._chart.to_named(mean[:, None])
        values = self._nominal | dict(zip(self._chart.names, named[:, 0].tolist()))
        drawn = [(f'mass on {link}', *self._held(link, values)) for link in self._links]
        drawn += [
            (title, names, self._scattered(names, values, spread))
            for title, names, spread in self._others
        ]
        places = [self._moved(named, names, values) for _, names, values in drawn]
        ends = np.cumsum([each.shape[1] for each in places])
        # All kinds at once.
        coordinates, is_settled = on_slice(self._chart, np.concatenate(places, 1))
        found = []
        for (title, names, _), end, each in zip(drawn, ends, places):
            part = slice(end - each.shape[1], end)
            away = (coordinates[:, part] - mean[:, None])[:, is_settled[part]]
            # As likely the other way: what was taken up may be put down.
            found.append(Jump(title, tuple(names), away / np.sqrt(max(away.shape[1], 1))))
        return tuple(found)

    def _moved(self, now, names, values):
        """Return points [P, N] of the inner chart: values [P, 1] of which some are [r, N]."""
        inner = self._chart.inner
        named = np.repeat(now, values.shape[1], 1)
        named[[inner.names.index(name) for name in names]] = values
        points = inner.from_named(named)
        return points[:, np.isfinite(points).all(0)]

    def _held(self, link, values):
        """Return (names, values [.., N]) of a link with bodies drawn for it."""
        generator = np.random.default_rng(_SEED)
        mass, centre, inertia = _body(link, values)
        body = _PART * self._usual_mass
        # What is estimated of the centre may be far off where little is known of the mass.
        near = _body(link, self._nominal)[1]
        body *= np.exp(_MASS_SPREAD * generator.standard_normal(_DRAWS))
        reach = self._extent(link)
        away = reach * generator.standard_normal((_DRAWS, 3))
        sizes = (_SIZE * reach * generator.random((_DRAWS, 3))) ** 2
        columns = [
            _joined(mass, centre, inertia, m, near + d, m * s)
            for m, d, s in zip(body, away, sizes)
        ]
        names = [f'{link}.mass', *(f'{link}.com.{a}' for a in AXES)]
        names += [f'{link}.inertia.{e}' for e in INERTIA_NAMES]
        kept = [k for k, name in enumerate(names) if name in self._chart.names]
        return [names[k] for k in kept], np.array(columns).T[kept]

    def _scattered(self, names, values, spread):
        """Return values [.., N] drawn about what they are; spread: of factors, None: priors'."""
        generator = np.random.default_rng(_SEED)
        here = np.array([values[name] for name in names])[:, None]
        noise = generator.standard_normal((len(names), _DRAWS))
        if spread is None:
            sds = np.array([self._chart.inner.priors[name].sd for name in names])[:, None]
            return here + sds * noise
        return here * np.exp(spread * noise)


def _body(link, values):
    """Return mass, centre of mass [3] and inertia about it [3, 3] of a link by named values."""
    centre, inertia = [values[f'{link}.com.{axis}'] for axis in AXES], np.zeros((3, 3))
    for entry, (i, j) in zip(INERTIA_NAMES, _PLACES):
        inertia[i, j] = inertia[j, i] = values[f'{link}.inertia.{entry}']
    return values[f'{link}.mass'], np.array(centre), inertia


def _joined(mass, centre, inertia, more, at, moments):
    """Return mass, centre and inertia [10] of a body with another, of principal moments."""
    total = mass + more
    middle = (mass * centre + more * at) / total
    whole = inertia + np.diag(moments)
    for part, place in ((mass, centre), (more, at)):
        away = place - middle
        whole = whole + part * (away @ away * np.eye(3) - np.outer(away, away))
    return [total, *middle, *(whole[i, j] for i, j in _PLACES)]


def _others(model, sensors, chart):
    """Return (title, names that are estimated, spread of factors or None) beside the masses."""

    def known(names):
        return [name for name in names if name in chart.names]

    for joint in model.joints:
        if joint.is_fixed:
            continue
        name = joint.name
        gains = [f'{name}.{spec.name}' for spec in joint.actuator.parameters]
        yield f'friction of {name}', known([f'{name}.damping', f'{name}.friction']), _FRICTION
        yield f'gain of {name}', known(gains), _GAIN
        yield f'encoder of {name}', known([f'{name}.offset']), None
    placed = {each.name for sensor in sensors for each in sensor.parameters}
    for sensor in sensors:
        own = [name for name in placed if name.startswith(f'{sensor.name}.')]
        placed.difference_update(own)
        yield f'mount of {sensor.name}', known(sorted(own)), None
        yield f'clock of {sensor.name}', known([f'{sensor.name}.delay']), None
    # What is of no sensor by itself is of the world of motion capture.
    yield 'place of motion capture', known(sorted(placed)), None
    yield 'delay of commands', known(['commands.delay']), None
