"""The true parameters: given or drawn from the prior, and their scheduled changes and payloads."""

from dataclasses import replace
import math

from ...errors import ConfigError
from ...model.body_numbers import at_centre
from ...model.inertia_checks import fault_of
from ...model.parameters import owner_of
from ...model.tree import Inertial
from ...parameters.body_priors import BodyPrior
from ...parameters.delays import COMMAND_DELAY, is_delay, joint_delays, nominal_delays
from ...spatial.inertia import BodyInertia, Symmetric3
from ...spatial.vector import Vec3
from .settings import generator, require_known

_NANO = 1e9
# Number of draws of a link until its inertia is possible.
_DRAWS = 200


class Truth:
    """
    The values of all parameters at any time: name -> float.

    names: of those to report, which are estimated, given, or change; varying: of those that
    change; instants: times of changes since the start [ns].
    """

    def __init__(self, settings, parameters, clocks, chosen):
        """
        Choose the values.

        settings: `SyntheticConfig`; parameters: `Parameters`, those of the sensors included;
        clocks: names of the delays of sensors; chosen: `priors.Chosen`, the estimator's priors.
        """
        self._parameters = parameters
        delays = (*_of_commands(parameters), *clocks)
        known = (*(name for name in parameters if not is_delay(name)), *delays)
        for name in settings.truth:
            require_known('truth', name, known)
        for name, payload in settings.payloads.items():
            check_payload(name, payload, parameters)
        for name, change in settings.changes.items():
            for parameter in change.values:
                require_known(f'changes.{name}.values', parameter, set(known) - set(delays))
        self._payloads = tuple(settings.payloads.values())
        self._changes = tuple(sorted(settings.changes.values(), key=lambda change: change.at))
        nominal = dict(zip(parameters, parameters.nominal()))
        self._base = {**nominal, **{n: nominal.get(n, 0.0) for n in delays}, **chosen.fixed}
        self._base |= _drawn(settings, parameters, chosen.priors, self._base)
        for name in _of_commands(parameters):
            if self._base[name] < 0:
                raise ConfigError(
                    f'truth.{name}: is {self._base[name]:g} s, but nothing acts '
                    'before it is commanded; give at least 0'
                )
        self.varying = self._names_that_vary()
        given = {*chosen.priors, *chosen.fixed, *settings.truth, *self.varying}
        self._own_delays = {*given, *nominal_delays(parameters)}
        self.names = tuple(name for name in self._base if name in given)
        self._require_unstretched()
        ends = [p.until for p in self._payloads if p.until is not None]
        starts = [event.at for event in (*self._payloads, *self._changes)]
        self.instants = tuple(sorted({round(_NANO * at) for at in (*starts, *ends) if at > 0}))

    def at(self, time_ns):
        """Return the values of all parameters at a time since the start."""
        values = dict(self._base)
        for change in self._changes:
            if round(_NANO * change.at) <= time_ns:
                values |= change.values
        for payload in self._payloads:
            until = math.inf if payload.until is None else round(_NANO * payload.until)
            if round(_NANO * payload.at) <= time_ns < until:
                names = self._parameters.inertial_names(payload.link)
                values |= carried(values, names, payload)
        return values

    def command_delays_ns(self, joints):
        """Return the delays of the commands of joints [ns], their own or the common one."""
        own = joint_delays(self._parameters.model)
        is_own = [own[joint] in self._own_delays for joint in joints]
        names = [own[j] if is_its else COMMAND_DELAY for j, is_its in zip(joints, is_own)]
        return [round(_NANO * self._base[name]) for name in names]

    def _names_that_vary(self):
        found = {name for change in self._changes for name in change.values}
        for payload in self._payloads:
            found.update(self._parameters.inertial_names(payload.link))
        return tuple(name for name in self._base if name in found)

    def _require_unstretched(self):
        """Raise a ConfigError for a payload on a link whose length is not the described one."""
        for payload in self._payloads:
            name = f'{payload.link}.length'
            if name in self.names and self._base[name] != self._parameters[name].nominal:
                raise ConfigError(
                    f'payloads: {payload.link} has a {name} of its own, and a payload would be '
                    'stretched with it; choose another link, or set the length in truth to '
                    f'{self._parameters[name].nominal:g}'
                )


