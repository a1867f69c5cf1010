"""Franka: franka_msgs/srv/SetLoad of franka_hardware."""

from .base import AbstractDriver

# Row and column of xx, xy, xz, yy, yz, zz.
_PLACES = (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)


class Franka(AbstractDriver):
    """
    Mass, centre of mass and inertia about it, in the frame of the flange.

    libfranka sets a load only while no motion or controller runs. Of the two layouts the newer one
    has an InertiaStamped.
    """

    kind = 'franka'
    service_type = 'franka_msgs/srv/SetLoad'
    service = '/service_server/set_load'
    needs_rest = True

    def request(self, body, seconds):
        """Return the request that sets a `Body`; there is no transition."""
        request = self._client.srv_type.Request()
        fields = request.get_fields_and_field_types()
        if 'mass' in fields:
            request.mass, request.center_of_mass = body.mass, list(body.com)
            matrix = [0.0] * 9
            for (row, column), value in zip(_PLACES, body.inertia):
                matrix[3 * column + row] = matrix[3 * row + column] = value
            request.load_inertia = matrix
            return request
        inertia = request.load_inertia.inertia
        inertia.m, (inertia.com.x, inertia.com.y, inertia.com.z) = body.mass, body.com
        for name, value in zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), body.inertia):
            setattr(inertia, name, value)
        return request

    def answer(self, response):
        """Return (whether a response says that it was accepted, text)."""
        return response.success, response.error
