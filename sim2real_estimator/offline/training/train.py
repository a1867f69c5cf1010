"""
Train the networks of a config on recordings, and switch off those that do not pay.

`train` is the main function:

1. identify the robot without networks, which predicts what is held out;
2. make the rows of all torques before that (`training_rows.py`), fit the hidden layers of every
   network on those of its joint (`network_fit.py`), and give its last layer the prior that the
   joint's rows suggest;
3. identify the robot with the networks, and compare what is held out, joint by joint: a network
   whose joint is not predicted better is written as off, with the sentence why.

Networks are functions of states, so that torques tell them where efforts are commanded as well:
there the commands are the torques.
"""

from dataclasses import dataclass, replace
from pathlib import Path
import tempfile

import numpy as np

from ...augmentation import joint_of
from ...augmentation.declaration import declared, referred
from ...augmentation.weights import digest_of_robot, trained_of, write_weights
from ...config import Config, load_config
from ...errors import ConfigError
from ...estimation.estimators.measured_torque import MeasuredTorque
from ...setup.networks import declaration_of, leash_on, require_on_robot, width_of
from ...setup.sources import build_model
from ..identification.run import identify
from .network_fit import fit_network, orthogonal, THOROUGH, weights_of
from .training_rows import rows_of

# A network pays if the held-out error of its joint falls by more than this part, and by more than
# so many standard errors of means over blocks of so long [s].
LEAST_GAIN, _ERRORS, _BLOCK_NS = 0.01, 2.0, 10**9
# The prior of an output weight is at least so many times as wide as what was found.
_WIDE = 1.5
_NAN = float('nan')


@dataclass(frozen=True)
class Training:
    """
    What came of training.

    networks: a `TrainedNetwork` each; before, after: `Identification`s without networks, and with
    those that promised something, None where there was none.
    """

    networks: tuple
    before: object
    after: object


@dataclass(frozen=True)
class TrainedNetwork:
    """
    What came of a network.

    name; at; law; off: why it is off, '' where it is on; before, after: held-out error of its
    joint without and with it [N m or N], NaN where that was not measured; share: mean square of
    its effort over that of all at its site, over the training motion; penalty: R.
    """

    name: str
    at: str
    law: str
    off: str
    before: float
    after: float
    share: float
    penalty: float

    @property
    def gain(self):
        """The part by which the held-out error falls."""
        return 1 - self.after / self.before


def train(bags, config, output, *, held_out=0.2, seed=0, trust_units=False, show=None):
    """
    Write the weights of all networks of a config, and return the `Training`.

    bags: path of a recording, or of several, which continue one another in time; config: path of
    the settings, or a `Config`; output: file to write; held_out: share of each recording that
    decides whether networks pay; seed: of starts; show: called with a sentence now and then.
    """
    config = config if isinstance(config, Config) else load_config(config)
    paths = [Path(bag) for bag in ([bags] if isinstance(bags, (str, Path)) else bags)]
    if not config.neural:
        raise ConfigError(
            'neural: is empty; declare a network, or let `sim2real-estimator identify BAG '
            '--explain` propose one'
        )
    if not 0 < held_out < 1:
        raise ConfigError(f'held_out: is {held_out:g}; give a share above 0 and below 1')
    show = show or (lambda _: None)
    regression = of_torques(config)
    plain = replace(regression, neural={})
    model = build_model(plain)
    wishes = {name: declaration_of(name, wish) for name, wish in config.neural.items()}
    for each in wishes.values():
        require_on_robot(regression, model, each)
    show('identifying without networks')
    options = {'held_out': held_out, 'trust_units': trust_units}
    before = identify(paths, plain, **options)
    mean = before.posterior.mixture.moments()[0]
    rows = rows_of(paths, plain, held_out, mean, trust_units)
    trained, penalties, outputs = {}, {}, {}
    for name, wish in wishes.items():
        show(f'fitting {name} at {wish.at}')
        fit, network = fitted(config, rows, wish, seed)
        off = ''
        if fit.after > (1 - LEAST_GAIN) * fit.before:
            off = (
                f'within the training rows it lowers the error from {fit.before:.3g} to '
                f'{fit.after:.3g} only'
            )
        trained[name] = trained_of(network, wish, digest_of_robot(model), off)
        penalties[name], outputs[name] = fit.penalty, fit.weights
    show('identifying with networks')
    after = _identified_with(paths, regression, trained, options)
    found = []
    for name, each in trained.items():
        joint = joint_of(wishes[name].at)[0]
        errors = _compared(before.held_out, after and after.held_out, joint)
        off = each.off or _off(joint, *errors)
        numbers = dict(zip(('before', 'after', 'standard_error'), errors))
        trained[name] = replace(each, off=off, held_out=_plain(numbers))
        weights = np.array(outputs[name])
        share = float(weights @ np.array(each.gram) @ weights / max(each.power, 1e-300))
        found.append(
            TrainedNetwork(
                *(name, each.declaration['at'], each.declaration['law'], off),
                *(errors[0], errors[1], share, penalties[name]),
            )
        )
    Path(output).resolve().parent.mkdir(parents=True, exist_ok=True)
    write_weights(output, trained)
    return Training(tuple(found), before, after)