def _drawn(settings, parameters, priors, values):
    """Return true values, given or drawn: name -> float; `values` are those of the rest."""
    owners, found = {}, dict(settings.truth)
    for name in priors:
        owners.setdefault(owner_of(name), []).append(name)
    for owner, names in owners.items():
        chance = generator(settings.seed, f'truth of {owner}')
        for _ in range(_DRAWS):
            drawn = {name: _draw(priors[name], settings.spread, chance) for name in names}
            candidate = {**values, **drawn, **settings.truth}
            if _is_possible(owner, parameters, candidate):
                break
            if body := _slender(parameters, owner, priors, settings.spread):
                drawn = dict(zip(parameters.inertial_names(owner), body(chance)))
                candidate = {**values, **drawn, **settings.truth}
                break
        found |= {name: candidate[name] for name in names}
    return found


def _slender(parameters, link, priors, spread):
    """Return a function that draws the numbers of a nearly impossible body, else None."""
    names = parameters.inertial_names(link)
    if not spread or parameters.model.accepts_infeasible_inertia or not set(names) <= set(priors):
        return None
    body = BodyPrior([replace(priors[n], sd=spread * priors[n].sd) for n in names], True)
    if not body.is_slender:
        return None

    def draw(chance):
        mass, centre, inertia = at_centre(body.draw(1, chance)[0])
        return [float(mass), *centre.tolist(), *inertia.tolist()]

    return draw


def _draw(prior, spread, chance):
    """Return a value from a `Prior`."""
    deviation = spread * prior.sd * chance.standard_normal()
    return float(prior.mean * math.exp(deviation) if prior.is_log else prior.mean + deviation)


def _is_possible(owner, parameters, values):
    """Tell whether the body or the delays of an owner are possible."""
    if f'{owner}.mass' not in parameters:
        return all(values[name] >= 0 for name in _of_commands(parameters))
    mass, *rest = (values[name] for name in parameters.inertial_names(owner))
    return fault_of(Inertial(mass, tuple(rest[:3]), tuple(rest[3:]))) is None


def _of_commands(parameters):
    """Return the names of the delays of commands."""
    return COMMAND_DELAY, *joint_delays(parameters.model).values()


def check_payload(name, payload, parameters):
    """Raise a ConfigError for a `PayloadConfig` that cannot be attached to a link."""
    where = f'payloads.{name}'
    parameters.model.link(payload.link)
    if f'{payload.link}.mass' not in parameters:
        raise ConfigError(f'{where}.link: {payload.link} does not move; choose a link that does')
    for key, size in (('com', 3), ('inertia', 6)):
        if len(getattr(payload, key)) != size:
            raise ConfigError(f'{where}.{key}: has not {size} numbers; give as many')
    fault = fault_of(Inertial(payload.mass, payload.com, payload.inertia))
    if fault:
        raise ConfigError(f'{where}.inertia: {fault}; give one that a body can have')
    if payload.until is not None and payload.until <= payload.at:
        raise ConfigError(f'{where}.until: is not after {payload.at} s; give a later instant')


def carried(values, names, payload):
    """
    Return the inertial parameters of a link with a payload, name -> float.

    values: at least those of the link alone; names: its ten, in the order of
    `Parameters.inertial_names`.
    """
    mass, *rest = (values[name] for name in names)
    own = BodyInertia.from_centre(mass, Vec3(*rest[:3]), Symmetric3(*rest[3:]))
    more = BodyInertia.from_centre(payload.mass, Vec3(*payload.com), Symmetric3(*payload.inertia))
    whole = own + more
    centre = whole.first_moment * (1.0 / whole.mass)
    about_centre = whole.rotational - Symmetric3.point_mass(whole.mass, centre)
    return dict(zip(names, (whole.mass, *centre, *about_centre)))
