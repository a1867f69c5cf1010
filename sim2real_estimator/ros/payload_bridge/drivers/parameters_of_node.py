"""Parameters of any node: rcl_interfaces/srv/SetParameters, read back by GetParameters."""

from dataclasses import dataclass

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
import yaml

from ....errors import ConfigError
from ....records import PAYLOAD_NUMBERS
from ..bridge_rules import Body
from .base import AbstractDriver


@dataclass(frozen=True)
class Entry:
    """The parameter `name` of the node has the value scale * number + offset."""

    name: str
    scale: float = 1.0
    offset: float = 0.0


class ParametersOfNode(AbstractDriver):
    """
    Any node that has the payload among its parameters, of type double.

    service: the name of the node and a YAML map, such as
    `/controller {mass: {parameter: tool.mass}, com.z: {parameter: tool.z, scale: 1000.0}}`.
    All parameters are set at once, or none is, and read back before it counts as done.
    """

    kind = 'parameters'
    service_type = 'rcl_interfaces/srv/SetParametersAtomically'
    needs_rest = False

    def __init__(self, node, service=''):
        """Take the node, and the map."""
        target, _, text = service.partition(' ')
        if not target or not text.strip():
            raise ConfigError(
                f"service: is '{service}'; with driver: parameters it is the name of a node, a "
                'space and a YAML map, as in `/controller {mass: {parameter: tool.mass}}`'
            )
        self._entries = read_map(text)
        super().__init__(node, f'{target}/set_parameters_atomically')
        self._getter = node.create_client(GetParameters, f'{target}/get_parameters')

    def _type(self):
        return SetParametersAtomically

    @property
    def is_ready(self):
        """Whether both services are there."""
        return self._client.service_is_ready() and self._getter.service_is_ready()

    def request(self, body, seconds):
        """Return the request that sets a `Body`; there is no transition."""
        parameters = []
        for number, entry in self._entries.items():
            value = entry.scale * body.numbers[PAYLOAD_NUMBERS.index(number)] + entry.offset
            wrapped = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
            parameters.append(Parameter(name=entry.name, value=wrapped))
        return SetParametersAtomically.Request(parameters=parameters)

    def answer(self, response):
        """Return (whether a response says that it was accepted, text)."""
        return response.result.successful, response.result.reason

    def send(self, body, seconds, then):
        """Set a payload, and read it back."""

        def read_back(is_good, text, _):
            if not is_good:
                then(False, text, None)
                return
            self._get(lambda found: self._compare(body, found, then))

        super().send(body, seconds, read_back)

    def _compare(self, body, found, then):
        """Tell whether the parameters found are those of a body."""
        if found is None:
            then(False, 'its parameters cannot be read back', None)
            return
        # Numbers that the node does not have are as they were sent.
        numbers = [found.get(name, x) for name, x in zip(PAYLOAD_NUMBERS, body.numbers)]
        then(True, '', Body(tuple(numbers)))

    def read(self, then):
        """Ask for the payload that the node has; numbers that it does not have are zero."""

        def hear(found):
            if found is None:
                then(None)
                return
            then(Body(tuple(found.get(name, 0.0) for name in PAYLOAD_NUMBERS)))

        self._get(hear)

    def _get(self, then):
        """Call with number -> value in our units, None where a parameter cannot be read."""
        names = [entry.name for entry in self._entries.values()]
        future = self._getter.call_async(GetParameters.Request(names=names))

        def hear(done):
            values = done.result().values if done.exception() is None else ()
            if [v.type for v in values] != [ParameterType.PARAMETER_DOUBLE] * len(names):
                then(None)
                return
            pairs = zip(self._entries.items(), values)
            then({n: (v.double_value - e.offset) / e.scale for (n, e), v in pairs})

        future.add_done_callback(hear)


def read_map(text):
    """Return number -> `Entry` of the text of a YAML map; a ConfigError says what is wrong."""
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f'service: the map is no YAML: {error}') from error
    if not isinstance(found, dict) or not found:
        raise ConfigError(f'service: {text} is no map; write {{mass: {{parameter: NAME}}}}')
    entries = {}
    for number, wish in found.items():
        if number not in PAYLOAD_NUMBERS:
            raise ConfigError(
                f"service: '{number}' is no number of a payload; choose from "
                f'{", ".join(PAYLOAD_NUMBERS)}'
            )
        try:
            name = wish['parameter']
            scale, offset = float(wish.get('scale', 1.0)), float(wish.get('offset', 0.0))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(
                f"service: '{number}' has {wish}; write {{parameter: NAME, scale: 1.0, offset: "
                '0.0}'
            ) from error
        unknown = set(wish) - {'parameter', 'scale', 'offset'}
        if unknown or not scale or not isinstance(name, str):
            raise ConfigError(
                f"service: '{number}' has {wish}; it takes parameter, scale (not 0) and offset"
            )
        entries[number] = Entry(name, scale, offset)
    if 'mass' not in entries:
        raise ConfigError('service: the map has no mass; a payload without mass is none')
    return entries