def fitted(config, rows, declaration, seed=0, effort=THOROUGH):
    """
    Return (`NetworkFit`, `Network` with leash and prior) of a `Declaration`.

    config: whose parameters are estimated beside it; rows: `MotionRows`.
    """
    own, reference = rows.of_joint(declaration)
    model = rows.model
    width = width_of(config, model, declaration)
    start = declared(declaration, reference, (), width)
    fit = fit_network(start, own, seed, effort)
    leash = leash_on(config, rows.parameters, declaration)
    # Where there is nothing to find, R leaves units that are constant.
    layers = fit.network if fit.after < (1 - LEAST_GAIN) * fit.before else start
    network = referred(replace(layers, size=1.0), reference, leash)
    weights = weights_of(network, own, fit.penalty)
    network, weights = orthogonal(network, network.gram, weights)
    usual = declaration.sd / network.count**0.5
    network = replace(
        network,
        # Where the last layer is estimated the data that chose the hidden layers count once.
        means=(0.0,) * network.count if declaration.is_estimated else tuple(weights.tolist()),
        deviations=tuple(np.maximum(usual, _WIDE * np.abs(weights)).tolist()),
    )
    gram = _gram(network, reference)
    network = replace(network, gram=gram)
    return replace(fit, weights=weights), network


def _gram(network, reference):
    """Return the means of products of a network's efforts per weight over a `Reference`."""
    values = [reference.values[name] for name in network.inputs]
    found = network.sampled(values) * np.asarray(reference.working)[:, None]
    return tuple(map(tuple, (found.T @ found / len(found)).tolist()))


def of_torques(config):
    """Return a `Config` in which commanded efforts are measured torques, as regression needs."""
    joints = {
        name: replace(wish, effort='measured') if wish.effort == 'commanded' else wish
        for name, wish in config.joints.items()
    }
    commanded = any(wish.effort == 'commanded' for wish in config.joints.values())
    measured = any(wish.effort == 'measured' for wish in config.joints.values())
    if not commanded and not measured:
        raise ConfigError(
            'joints: no effort is reported, and networks are trained on torques; say under joints '
            'which efforts are measured or commanded'
        )
    if commanded and measured:
        raise ConfigError(
            'joints: some efforts are measured and some commanded; train on a recording in which '
            'all are of one kind'
        )
    efforts = config.efforts
    if commanded:
        if efforts.commanded_type not in ('', 'sensor_msgs/msg/JointState'):
            raise ConfigError(
                f'efforts.commanded_type: is {efforts.commanded_type}, whose numbers have no '
                'stamps; train on a recording of sensor_msgs/msg/JointState'
            )
        efforts = replace(efforts, measured=efforts.commanded)
    estimator = replace(config.estimator, name=MeasuredTorque.name, settings={})
    estimate = {n: w for n, w in config.estimate.items() if not n.endswith('.noise')}
    return replace(config, joints=joints, efforts=efforts, estimator=estimator, estimate=estimate)


def _identified_with(paths, config, trained, options):
    """Return the `Identification` with networks that are not off, None where all are."""
    on = {name: each for name, each in trained.items() if not each.off}
    if not on:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'weights.json')
        write_weights(path, on)
        neural = {
            name: replace(wish, weights=str(path))
            for name, wish in config.neural.items()
            if name in on
        }
        return identify(paths, replace(config, neural=neural), **options)


def _compared(before, after, joint):
    """
    Return (error without, error with, standard error of the difference of their squares).

    before, after: `HeldOut`, the latter None where there was none; the standard error is over the
    square of the first.
    """
    one = next((trace for trace in before.torques if trace.joint == joint), None)
    other = next((t for t in after.torques if t.joint == joint), None) if after else None
    if one is None:
        return _NAN, _NAN, _NAN
    if other is None:
        return one.rms('mean'), _NAN, _NAN
    _, mine, theirs = np.intersect1d(one.stamps_ns, other.stamps_ns, return_indices=True)
    squares = [
        (trace.predicted['mean'] - trace.measured)[which] ** 2
        for trace, which in ((one, mine), (other, theirs))
    ]
    blocks = one.stamps_ns[mine] // _BLOCK_NS
    gains = squares[0] - squares[1]
    means = np.array([gains[blocks == block].mean() for block in np.unique(blocks)])
    error = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.inf
    roots = [float(np.sqrt(each.mean())) for each in squares]
    return *roots, float(error / roots[0] ** 2)


def _off(joint, before, after, error):
    """Return why a network is off by the held-out errors of its joint, '' where it pays."""
    if not np.isfinite(before):
        return f'{joint} does not move in what is held out, so that nothing says whether it pays'
    gain = 1 - (after / before) ** 2
    if after > (1 - LEAST_GAIN) * before:
        return (
            f'the held-out error of {joint} is {before:.3g} without and {after:.3g} with it, '
            f'no improvement by {100 * LEAST_GAIN:.0f} %'
        )
    if gain < _ERRORS * error:
        return (
            f'the held-out error of {joint} falls from {before:.3g} to {after:.3g}, which is less '
            f'than {_ERRORS:.0f} standard errors'
        )
    return ''


def _plain(numbers):
    """Return numbers as JSON takes them."""
    return {key: float(x) if np.isfinite(x) else None for key, x in numbers.items()}
