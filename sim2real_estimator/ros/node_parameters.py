"""The parameters of the node: every setting by its dotted path, which overrides the file."""

from dataclasses import fields

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult

from ..config import declarations, facts_in_words, flattened, load_config, with_values
from ..config.node_settings import StartParameters
from ..errors import ConfigError

_START = tuple(field.name for field in fields(StartParameters))
_WHILE_RUNNING = 'may be set at any time'
_WHEN_CONFIGURED = 'is read when the node is configured'
# rclpy declares these itself.
_OF_ROS = ('use_sim_time', 'start_type_description_service')
_QOS = 'qos_overrides.'


class NodeParameters:
    """
    Declares, checks and keeps the parameters of a node.

    Where the config file and a parameter differ, the parameter counts: one given at start or
    set while the node runs. The node has to be made with
    `automatically_declare_parameters_from_overrides`, so that a misspelt one is noticed.
    """

    def __init__(self, node, apply):
        """Declare the start parameters; apply: is called with a changed `Config`."""
        self._node, self._apply = node, apply
        self._facts, self._is_locked, self._is_own = {}, False, False
        self._chosen, self._qos = self._overrides()
        for name in _START:
            field = StartParameters.__dataclass_fields__[name]
            node.declare_parameter(
                name, self._chosen.pop(name, field.default), _described(field.metadata)
            )
        self.config = None
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take_over)

    def start(self, name):
        """Return the value of one of the `StartParameters`."""
        return self._node.get_parameter(name).value

    def configure(self):
        """Return the `Config` of the file and the parameters; raise a ConfigError if wrong."""
        path = self.start('config_file')
        if not isinstance(path, str) or not path:
            raise ConfigError(
                f'parameter config_file: is {path or "empty"}; give the YAML file of the '
                'settings, as in --ros-args -p config_file:=robot.yaml'
            )
        try:
            config = with_values(load_config(path), self._chosen)
        except ConfigError as error:
            raise ConfigError(f'{error} (parameters at start: {self._in_words()})') from error
        self._declare(config)
        self.config = config
        return config

    def unused_qos(self):
        """Return a sentence for each override of a QoS that no topic of the node has."""
        known = self._node.get_parameters_by_prefix(_QOS.rstrip('.'))
        topics = sorted({name.rsplit('.', 2)[0] for name in known})
        return [
            f'{name}: is given, but the node has no such topic or policy; topics are '
            f'{", ".join(topics)}, by their full names'
            for name in self._qos
            if not self._node.has_parameter(name)
        ]

    def lock(self, is_locked):
        """Refuse changes of settings that are read at configuring, or allow them again."""
        self._is_locked = is_locked

    def _overrides(self):
        """Return (overrides given at start, QoS overrides), and undeclare all of them."""
        given = self._node.get_parameters_by_prefix('')
        chosen, qos = {}, []
        for name, parameter in given.items():
            if name in _OF_ROS:
                continue
            self._node.undeclare_parameter(name)
            if name.startswith(_QOS):
                qos.append(name)
            else:
                chosen[name] = _plain(parameter.value)
        return chosen, qos

    def _in_words(self):
        return ', '.join(f'{name}: {value}' for name, value in self._chosen.items()) or 'none'

    def _declare(self, config):
        """Declare every setting, and nothing else, with its present value."""
        self._is_own = True
        try:
            for name in self._facts:
                self._node.undeclare_parameter(name)
            self._facts = declarations(config)
            for name, value in flattened(config).items():
                # An empty list has no type in ROS.
                value = list(value) or None if isinstance(value, tuple) else value
                about = _described(self._facts[name])
                self._node.declare_parameter(name, value, about, ignore_override=True)
        finally:
            self._is_own = False

    def _check(self, parameters):
        """Return whether parameters may be set to values, and why not."""
        if self._is_own:
            return SetParametersResult(successful=True)
        values = {p.name: _plain(p.value) for p in parameters}
        for name in values:
            if self._is_locked and self._is_read_once(name):
                return SetParametersResult(
                    successful=False,
                    reason=f'{name}: {_WHEN_CONFIGURED}; clean up, set it, and configure again',
                )
        try:
            self._changed(values)
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _is_read_once(self, name):
        if name in self._facts:
            return not self._facts[name].get('dynamic')
        return name in _START

    def _changed(self, values):
        """Return the config with changed settings; raise a ConfigError where they are refused."""
        settings = {name: value for name, value in values.items() if name in self._facts}
        return with_values(self.config, settings) if settings else self.config

    def _take_over(self, parameters):
        """Store the changed settings, and apply them to a running node."""
        values = {p.name: _plain(p.value) for p in parameters if p.name in self._facts}
        if self._is_own or not values:
            return
        self._chosen |= values
        self.config = self._changed(values)
        if self._is_locked:
            self._apply(self.config)


def _described(metadata):
    """Return the descriptor of a setting; its type is checked here, with better words."""
    when = _WHILE_RUNNING if metadata.get('dynamic') else _WHEN_CONFIGURED
    return ParameterDescriptor(
        description=metadata['description'],
        additional_constraints=', '.join([*facts_in_words(metadata), when]),
        dynamic_typing=True,
    )


def _plain(value):
    """Return the value of a parameter with lists in place of arrays."""
    is_scalar = value is None or isinstance(value, (str, bool, int, float))
    return value if is_scalar else list(value)
