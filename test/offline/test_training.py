"""Networks are fitted to what physics leaves of torques, and are off where they do not pay."""

from dataclasses import replace

from bag_files import joints, START, write
import numpy as np
import pytest

from sim2real_estimator.augmentation.declaration import Declaration, declared, Reference
from sim2real_estimator.augmentation.weights import (
    digest_of_robot,
    read_weights,
    trained_of,
    write_weights,
)
from sim2real_estimator.config.settings_tree import NeuralConfig
from sim2real_estimator.errors import ConfigError, DataError
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.offline.training.explain import Proposal
from sim2real_estimator.offline.training.explain_command import sentences
from sim2real_estimator.offline.training.network_fit import (
    Effort,
    features_of,
    fit_network,
    JointRows,
    orthogonal,
)
from sim2real_estimator.offline.training.train import of_torques, train
from sim2real_estimator.pipeline import Pipeline

_COGGING = Declaration('net', 'elbow.effort', 'add', 'conservative', ('elbow.position',), (8,))
_LOSS = Declaration(
    'net', 'elbow.effort', 'add', 'dissipative', ('elbow.velocity', 'elbow.position'), (4, 3)
)
_WIDTH, _QUICK = 0.05, Effort(4, (0.1,), 800)

pytestmark = pytest.mark.usefixtures('one_thread')


def _rows(hidden, count=800, seed=0):
    """Return `JointRows` of a joint with viscous and Coulomb friction, and something hidden."""
    generator = np.random.default_rng(seed)
    times = np.linspace(0, 40, count)
    q = 1.2 * np.sin(0.7 * times) + 0.3 * np.sin(2.3 * times)
    v = np.gradient(q, times)
    columns = np.stack([np.ones(count), v, np.tanh(v / _WIDTH), np.gradient(v, times)], 1)
    torques = columns @ [0.1, 0.5, 1.0, 2.0] - hidden(q, v)
    torques += 0.05 * generator.standard_normal(count)
    inputs = {'elbow.position': q, 'elbow.velocity': v}
    return JointRows(times, inputs, columns, torques, np.ones(count))


def _network(wish, rows):
    gravity = np.zeros((len(rows.times), 1))
    reference = Reference(rows.inputs, rows.working, 1.0, gravity)
    return declared(wish, reference, (), _WIDTH)


@pytest.mark.parametrize('wish', [_COGGING, _LOSS, replace(_LOSS, law='free')])
def test_matrices_give_the_features_of_the_network(wish):
    rows = _rows(lambda q, v: 0 * q)
    network = replace(_network(wish, rows), size=1.0)
    weights = [
        np.array([*map(np.array, layer.weights)]).ravel() if part == 0 else np.array(layer.biases)
        for layer in network.hidden
        for part in (0, 1)
    ]
    values = [rows.inputs[name] for name in network.inputs]
    found = features_of(network, np.concatenate(weights), values)
    assert found == pytest.approx(network.sampled(values), abs=1e-12)


def test_hidden_cogging_is_found_and_noise_is_not():
    rows = _rows(lambda q, v: 0.4 * np.sin(4 * q))
    fit = fit_network(_network(_COGGING, rows), rows, 0, _QUICK)
    assert fit.before > 0.2
    assert fit.after < 1.4 * 0.05
    rows = _rows(lambda q, v: 0 * q)
    fit = fit_network(_network(_COGGING, rows), rows, 0, _QUICK)
    assert fit.after > 0.95 * fit.before


def test_orthogonal_features_have_the_same_output():
    rows = _rows(lambda q, v: 0.4 * np.sin(4 * q))
    network = _network(_COGGING, rows)
    values, weights = [rows.inputs['elbow.position']], np.linspace(-1, 1, 8)
    mixed, new = orthogonal(network, network.gram, weights)
    features = mixed.sampled(values)
    assert features.T @ features / len(features) == pytest.approx(np.eye(mixed.count), abs=1e-6)
    assert features @ new == pytest.approx(network.sampled(values) @ weights, abs=1e-4)


def _weights(tmp_path, model):
    rows = _rows(lambda q, v: 0 * q)
    network, path = _network(_COGGING, rows), tmp_path / 'weights.json'
    write_weights(path, {'net': trained_of(network, _COGGING, digest_of_robot(model))})
    return path, network


