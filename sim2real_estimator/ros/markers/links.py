"""Links as they are estimated to be: their joints, where their mass is, and how sure that is."""

import numpy as np

from ...model.robot import joint_origin, link_inertia
from ...prediction.forecast import link_ends
from ...spatial.inertia import complement_of_trace
from .shapes import ball, principal, rod

_SKELETON, _SOLID, _CENTRE, _DOUBT = 'links', 'inertia', 'centres of mass', '2 sigma'
# In parts of the robot's size.
_THICKNESS, _DOT, _NEEDLE = 0.015, 0.008, 0.004
_FAINT, _HALF = 0.25, 0.5
_SIGMAS = 2.0
# Second moment of a solid ellipsoid about its centre: this part of mass times squared radius.
_SOLID_SHARE = 0.2


def link_markers(view):
    """Return the markers of all links that move, each in the frame of its link."""
    markers = []
    for number, link in enumerate(view.parameters.model.links):
        if view.parameters.model.attachments[link.name].body >= 0:
            look = view.look_of_owner(link.name)
            markers += _skeleton(view, number, link.name, look)
            markers += _mass(view, number, link.name, look)
    return markers


def _skeleton(view, number, link, look):
    """Return rods from the link's own joint to those that hang on it, or to its end."""
    parameters, size = view.parameters, view.size
    ends = {
        len(parameters.model.links) + k: joint_origin(parameters, joint, view.values)
        for k, joint in enumerate(parameters.model.joints)
        if joint.parent == link
    }
    free_end = link_ends(parameters, view.values).get(link)
    ends |= {} if free_end is None else {number: free_end}
    return [
        rod(_SKELETON, k, link, (0, 0, 0), tuple(end), _THICKNESS * size, look.color(_HALF))
        for k, end in ends.items()
        if np.linalg.norm([*end]) > _DOT * size
    ]


def _mass(view, number, link, look):
    """Return the ellipsoid of the link's mass, its centre, and the ball that holds that."""
    body = link_inertia(view.parameters, link, view.values)
    if not body.mass > 0:
        return []
    centre = np.array([*body.first_moment]) / body.mass
    about_origin = np.array([[*row] for row in complement_of_trace(body.rotational).rows()])
    axes, moments = principal(about_origin / body.mass - np.outer(centre, centre))
    radii = np.sqrt(moments / _SOLID_SHARE)
    dot = [_DOT * view.size] * 3
    markers = [
        ball(_SOLID, number, link, centre, axes, radii, look.color(_FAINT)),
        ball(_CENTRE, number, link, centre, np.eye(3), dot, look.color()),
    ]
    spread = _spread(view, link)
    if spread is not None:
        mean, covariance = spread
        axes, variances = principal(covariance)
        # Across what is not estimated the ball would be too thin to be seen.
        radii = np.maximum(_SIGMAS * np.sqrt(variances), _NEEDLE * view.size)
        markers.append(ball(_DOUBT, number, link, mean, axes, radii, look.color(_HALF)))
    return markers


def _spread(view, link):
    """Return mean [3] and covariance [3, 3] of the centre of mass, None where it is not drawn."""
    if not any(name.startswith((f'{link}.com.', f'{link}.length')) for name in view.draws):
        return None
    body = link_inertia(view.parameters, link, view.drawn_values)
    rows = np.broadcast_arrays(*(x / body.mass for x in body.first_moment), view.zeros)[:3]
    return np.mean(rows, 1), np.cov(rows)
