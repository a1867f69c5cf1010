"""
The model changes that are possible, for each of the two ways of predicting.

`SimulatedChanges`: of a robot whose motion is simulated, payloads, friction, gains, encoders,
mounts and delays; their covariances are those of draws, since coordinates may be logarithms.
`changes_of_torques`: of one whose torques are measured, payloads, friction, offsets and gains, in
coordinates in which torques are linear.
"""

from dataclasses import dataclass

import numpy as np

from ..estimation.protocol import ModelChange
from ..model.body_numbers import about_frame, at_centre
from ..model.friction import sudden_changes
from ..model.parameters import owner_of
from ..observability.null_space import on_slice
from ..sensors import CAPTURE

_DRAWS, _SEED = 200, 17
# Standard deviations of the logarithms of factors: of friction and damping, and of gains.
_FRICTION, _GAIN = 0.5, 0.3
# A payload: the median of its mass relative to a usual link's, and the sd of its logarithm.
_PART, _MASS_SPREAD = 0.5, 0.8
# Size of a payload relative to its usual distance from the link's centre of mass.
_SIZE = 0.3
# Where torques are measured. Standard deviations of a payload: mass [kg], at most this part of the
# robot's; first moment [m] and inertia [m^2] per kilogram.
_TORQUE_PAYLOAD, _PAYLOAD_PART = (2.0, 0.15, 0.02), 0.15
# Prior odds of a payload on the link that a user has named, or else on the last link of a chain,
# against one on another link.
_NAMED_LINK_ODDS, _LAST_LINK_ODDS = 1e3, 5.0
# Standard deviation of the gain of a joint's torque sensor. It changes a thousand times less often
# than a payload, and is hard to distinguish from one at first.
_TORQUE_GAIN, _GAIN_ODDS = 0.3, 1e-3


@dataclass(frozen=True)
class _Drawn:
    """
    One kind of change, drawn N times.

    names: of the parameters that change, with values [.., N]; bodies [10, N]: payloads on a link,
    None for other kinds.
    """

    title: str
    names: list
    values: np.ndarray
    bodies: np.ndarray | None = None
    link: str = ''

    def jump(self, away):
        """Return the `ModelChange`; away [p, N]: changes of coordinates, NaN where not found."""
        is_kept = np.isfinite(away).all(0)
        # The reverse of a change is as likely, as a payload that is put down.
        part = 1 / np.sqrt(max(is_kept.sum(), 1))
        body = None if self.bodies is None else part * self.bodies[:, is_kept]
        return ModelChange(self.title, tuple(self.names), part * away[:, is_kept], body, self.link)


class SimulatedChanges:
    """The kinds of changes that affect the estimated parameters of a robot."""

    def __init__(self, parameters, parametrization, sensors):
        """Take the model's `Parameters`, the `Parametrization` and the sensors."""
        self._parameters, self._parametrization = parameters, parametrization
        self._nominal = dict(zip(parameters, parameters.nominal())) | dict(parametrization.fixed)
        model = parameters.model
        self._links = [
            link.name for link in model.links if f'{link.name}.mass' in parametrization.names
        ]
        masses = [self._nominal[f'{link}.mass'] for link in self._links]
        self._usual_mass = float(np.mean(masses)) if masses else 0.0
        reaches = [self._extent(link) for link in self._links]
        # Distances are those of a usual link: a small hand holds what a large one does.
        self._usual_reach = float(np.mean(reaches)) if reaches else 0.0
        self._others = [each for each in _others(model, sensors, parametrization) if each[1]]

    def _extent(self, link):
        """Return how far a link of the robot description reaches [m]."""
        mass, centre, inertia = _body(self._parameters.inertial_names(link), self._nominal)
        spread = inertia[:3].sum() / (2 * mass) if mass else 0.0
        return max(np.linalg.norm(centre), np.sqrt(max(spread, 0.0)))

    def model_changes(self, mean):
        """Return a `ModelChange` of every kind, for a robot of coordinates [p]; not of lengths."""
        named = self._parametrization.to_named(mean[:, None])
        values = self._nominal | dict(zip(self._parametrization.names, named[:, 0].tolist()))
        drawn = [_Drawn(f'mass on {link}', *self._held(link, values)) for link in self._links]
        drawn += [
            _Drawn(title, names, self._scattered(names, values, spread))
            for title, names, spread in self._others
        ]
        if not drawn:
            return ()
        places = [self._moved(named, each) for each in drawn]
        are_places = [np.isfinite(each).all(0) for each in places]
        # All kinds at once.
        coordinates = np.full((len(mean), sum(map(len, are_places))), np.nan)
        is_kept = np.concatenate(are_places)
        found, is_converged = on_slice(
            self._parametrization, np.concatenate(places, 1)[:, is_kept]
        )
        coordinates[:, np.flatnonzero(is_kept)[is_converged]] = found[:, is_converged]
        splits = np.split(coordinates - mean[:, None], np.cumsum([*map(len, are_places)])[:-1], 1)
        return tuple(each.jump(away) for each, away in zip(drawn, splits))

    def _moved(self, now, drawn):
        """Return inner coordinates [P, N] of present values [P, 1] with some replaced by draws."""
        inner = self._parametrization.inner
        named = np.repeat(now, drawn.values.shape[1], 1)
        named[[inner.names.index(name) for name in drawn.names]] = drawn.values
        return inner.from_named(named)

    def _held(self, link, values):
        """Return (names, values [.., N] of a link with payloads, the payloads [10, N], link)."""
        generator, names = np.random.default_rng(_SEED), self._parameters.inertial_names(link)
        masses = _PART * self._usual_mass
        masses = masses * np.exp(_MASS_SPREAD * generator.standard_normal(_DRAWS))
        # About the nominal centre: the estimated one may be far off if the mass is uncertain.
        near, reach = _body(names, self._nominal)[1], self._usual_reach
        centres = near + reach * generator.standard_normal((_DRAWS, 3))
        sizes = (_SIZE * reach * generator.random((_DRAWS, 3))) ** 2
        moments = np.concatenate([masses[:, None] * sizes, np.zeros((_DRAWS, 3))], 1)
        # About one frame the inertial parameters of rigidly connected bodies add up.
        bodies = about_frame(masses, centres, moments)
        together = about_frame(*_body(names, values)) + bodies
        mass, centre, inertia = at_centre(together)
        drawn = np.concatenate([mass[:, None], centre, inertia], 1).T
        kept = [k for k, name in enumerate(names) if name in self._parametrization.names]
        return [names[k] for k in kept], drawn[kept], bodies.T, link

    def _scattered(self, names, values, spread):
        """Return values [.., N] drawn about present ones; spread: of factors, None for priors'."""
        generator = np.random.default_rng(_SEED)
        here = np.array([values[name] for name in names])[:, None]
        noise = generator.standard_normal((len(names), _DRAWS))
        if spread is None:
            sds = np.array([self._parametrization.inner.priors[name].sd for name in names])[
                :, None
            ]
            return here + sds * noise
        return here * np.exp(spread * noise)


