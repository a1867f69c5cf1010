"""The parameters of the payload bridge, declared once: name, default, description."""

from rcl_interfaces.msg import ParameterDescriptor

from ...errors import ConfigError
from ...records import PAYLOAD_NUMBERS
from .bridge_rules import Body, Limits

# Below zero: the rule does not apply.
_NONE = -1.0
PARAMETERS = {
    'driver': ('', 'which driver: universal_robots, franka or parameters'),
    'service': ('', 'its service, empty: the usual one; of parameters: node and map'),
    'dry_run': (True, 'only log what would be set; false: set it'),
    'estimator': ('/sim2real_estimator', 'name of the node that estimates'),
    'joint_states': ('joint_states', 'topic with the velocities of the joints'),
    'frame': ('', 'frame in which the driver wants payloads; those in others are refused'),
    'transition_time': (0.2, 'of one step, where the driver has a transition [s]'),
    'previous.mass': (0.0, 'what the driver has at the start, and gets back [kg]'),
    'previous.com': ([0.0] * 3, 'its centre of mass [m]'),
    'previous.inertia': ([0.0] * 6, 'xx, xy, xz, yy, yz, zz about that centre [kg m^2]'),
    'adds': (True, 'whether the estimate comes on top of that'),
    'probability': (0.95, 'of the cause of a change, at least'),
    'mass_sd': (0.05, 'standard deviation of the mass, at most [kg]'),
    'com_sd': ([0.02] * 3, 'of the centre, x, y, z, at most [m]'),
    'most_mass': (5.0, 'largest mass that is ever set [kg]'),
    'most_com': (0.5, 'largest distance of the centre along an axis [m]'),
    'dead_band_mass': (0.02, 'smaller differences are not set [kg]'),
    'dead_band_com': (0.005, 'smaller differences are not set [m]'),
    'mass_step': (0.5, 'largest change of the mass by one call [kg]'),
    'com_step': (0.05, 'largest change of the centre by one call [m]'),
    'interval': (0.2, 'shortest time between calls [s]'),
    'settle': (0.2, 'so long an estimate has to be usable first [s]'),
    'stale_after': (5.0, 'without estimates for so long, the previous payload is restored [s]'),
    'revoked_after': (2.0, 'the same where the estimate is not valid for so long [s]'),
    'rest_speed': (_NONE, 'of all joints, at most; below 0: as the driver asks for [rad/s]'),
    'rest_for': (0.3, 'for so long [s]'),
    'answer_within': (2.0, 'a call without an answer for so long has failed [s]'),
    'retry_after': (2.0, 'after a call that failed [s]'),
    'retries': (3, 'calls that fail in a row, before none is made until ~/resume'),
}
# At rest is slower than this, where a driver asks for rest and no speed is set [rad/s].
_REST = 0.01
_OF_NODE = ('driver', 'service', 'dry_run', 'estimator', 'joint_states', 'transition_time')


def declared(node):
    """Return name -> value of all parameters, declared by a node."""
    found = {}
    for name, (default, text) in PARAMETERS.items():
        about = ParameterDescriptor(description=text, read_only=True)
        value = node.declare_parameter(name, default, about).value
        if isinstance(default, list) and len(value) != len(default):
            raise ConfigError(f'{name}: {list(value)} has to have {len(default)} numbers')
        found[name] = value
    return found


def limits_of(values, needs_rest):
    """Return the `Limits` of parameter values; needs_rest: of the driver."""
    if not values['frame']:
        raise ConfigError(
            'frame: is empty; name the frame in which the driver wants payloads, as '
            'payload.frame or payload.link of the estimator does'
        )
    rest = values['rest_speed']
    if rest < 0:
        rest = _REST if needs_rest else None
    rest_is_set = {'rest_speed': rest}
    plain = set(Limits.__dataclass_fields__) - set(rest_is_set)
    chosen = {name: values[name] for name in plain}
    chosen['com_sd'] = tuple(chosen['com_sd'])
    for name in ('mass_sd', 'most_mass', 'mass_step', 'com_step', 'stale_after', 'answer_within'):
        if not chosen[name] > 0:
            raise ConfigError(f'{name}: is {chosen[name]:g}; it has to be above zero')
    return Limits(**chosen, **rest_is_set)


def previous_of(values):
    """Return the `Body` that the driver has at the start."""
    numbers = values['previous.mass'], *values['previous.com'], *values['previous.inertia']
    if len(numbers) != len(PAYLOAD_NUMBERS) or not numbers[0] >= 0:
        raise ConfigError(f'previous.mass: is {numbers[0]:g}; give zero or more')
    return Body(tuple(map(float, numbers)))