def test_weights_come_back_from_a_file(tmp_path, double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    path, network = _weights(tmp_path, model)
    found = read_weights(path, 'net', _COGGING, digest_of_robot(model))
    assert found.hidden == network.hidden
    assert found.gram == network.gram


def test_weights_of_something_else_are_refused(tmp_path, double_pendulum_urdf, pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    robot = digest_of_robot(model)
    path, _ = _weights(tmp_path, model)
    with pytest.raises(DataError, match='no such file'):
        read_weights(tmp_path / 'other.json', 'net', _COGGING, robot)
    with pytest.raises(DataError, match="no network 'other'"):
        read_weights(path, 'other', _COGGING, robot)
    with pytest.raises(DataError, match=r'was trained for hidden: \[8\]'):
        read_weights(path, 'net', replace(_COGGING, hidden=(9,)), robot)
    with pytest.raises(DataError, match='another robot'):
        read_weights(path, 'net', _COGGING, digest_of_robot(load_urdf(pendulum_urdf)))
    path.write_text(path.read_text().replace('"size": ', '"size": 1'))
    with pytest.raises(DataError, match='the digest differs'):
        read_weights(path, 'net', _COGGING, robot)
    path.write_text('{')
    with pytest.raises(DataError, match='cut off or damaged'):
        read_weights(path, 'net', _COGGING, robot)


def _bag(tmp_path, effort):
    """Return (a recording of a double pendulum that a servo moves, its `Config`)."""
    import measured_arms

    model = load_urdf(measured_arms.pipeline().problem.model.source)
    from sim2real_estimator.dynamics.joint_forces import all_efforts
    from sim2real_estimator.dynamics.rnea import inverse_dynamics
    from sim2real_estimator.model.parameters import Parameters
    from sim2real_estimator.model.robot import realize

    robot = realize(Parameters(model), {})
    generator, times = np.random.default_rng(0), np.arange(0, 30, 0.008)
    omega = 2 * np.pi * np.array([0.15, 0.37, 0.61])
    size, phase = generator.uniform(0.2, 0.5, (3, 2)), generator.uniform(0, 6, (3, 2))
    angle = times[:, None, None] * omega[:, None] + phase
    q = (size * np.sin(angle)).sum(1)
    v = (size * omega[:, None] * np.cos(angle)).sum(1)
    a = -(size * omega[:, None] ** 2 * np.sin(angle)).sum(1)
    entries = []
    for t, *state in zip(times, q, v, a):
        position, speed, change = (list(map(float, each)) for each in state)
        torque = np.array(inverse_dynamics(robot, position, speed, change), dtype=float)
        torque -= np.array(all_efforts(robot, position, speed, [0.0, 0.0]), dtype=float)
        torque[1] -= effort(position[1])
        torque += 0.002 * generator.standard_normal(2)
        measured = np.array(position) + 2e-5 * generator.standard_normal(2)
        entries.append(joints(START + round(t * 1e9), measured, torque))
    return write(tmp_path / 'bag', entries), measured_arms.config()


def _wish():
    return {
        'net': NeuralConfig(
            at='elbow.effort', inputs=('elbow.position',), law='conservative', hidden=(8,), sd=0.1
        )
    }


@pytest.mark.parametrize('is_there', [True, False])
def test_a_network_is_on_where_it_pays_and_off_elsewhere(tmp_path, is_there):
    bag, config = _bag(tmp_path, lambda q: 0.15 * np.sin(5 * q) if is_there else 0.0)
    config, path = replace(config, neural=_wish()), tmp_path / 'weights.json'
    (found,) = train(bag, config, path, trust_units=True).networks
    wish = replace(config.neural['net'], weights=str(path))
    built = Pipeline.from_config(replace(config, neural={'net': wish}))
    if is_there:
        assert not found.off
        assert found.after < 0.3 * found.before
        assert built.problem.model.networks[0].is_trained
    else:
        assert 'lowers the error' in found.off or 'held-out error' in found.off
        assert built.problem.model.networks == ()


def test_training_needs_networks_and_torques(tmp_path):
    import measured_arms

    config = measured_arms.config()
    with pytest.raises(ConfigError, match='neural: is empty'):
        train('bag', config, tmp_path / 'weights.json')
    joints_ = {name: replace(wish, effort='unknown') for name, wish in config.joints.items()}
    with pytest.raises(ConfigError, match='no effort is reported'):
        of_torques(replace(config, joints=joints_))


def test_proposals_have_the_lines_for_the_config():
    lines = sentences((Proposal('elbow', 1.0, 0.4, _COGGING), Proposal('shoulder', 1.0, 1.0)))
    assert 'by 60 %' in lines[0]
    assert '        at: elbow.effort' in lines
    assert lines[-1] == 'no network pays at shoulder'
