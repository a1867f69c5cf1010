"""A body that the robot holds from the beginning, and the frame in which its payload is given."""

from dataclasses import replace
import math

import numpy as np

from ..errors import ConfigError
from ..model.body_numbers import about_frame, at_centre
from ..model.inertia_checks import fault_of
from ..model.tree import Inertial


def with_held_body(model, settings):
    """Return the model of a robot that holds the known body of a `PayloadConfig`, if any."""
    body = _known_body(settings)
    if body is None:
        return model
    link = require_moving(model, settings.link)
    own, known = link.inertial or Inertial(0.0, (0.0,) * 3, (0.0,) * 6), _numbers(body)
    mass, centre, inertia = at_centre(_numbers(own) + known)
    together = Inertial(float(mass), tuple(centre.tolist()), tuple(inertia.tolist()))
    links = (replace(each, inertial=together) if each is link else each for each in model.links)
    return replace(model, links=tuple(links))


def known_numbers(settings):
    """Return the ten numbers of the known body about the frame of its link, None without one."""
    body = _known_body(settings)
    return None if body is None else _numbers(body)


def frame_on_link(model, settings):
    """
    Return (rotation [3, 3], origin [3] in m) of the payload's frame in the frame of its link.

    (None, None) where it is that frame.
    """
    if not settings.frame or settings.frame == settings.link:
        return None, None
    if not settings.link:
        raise ConfigError(
            f"payload.frame: is '{settings.frame}', but no link is named that it is fixed to; "
            'name the link that holds the payload in payload.link'
        )
    poses = []
    for key in ('link', 'frame'):
        name = getattr(settings, key)
        require_moving(model, name, key)
        poses.append((model.attachments[name].body, *_pose(model.attachments[name].joints)))
    (body, rotation, origin), (other, turned, at) = poses
    if body != other:
        raise ConfigError(
            f"payload.frame: '{settings.frame}' is not fixed to '{settings.link}': a joint is "
            'between them; name a link that moves with it'
        )
    return rotation.T @ turned, rotation.T @ (at - origin)


def _pose(joints):
    """Return (rotation [3, 3], origin [3]) after a chain of fixed joints."""
    rotation, origin = np.eye(3), np.zeros(3)
    for joint in joints:
        origin = origin + rotation @ np.array(joint.origin, dtype=float)
        rotation = rotation @ np.array([list(row) for row in joint.rotation.rows], dtype=float)
    return rotation, origin


def _known_body(settings):
    """Return the known body as `Inertial`, None where there is none."""
    for key, size in (('com', 3), ('inertia', 6)):
        numbers = getattr(settings, key)
        if len(numbers) != size or not all(map(math.isfinite, numbers)):
            raise ConfigError(
                f'payload.{key}: {list(numbers)} are not {size} numbers; give {size}'
            )
    if not settings.mass:
        if any(settings.com) or any(settings.inertia):
            raise ConfigError('payload.mass: is missing; give the mass of the body in kg')
        return None
    body = Inertial(settings.mass, settings.com, settings.inertia)
    if any(settings.inertia) and (fault := fault_of(body)):
        raise ConfigError(f'payload.inertia: {fault}')
    return body


def _numbers(inertial):
    """Return the ten numbers of an `Inertial` about the frame of its link."""
    return about_frame(
        np.array(inertial.mass), np.array(inertial.centre), np.array(inertial.inertia)
    )


def require_moving(model, name, key='link'):
    """Return the link of that name; a ConfigError where no such link moves; key: the setting."""
    known = {link.name: link for link in model.links}
    moving = [each for each in known if model.attachments[each].body >= 0]
    if name not in moving:
        what = 'is missing' if not name else f"is '{name}', which is no link that moves"
        raise ConfigError(f'payload.{key}: {what}; choose from {", ".join(sorted(moving))}')
    return known[name]
