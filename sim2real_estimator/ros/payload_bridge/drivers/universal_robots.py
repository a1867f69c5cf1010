"""Universal Robots: ur_msgs/srv/SetPayload of ur_robot_driver's io_and_status_controller."""

from .base import AbstractDriver

_NANO = 10**9
_INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


class UniversalRobots(AbstractDriver):
    """
    Mass, centre of gravity and inertia about it, in the frame of the tool flange.

    The service has had three layouts: mass and centre alone (Humble), with six entries of inertia
    and a transition time after them (Jazzy), and an Inertia with a transition time (Rolling).
    """

    kind = 'universal_robots'
    service_type = 'ur_msgs/srv/SetPayload'
    service = '/io_and_status_controller/set_payload'
    needs_rest = False

    def request(self, body, seconds):
        """Return the request that sets a `Body`, with those of its fields that there are."""
        request = self._client.srv_type.Request()
        fields = request.get_fields_and_field_types()
        if 'payload' in fields:
            inertia = request.payload
            inertia.m, centre = body.mass, inertia.com
        else:
            inertia, request.mass, centre = request, body.mass, request.center_of_gravity
        centre.x, centre.y, centre.z = body.com
        if 'payload' in fields or _INERTIA[0] in fields:
            for name, value in zip(_INERTIA, body.inertia):
                setattr(inertia, name, value)
        if 'transition_time' in fields:
            if fields['transition_time'] == 'double':
                request.transition_time = seconds
            else:
                whole = round(seconds * _NANO)
                duration = request.transition_time
                duration.sec, duration.nanosec = divmod(whole, _NANO)
        return request

    def answer(self, response):
        """Return (whether a response says that it was accepted, text)."""
        return response.success, '' if response.success else 'the robot refused the payload'
