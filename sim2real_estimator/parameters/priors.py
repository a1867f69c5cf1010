"""What is to be estimated: the usual priors, overridden one by one or by pattern."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
import math

from ..config.settings_tree import PriorConfig
from ..errors import ConfigError
from ..model.friction import COUPLED
from ..model.parameters import DISSIPATION, INSIDE_JOINT, is_dissipation, owner_of
from .delays import COMMAND_DELAY, is_delay, joint_delays, nominal_delays
from .parametrization import Prior
from .usual_priors import (
    default_prior,
    dissipation_at_full_speed,
    GUESSED_SD,
    kind_of,
    KINDS,
    stuck_joints,
)

# The central 95 % of a normal distribution, in standard deviations to either side.
_CENTRAL = 1.959963984540054


@dataclass(frozen=True)
class Chosen:
    """
    What is to be estimated.

    priors: name -> `Prior`; fixed: name -> float of parameters kept at another value than the
    URDF's; left_out: name -> why a pattern that matches it does not estimate it.
    """

    priors: dict
    fixed: dict
    left_out: dict


def choose_priors(parameters, wishes, delays=(), beside_torques=None):
    """
    Return the `Chosen` of a robot.

    beside_torques: the `TorquePriors` of a robot with measured torques, or of one that is
    estimated by windows: what is expected where wishes say nothing, and what is estimated
    besides; None: of any other.

    parameters: a `Parameters`; wishes: pattern -> `PriorConfig`, a later one replacing what it
    gives of an earlier one; delays: names of delays that may be estimated besides. A parameter
    that is zero in the URDF and whose prior is one of logarithms has no size to begin with: named
    outright that is an error, matched by a pattern it is left out. So are links that are welded to
    a heavier one, unless a pattern begins with their name. What is inside a prescribed joint is
    left out however it is named.
    """
    merged, is_named, owners = {}, set(), set()
    for pattern, wish in wishes.items():
        for name in _matching(parameters, delays, pattern):
            merged[name] = _merged(merged.get(name, PriorConfig()), wish)
            if name == pattern:
                is_named.add(name)
            if pattern.startswith(f'{owner_of(name)}.'):
                owners.add(owner_of(name))
    weights = learned_weights(parameters.model)
    merged |= {n: PriorConfig() for n in weights if n not in merged}
    carried = _carried(parameters.model) - owners
    priors, fixed, left_out, expected = {}, {}, {}, {}
    if beside_torques:
        merged |= {n: PriorConfig() for n in beside_torques.columns if n not in merged}
        fixed |= {n: v for n, v in beside_torques.fixed.items() if n not in merged}
        expected = _expected(parameters, beside_torques, merged)
    physical = (name for name in parameters if not is_delay(name))
    for name in (name for name in (*physical, *delays) if name in merged):
        wish = merged[name]
        if wish.fixed:
            fixed[name] = default_prior(parameters, name).mean if wish.mean is None else wish.mean
            continue
        if name in expected and owner_of(name) not in carried:
            priors[name] = expected[name]
            continue
        prior = _prior(parameters, name, wish)
        problem = _ZERO if prior.is_log and prior.mean == 0 else ''
        if _is_of_a_massless_link(parameters, name, merged):
            problem = problem or _MASSLESS
        if owner_of(name) in carried and kind_of(name) in _OF_BODIES:
            problem = problem or _WELDED
        if _is_inside_a_prescribed_joint(parameters, name):
            problem = _DRIVEN
        if problem and name in is_named and problem != _DRIVEN:
            raise ConfigError(f'estimate.{name}: {problem}')
        if problem:
            left_out[name] = problem
        else:
            priors[name] = prior
    if not priors:
        raise ConfigError(
            f'estimate: nothing is left to estimate of {", ".join(wishes) or "an empty list"}; '
            "name parameters, such as '*.mass', or give those that are zero a mean"
        )
    return Chosen(priors, fixed, left_out)


def learned_weights(model):
    """Return the names of the output weights of networks that are estimated."""
    networks = (network for network in model.networks if network.is_estimated)
    return [name for network in networks for name in network.weight_names]


def _expected(parameters, beside_torques, wishes):
    """Return name -> `Prior` of a robot with measured torques where no wish gives another."""
    of_bodies = {
        name: parameters.inertial_names(link)
        for link in beside_torques.bodies
        for name in parameters.inertial_names(link)
    }
    return {
        name: prior
        for name, prior in beside_torques.priors.items()
        # The ten numbers of a body hang together.
        if all(wishes.get(n) == PriorConfig() for n in of_bodies.get(name, (name,)))
    }


_ZERO = (
    'the robot description says zero, and a logarithm needs a size to begin with; give it '
    'a mean of a typical size, or log: false with an sd, or do not estimate it'
)


_WELDED = (
    'the link is welded to a heavier one, and no motion tells the two apart: what is estimated of '
    'that one stands for both; name this link to estimate it as well'
)
_OF_BODIES = ('mass', 'com', 'inertia')


_MASSLESS = (
    'the robot description gives the link no mass; give its mass a mean as well, or do not '
    'estimate this'
)


def choose_with_delays(parameters, sensors, wishes, others=(), beside_torques=None):
    """
    Return the `Chosen` of a robot and of its delays.

    Those are how late all commands act, those of a joint by themselves, or the clock of a sensor;
    others: names besides. Fixed are also the delays that actuators are described with.
    """
    own = set(joint_delays(parameters.model).values())
    clocks = [f'{sensor.name}.delay' for sensor in sensors]
    names = tuple(
        dict.fromkeys((COMMAND_DELAY, *joint_delays(parameters.model).values(), *clocks))
    )
    chosen = choose_priors(parameters, wishes, (*names, *others), beside_torques)
    known = {n: v for n, v in nominal_delays(parameters).items() if n not in chosen.priors}
    chosen = replace(chosen, fixed=known | chosen.fixed)
    found = {*chosen.priors, *chosen.fixed}
    for name in sorted(found & {COMMAND_DELAY, *own} & set(clocks)):
        raise ConfigError(
            f'estimate.{name}: may be how late the clock of that sensor is, or how late '
            'commands act; give the sensor another name'
        )
    if not (COMMAND_DELAY in found and own and own <= found):
        return chosen
    if COMMAND_DELAY in wishes:
        raise ConfigError(f'estimate.{COMMAND_DELAY}: {_UNSHARED}; drop it, or one of theirs')
    return Chosen(
        *(
            {n: v for n, v in part.items() if n != COMMAND_DELAY}
            for part in (chosen.priors, chosen.fixed)
        ),
        chosen.left_out | {COMMAND_DELAY: _UNSHARED},
    )


def nuisances(parameters, sensors, chosen, reference):
    """
    Return name -> usual `Prior` of nuisance parameters: not estimated, and easily wrong.

    These are damping and friction of joints that the robot description gives a size, and the
    delays of commands and of all clocks but the reference. What the config fixes is not among
    them.
    """
    configured = {*chosen.priors, *chosen.fixed, *chosen.left_out}
    losses = [
        name
        for name in parameters
        if is_dissipation(name)
        and parameters[name].nominal
        and not _is_inside_a_prescribed_joint(parameters, name)
    ]
    own = joint_delays(parameters.model).values()
    commands = [COMMAND_DELAY] if own and configured.isdisjoint(own) else []
    clocks = [f'{sensor.name}.delay' for sensor in sensors if sensor.name != reference]
    names = (name for name in (*losses, *commands, *clocks) if name not in configured)
    return {name: default_prior(parameters, name) for name in names}


def disbelieved(parameters, priors):
    """Return a sentence on the joints whose described dissipation is not used, '' if none."""
    named = []
    for joint in stuck_joints(parameters):
        names = [name for word in DISSIPATION if (name := f'{joint}.{word}') in priors]
        if any(priors[name] == default_prior(parameters, name) for name in names):
            named.append(joint)
    if not named:
        return ''
    first = parameters.model.joint(named[0])
    unit = parameters[f'{first.name}.friction'].unit
    return (
        f'damping and friction of {", ".join(named)} are not used: at its largest velocity '
        f"'{first.name}' would lose {dissipation_at_full_speed(first):.3g} {unit}, its drive has "
        f'{first.limits.effort:.3g} {unit}, and less lifts the whole robot; what such a drive '
        f'usually loses is taken, give or take a factor of {math.exp(GUESSED_SD):.2g}; '
        'correct <dynamics> in the robot description, or give these parameters a mean, as '
        '`init --trust-units` does'
    )


_UNSHARED = 'every joint has a delay of its own, so none is left to share this one'
_DRIVEN = (
    'nobody reports the effort on the joint, so it moves as measured, whatever resists; say under '
    'joints where its effort comes from, or do not estimate this'
)


def _carried(model):
    """Return the names of links that are welded to a heavier one, of like ones to the first."""
    heaviest = {}
    for link in model.links:
        body = model.attachments[link.name].body
        mass = link.inertial.mass if link.inertial else 0.0
        if body not in heaviest or mass > heaviest[body][0]:
            heaviest[body] = mass, link.name
    return {link.name for link in model.links} - {name for _, name in heaviest.values()}


def _is_of_a_massless_link(parameters, name, merged):
    """Tell whether a parameter is of a link without mass, and stays so."""
    mass = f'{owner_of(name)}.mass'
    if kind_of(name) not in ('com', 'inertia') or parameters[mass].nominal != 0:
        return False
    wish = merged.get(mass, PriorConfig())
    return wish.mean is None and wish.min is None


def _is_inside_a_prescribed_joint(parameters, name):
    """
    Tell whether a parameter is one of a joint whose motion is given, or of a follower.

    Of a motor that two joints share: whether the motion of both is given.
    """
    owner, _, quantity = name.rpartition('.')
    prescribed = {m.joint.name for m in parameters.model.moving_joints if m.is_prescribed}
    if quantity in COUPLED:
        return {owner, dict(parameters.model.couplings)[owner]} <= prescribed
    return owner in prescribed and quantity in INSIDE_JOINT


def _prior(parameters, name, wish):
    """Return the `Prior` of a parameter with what a config says of it."""
    usual = default_prior(parameters, name)
    is_log = usual.is_log if wish.log is None else wish.log
    if wish.min is not None or wish.max is not None:
        return _from_interval(name, wish, is_log)
    mean = usual.mean if wish.mean is None else wish.mean
    sd = usual.sd
    if wish.sd is not None:
        sd = wish.sd
    elif is_log is not usual.is_log:
        # The same width, in the other way of saying it.
        sd = usual.sd * abs(mean) if usual.is_log else usual.sd / max(abs(mean), 1e-12)
    elif wish.mean is not None and usual.sd == GUESSED_SD:
        # Who gives the size knows it better than a guess from the joint's limits.
        sd = KINDS[kind_of(name)].sd
    if name in parameters and parameters[name].is_positive and mean < 0:
        raise ConfigError(f'estimate.{name}.mean: is {mean:g}; give a value above zero')
    return Prior(mean, sd, is_log)


def _from_interval(name, wish, is_log):
    """Return the prior whose central 95 % is an interval."""
    where = f'estimate.{name}'
    if wish.min is None or wish.max is None or wish.mean is not None or wish.sd is not None:
        raise ConfigError(f'{where}: give either min and max, or mean and sd, not a mixture')
    if not wish.min < wish.max:
        raise ConfigError(f'{where}: min is {wish.min:g} and max {wish.max:g}; give min < max')
    if not is_log:
        mean, sd = (wish.min + wish.max) / 2, (wish.max - wish.min) / (2 * _CENTRAL)
        return Prior(mean, sd, False, (wish.min, wish.max))
    if wish.min * wish.max <= 0:
        raise ConfigError(
            f'{where}: the interval from {wish.min:g} to {wish.max:g} holds zero, which has no '
            'logarithm; give bounds of one sign, or log: false'
        )
    sign = math.copysign(1.0, wish.min)
    low, high = sorted(math.log(abs(x)) for x in (wish.min, wish.max))
    mean, sd = sign * math.exp((low + high) / 2), (high - low) / (2 * _CENTRAL)
    return Prior(mean, sd, True, (wish.min, wish.max))


def _merged(before, wish):
    """Return a wish with what a later one gives in place of it."""
    given = {n: v for n, v in vars(wish).items() if v is not None}
    kept = {n: v for n, v in vars(before).items() if v is not None}
    # An interval and a mean with sd are two ways to say one thing: the later one holds.
    if {'min', 'max'} & set(given):
        kept = {n: v for n, v in kept.items() if n not in ('mean', 'sd')}
    elif {'mean', 'sd'} & set(given):
        kept = {n: v for n, v in kept.items() if n not in ('min', 'max')}
    return PriorConfig(**{**kept, **given})


def _matching(parameters, delays, pattern):
    """Return the names that a pattern matches; none is a ConfigError that says what is near."""
    known = [*(name for name in parameters if not is_delay(name)), *delays]
    if fnmatchcase(COMMAND_DELAY, pattern) or not is_delay(pattern):
        # What is meant for all commands, or for all of a joint, is no delay of its own.
        known = [name for name in known if not (is_delay(name) and name in parameters)]
    if not set(pattern) & set('*?['):
        if is_delay(pattern) and pattern not in delays:
            raise ConfigError(
                f"estimate: there is no delay '{pattern}'; choose from {', '.join(delays)}"
            )
        return [pattern if pattern in delays else parameters[pattern].name]
    names = [name for name in known if fnmatchcase(name, pattern)]
    if not names:
        quantities = sorted({name.partition('.')[2] for name in known})
        raise ConfigError(
            f"estimate: the pattern '{pattern}' matches no parameter of the robot; the "
            f'quantities of links and joints are {", ".join(quantities)}'
        )
    return names
