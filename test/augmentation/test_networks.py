"""Networks in the dynamics: laws, leash, both backends, and the regressor beside them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sim2real_estimator import load_urdf
from sim2real_estimator.augmentation import Placed, Samples
from sim2real_estimator.augmentation.declaration import (
    Declaration,
    declared,
    leash_of,
    require_possible,
)
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.regressor import (
    regressor,
    regressor_names,
    regressor_parameters,
)
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.setup.networks import random_reference

_INPUTS = ('elbow.position', 'elbow.velocity')
_DECLARATIONS = (
    Declaration('free', 'elbow.effort', 'add', 'free', (*_INPUTS, 'shoulder.load'), (5, 4)),
    Declaration('loss', 'elbow.effort', 'add', 'dissipative', _INPUTS, (6,)),
    Declaration('cogging', 'elbow.effort', 'add', 'conservative', _INPUTS[:1], (6,)),
    Declaration('worn', 'shoulder.damping', 'scale', 'free', ('shoulder.position',), (3,)),
    Declaration('dry', 'shoulder.friction', 'replace', 'dissipative', ('elbow.position',), (3,)),
    Declaration('drive', 'elbow.actuator_effort', 'add', 'free', ('elbow.command',), (3,)),
)
_OF_TORQUES = _DECLARATIONS[:5]


def _network(declaration, model, is_estimated=lambda name: True):
    parameters = Parameters(model)
    reference = random_reference(parameters, declaration)
    return declared(declaration, reference, leash_of(declaration, is_estimated), 0.05)


def _robot_and_weights(text, declarations, seed=0):
    model = load_urdf(text, actuators={'shoulder': 'effort', 'elbow': 'effort'})
    model = model.with_networks(_network(each, model) for each in declarations)
    generator = np.random.default_rng(seed)
    names = [name for network in model.networks for name in network.weight_names]
    weights = {name: float(generator.uniform(0.1, 1.0)) for name in names}
    return Parameters(model), weights


def test_backends_agree_and_so_do_their_derivatives(double_pendulum_urdf):
    parameters, weights = _robot_and_weights(double_pendulum_urdf, _DECLARATIONS)
    generator, found = torch.Generator().manual_seed(0), []
    states = torch.randn(4, 6, generator=generator, dtype=torch.float64)
    commands = torch.randn(3, 2, 6, generator=generator, dtype=torch.float64)
    values = torch.tensor(list(weights.values()), dtype=torch.float64)[:, None].repeat(1, 6)
    for backend in ('eager', 'native'):
        simulator = Simulator(parameters.model, list(weights), backend=backend)
        leaves = [each.clone().requires_grad_() for each in (states, commands, values)]
        rolled = simulator.rollout(leaves[0], [0.004] * 3, leaves[2], leaves[1])
        rolled.states.square().sum().backward()
        found.append([rolled.states.detach(), *(leaf.grad for leaf in leaves)])
    for eager, native in zip(*found):
        assert torch.allclose(eager, native, rtol=1e-9, atol=1e-9)
        assert eager.abs().max() > 1e-3


def test_a_network_without_weights_leaves_the_program_as_it_was(double_pendulum_urdf):
    parameters, weights = _robot_and_weights(double_pendulum_urdf, _DECLARATIONS[:3])
    plain = Parameters(replace(parameters.model, networks=()))
    state = [0.3, -0.4], [0.5, 1.1], [2.0, -1.0]
    zeros = dict.fromkeys(weights, 0.0)
    with_zeros = forward_dynamics(realize(parameters, zeros), *state)
    assert with_zeros == forward_dynamics(realize(plain, {}), *state)
    assert with_zeros != forward_dynamics(realize(parameters, weights), *state)


def test_the_regressor_has_the_torques_of_the_dynamics(double_pendulum_urdf):
    parameters, weights = _robot_and_weights(double_pendulum_urdf, _OF_TORQUES)
    robot = realize(parameters, weights)
    q, v, torques = [0.3, -0.4], [0.5, -1.1], [2.0, -1.0]
    acceleration = forward_dynamics(robot, q, v, torques)
    columns = np.array(regressor(robot, q, v, acceleration), dtype=float)
    values = np.array(regressor_parameters(robot), dtype=float)
    assert len(values) == len(regressor_names(robot)) == len(columns)
    assert values @ columns == pytest.approx(torques, abs=1e-9)


@pytest.mark.parametrize('seed', range(3))
def test_a_dissipative_network_never_adds_energy(double_pendulum_urdf, seed):
    model = load_urdf(double_pendulum_urdf)
    network = _network(_DECLARATIONS[1], model)
    generator = np.random.default_rng(seed)
    q, v = generator.uniform(-20, 20, (2, 1000)).view(Samples)
    inputs = dict(zip(network.inputs, (q, v)))
    weights = tuple(generator.normal(0, 3, network.count).tolist())
    output = np.asarray(Placed(network, weights).applied(0.0, inputs.__getitem__))
    assert (output * np.asarray(v) <= 0).all()
    assert np.abs(output).max() > 0


def test_a_conservative_network_has_a_potential(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    network = replace(_network(_DECLARATIONS[2], model, lambda name: False))
    q = np.linspace(-2, 2, 4001)
    effort = np.asarray(network.output([q.view(Samples)], [0.7] * network.count))
    units = network._units([q.view(Samples)])
    potential = 0.7 * network.size * np.asarray(sum(units))
    assert np.gradient(-potential, q)[1:-1] == pytest.approx(effort[1:-1], abs=1e-4)


def test_features_are_orthogonal_to_the_physics(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    wish = _DECLARATIONS[0]
    reference = random_reference(Parameters(model), wish)
    network = declared(wish, reference, leash_of(wish, lambda name: True), 0.05)
    values = [reference.values[name].view(Samples) for name in wish.inputs]
    features = np.array([np.asarray(x) for x in network.features(values)])
    q, v, load = map(np.asarray, values)
    # Gravity on the elbow also depends on the shoulder: its load is gravity, a sine is not.
    for column in (np.ones_like(q), v, np.tanh(v / 0.05), load):
        assert np.abs(features @ column).max() < 1e-8 * np.abs(column).sum()
    free = declared(wish, reference, leash_of(wish, lambda name: False), 0.05)
    assert np.abs(np.array([np.asarray(x) @ v for x in free.features(values)])).max() > 1.0


def test_random_layers_are_the_same_each_time(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    one, other = (_network(_DECLARATIONS[0], model) for _ in range(2))
    assert one == other
    assert one != _network(replace(_DECLARATIONS[0], name='other'), model)


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'at': 'elbow'}, 'give JOINT.quantity'),
        ({'at': 'elbow.mass'}, 'one of effort'),
        ({'mode': 'multiply'}, 'choose one of add'),
        ({'inputs': ()}, 'at least one'),
        ({'inputs': ('elbow.colour',)}, 'is no input'),
        ({'hidden': ()}, '1 to 3 layers'),
        ({'hidden': (100,)}, '1 to 64 of each'),
        ({'law': 'conservative'}, 'position of this joint alone'),
        ({'law': 'dissipative', 'inputs': ('elbow.position',)}, 'add elbow.velocity'),
        ({'law': 'dissipative', 'mode': 'scale'}, 'can give energy'),
        ({'law': 'dissipative', 'at': 'elbow.stiffness'}, 'takes no energy'),
    ],
)
def test_errors_teach(changes, words):
    wish = Declaration('loss', 'elbow.effort', inputs=('elbow.position', 'elbow.velocity'))
    require_possible(wish)
    with pytest.raises(ConfigError, match=words):
        require_possible(replace(wish, **changes))


def test_friction_of_a_contact_by_a_network(tmp_path):
    text = (
        '<robot name="ball"><link name="ball"><inertial><mass value="1"/><inertia ixx=".004" '
        'iyy=".004" izz=".004" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        '<sphere radius="0.1"/></geometry></collision></link></robot>'
    )
    contacts = {'floor': {'between': ('ball', 'ground'), 'friction': 0.0}}
    model = load_urdf(text, base='floating', contacts=contacts)
    wish = Declaration(
        'rub', 'floor.friction', 'add', 'dissipative', ('floor.slip_speed',), (4,), 0.3
    )
    model = model.with_networks([_network(wish, model)])
    start = torch.tensor([*model.neutral_positions(), *[0.0] * 6], dtype=torch.float64)
    names, found = list(model.networks[0].weight_names), []
    seven = start[:, None].clone()
    # It slides along the ground at first.
    seven[model.position_size - 7 + 2] = 0.0995
    for backend in ('eager', 'native'):
        simulator = Simulator(model, names, backend=backend)
        for weight in (0.2, 1.0):
            values = torch.full((len(names), 1), weight, dtype=torch.float64)
            for row in range(model.position_size, model.state_size):
                state = seven.clone()
                state[row] = 1.0
                with torch.no_grad():
                    found.append(simulator.rollout(state, [0.002] * 50, values).states[-1])
    half = len(found) // 2
    for eager, native in zip(found[:half], found[half:]):
        assert torch.allclose(eager, native, rtol=1e-9, atol=1e-9)
    # Whatever moves it along the ground, more friction leaves less of it.
    quick = half // 2
    speeds = [torch.linalg.norm(each[model.position_size :]) for each in found[:half]]
    slower = [b < a - 1e-3 for a, b in zip(speeds[:quick], speeds[quick:])]
    assert sum(map(bool, slower)) >= 2
