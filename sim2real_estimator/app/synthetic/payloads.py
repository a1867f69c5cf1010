"""Bodies that a link carries, added to it exactly."""

from ...errors import ConfigError
from ...model.inertia_checks import fault_of
from ...model.tree import Inertial
from ...spatial.inertia import BodyInertia, Symmetric3
from ...spatial.vector import Vec3


def check_payload(name, payload, parameters):
    """Refuse a `PayloadConfig` that cannot be attached to a link of the robot."""
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
