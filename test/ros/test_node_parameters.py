"""Settings as parameters of a node: declared, checked, taken over."""

import os

import pytest

pytest.importorskip('rclpy')

from live import discovery, ROOT  # noqa: E402
from rcl_interfaces.msg import ParameterDescriptor  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from sim2real_estimator.config import flattened, load_config  # noqa: E402
from sim2real_estimator.errors import ConfigError  # noqa: E402
from sim2real_estimator.ros.node_parameters import NodeParameters

FILE = str(ROOT / 'config' / 'double_pendulum.yaml')


@pytest.fixture
def make():
    """Return a function from overrides to (node, its parameters, configs that were applied)."""
    context, nodes = Context(), []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in discovery().items():
            patch.setitem(os.environ, name, value)
        context.init()

    def make_node(**overrides):
        given = {'config_file': FILE, **overrides}
        node = Node(
            'parameters_under_test',
            context=context,
            parameter_overrides=[Parameter(name, value=value) for name, value in given.items()],
            automatically_declare_parameters_from_overrides=True,
            start_parameter_services=False,
        )
        nodes.append(node)
        applied = []
        return node, NodeParameters(node, applied.append), applied

    yield make_node
    for node in nodes:
        node.destroy_node()
    context.shutdown()


def test_every_setting_is_a_parameter_with_its_description(make):
    """What the file says is what `ros2 param` shows."""
    node, parameters, _ = make()
    config = parameters.configure()
    assert config == load_config(FILE)
    for name, value in flattened(config).items():
        shown = node.get_parameter(name).value
        assert shown == (list(value) or None if isinstance(value, tuple) else value), name
        descriptor = node.describe_parameter(name)
        assert isinstance(descriptor, ParameterDescriptor)
        assert len(descriptor.description) > 3, name
    assert 's, above 0' in node.describe_parameter('frames.gap').additional_constraints


def test_what_is_given_at_start_counts_more_than_the_file(make):
    """A whole number will do where a fraction may stand."""
    node, parameters, _ = make(**{'frames.max_rate': 40, 'sensors.encoders.sd': 0.002})
    config = parameters.configure()
    assert (config.frames.max_rate, config.sensors['encoders'].sd) == (40.0, 0.002)
    assert node.get_parameter('frames.max_rate').value == 40.0


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('frames.max_rat', 3.0, 'frames.max_rat: there is no such setting'),
        ('frames.max_rate', 'fast', "frames.max_rate: is 'fast'; give a number"),
        ('frames.max_rate', -1.0, 'frames.max_rate: is -1.0; give a value above 0'),
        ('config_file', '', 'config_file: is'),
        ('config_file', 'nowhere.yaml', 'nowhere.yaml: cannot be read'),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(make, name, value, words):
    """Misspelt names are not passed over."""
    _, parameters, _ = make(**{name: value})
    with pytest.raises(ConfigError, match=words):
        parameters.configure()


def test_a_running_node_takes_over_what_it_can(make):
    """What is read once is refused while it runs, and remembered otherwise."""
    node, parameters, applied = make()
    parameters.configure()
    parameters.lock(True)

    (result,) = node.set_parameters([Parameter('samples.count', value=17)])
    assert result.successful
    assert [config.samples.count for config in applied] == [17]

    (result,) = node.set_parameters([Parameter('frames.gap', value=2.0)])
    assert not result.successful
    assert 'is read when the node is configured' in result.reason
    (result,) = node.set_parameters([Parameter('markers.horizon', value=99.0)])
    assert not result.successful
    assert 'at most 10' in result.reason
    assert node.get_parameter('frames.gap').value == 0.5

    parameters.lock(False)
    (result,) = node.set_parameters([Parameter('frames.gap', value=2.0)])
    assert result.successful
    config = parameters.configure()
    assert (config.frames.gap, config.samples.count) == (2.0, 17)
    assert len(applied) == 1