def _body(names, values):
    """Return mass, centre of mass [3] and inertia about it [6] by the ten names of a link."""
    ten = np.array([values[name] for name in names])
    return ten[0], ten[1:4], ten[4:]


def _others(model, sensors, parametrization):
    """Yield (title, names of estimated parameters, spread of factors or None) but payloads."""

    def known(names):
        return [name for name in names if name in parametrization.names]

    for joint in model.joints:
        if joint.is_fixed:
            continue
        name = joint.name
        gains = [f'{name}.{spec.name}' for spec in joint.actuator.parameters]
        friction = sudden_changes()['friction']
        yield f'friction of {name}', known([f'{name}.{word}' for word in friction]), _FRICTION
        yield f'gain of {name}', known(gains), _GAIN
        yield f'encoder of {name}', known([f'{name}.offset']), None
    placed = {each.name for sensor in sensors for each in sensor.parameters}
    for sensor in sensors:
        own = [name for name in placed if name.startswith(f'{sensor.name}.')]
        placed.difference_update(own)
        yield f'mount of {sensor.name}', known(sorted(own)), None
        yield f'clock of {sensor.name}', known([f'{sensor.name}.delay']), None
    # Parameters that several sensors share are those of motion capture's world, or of a camera.
    for owner in sorted({owner_of(name) for name in placed}):
        title = 'motion capture' if owner == CAPTURE else owner
        yield f'place of {title}', known(sorted(n for n in placed if owner_of(n) == owner)), None
    yield 'delay of commands', known(['commands.delay']), None


def changes_of_torques(parametrization, model, known, limits, gains, holder=''):
    """
    Return the `ModelChange`s of a robot whose torques are measured, those of the last link first.

    known: name -> value of parameters; limits: joint -> largest effort [N m or N], of joints with
    a measured torque; gains: joint -> place of its gain among the coordinates; holder: link that
    holds payloads, empty where none is named.
    """
    size, found = len(parametrization.labels), []
    inner = parametrization.inner
    total = sum(value for name, value in known.items() if name.endswith('.mass')) or 1.0
    mass = min(_TORQUE_PAYLOAD[0], _PAYLOAD_PART * total)
    _, first, second = _TORQUE_PAYLOAD
    deviations = mass * np.array([1.0, *[first] * 3, *[second] * 6])
    places = dict(zip(getattr(inner, 'links', {}), inner.rows))
    bodies = {link.name: model.attachments[link.name].body for link in model.links}
    likely, odds = _last_links(model, places), _LAST_LINK_ODDS
    if holder:
        likely = {link for link in places if bodies[link] == bodies[holder]}
        odds = _NAMED_LINK_ODDS
    for link in sorted(places, key=lambda name: -bodies[name]):
        root = np.zeros((size, len(deviations)))
        root[places[link], range(len(deviations))] = deviations
        names = tuple(inner.links[link])
        log_odds = float(np.log(odds)) if link in likely else 0.0
        body = np.diag(deviations)
        found.append(ModelChange(f'mass on {link}', names, root, body, link, log_odds))
    for joint, limit in limits.items():
        for title, words in sudden_changes().items():
            sds = {f'{joint}.{word}': sd * limit for word, sd in words.items()}
            names = tuple(name for name in sds if name in parametrization.names)
            if names:
                root = np.zeros((size, len(names)))
                for k, name in enumerate(names):
                    root[parametrization.names.index(name), k] = sds[name]
                found.append(ModelChange(f'{title} of {joint}', names, root))
    for joint, place in gains.items():
        root = np.zeros((size, 1))
        root[place] = _TORQUE_GAIN
        title, names = f'gain of {joint}', (parametrization.names[place],)
        found.append(ModelChange(title, names, root, log_odds=float(np.log(_GAIN_ODDS))))
    return tuple(found)


def _last_links(model, links):
    """Return those of some links beyond which there are no others of them."""
    parents, beyond = {joint.child: joint.parent for joint in model.ordered_joints}, set()
    for link in links:
        while link in parents:
            link = parents[link]
            beyond.add(link)
    return set(links) - beyond
