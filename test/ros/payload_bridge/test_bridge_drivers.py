"""What the drivers of the payload bridge are sent, in every published layout of their services."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Inertia, InertiaStamped, Vector3
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import SetBool

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.ros.payload_bridge.bridge_rules import Body
from sim2real_estimator.ros.payload_bridge.drivers import AbstractDriver, DRIVERS
from sim2real_estimator.ros.payload_bridge.drivers.parameters_of_node import read_map

BODY = Body((1.5, 0.01, 0.02, 0.1, 1e-3, 1e-4, 2e-4, 2e-3, 3e-4, 3e-3))
INERTIA = dict(zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), BODY.inertia))


def layout(**fields):
    """Return a class of requests with these fields: name -> (type in words, maker)."""

    class Request:
        def __init__(self):
            for name, (_, make) in fields.items():
                setattr(self, name, make())

        def get_fields_and_field_types(self):
            return {name: word for name, (word, _) in fields.items()}

    return Request


NUMBER = 'double', float
SIX = dict.fromkeys(INERTIA, NUMBER)
MASS = {'mass': ('float', float), 'center_of_gravity': ('geometry_msgs/Vector3', Vector3)}


def sent(kind, request):
    """Return the request that a kind of driver makes of that class, for 0.25 s."""
    driver = object.__new__(DRIVERS[kind])
    driver._client = SimpleNamespace(srv_type=SimpleNamespace(Request=request))
    return driver.request(BODY, 0.25)


def test_universal_robots_of_humble_takes_mass_and_centre():
    made = sent('universal_robots', layout(**MASS))
    centre = made.center_of_gravity
    assert made.mass == 1.5 and (centre.x, centre.y, centre.z) == BODY.com
    assert not hasattr(made, 'ixx')


def test_universal_robots_of_jazzy_takes_inertia_and_time():
    time = 'builtin_interfaces/Duration', lambda: Duration().to_msg()
    made = sent('universal_robots', layout(**MASS, **SIX, transition_time=time))
    assert {name: getattr(made, name) for name in INERTIA} == INERTIA
    assert made.mass == 1.5 and made.transition_time == Duration(seconds=0.25).to_msg()


def test_universal_robots_of_rolling_takes_an_inertia():
    whole = layout(payload=('geometry_msgs/Inertia', Inertia), transition_time=NUMBER)
    made = sent('universal_robots', whole)
    assert made.payload.m == 1.5 and made.payload.com.z == 0.1 and made.transition_time == 0.25
    assert {name: getattr(made.payload, name) for name in INERTIA} == INERTIA


def test_franka_takes_a_matrix():
    made = sent(
        'franka',
        layout(mass=NUMBER, center_of_mass=('double[3]', list), load_inertia=('double[9]', list)),
    )
    xx, xy, xz, yy, yz, zz = BODY.inertia
    assert made.mass == 1.5 and made.center_of_mass == list(BODY.com)
    assert made.load_inertia == [xx, xy, xz, xy, yy, yz, xz, yz, zz]


def test_franka_takes_an_inertia():
    whole = layout(load_inertia=('geometry_msgs/InertiaStamped', InertiaStamped))
    inertia = sent('franka', whole).load_inertia.inertia
    assert inertia.m == 1.5 and inertia.com.x == 0.01
    assert {name: getattr(inertia, name) for name in INERTIA} == INERTIA


def test_answers_are_read():
    robot, arm = object.__new__(DRIVERS['universal_robots']), object.__new__(DRIVERS['franka'])
    assert robot.answer(SimpleNamespace(success=True)) == (True, '')
    assert robot.answer(SimpleNamespace(success=False))[1]
    assert arm.answer(SimpleNamespace(success=False, error='moving')) == (False, 'moving')


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        ('{mass', 'no YAML'),
        ('7', 'no map'),
        ('{weight: {parameter: a}}', "'weight' is no number"),
        ('{mass: tool.mass}', 'write {parameter'),
        ('{mass: {parameter: a, scale: 0.0}}', 'not 0'),
        ('{mass: {parameter: a, factor: 2.0}}', 'takes parameter'),
        ('{mass: {parameter: a, scale: heavy}}', 'write {parameter'),
        ('{com.x: {parameter: a}}', 'no mass'),
    ],
)
def test_maps_that_cannot_be_are_refused(text, why):
    with pytest.raises(ConfigError, match=why):
        read_map(text)


class Switch(AbstractDriver):
    """A driver of an installed type: on for any mass."""

    kind, service_type, service = 'switch', 'std_srvs/srv/SetBool', '/arm/switch'

    def request(self, body, seconds):
        return SetBool.Request(data=body.mass > 0)

    def answer(self, response):
        return response.success, response.message


def test_a_service_is_called_and_its_answer_heard_over_dds(client):
    context, heard = client.node.context, []
    arm, bridge = (Node(name, context=context) for name in ('arm', 'bridge'))
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(arm)
    executor.add_node(bridge)

    def serve(request, response):
        response.success, response.message = request.data, '' if request.data else 'empty'
        return response

    def spin(until):
        client.wait(lambda: executor.spin_once(timeout_sec=0) or until(), 'the switch')

    try:
        driver = Switch(bridge)
        assert not driver.is_ready
        service = arm.create_service(SetBool, '/arm/switch', serve)
        spin(lambda: driver.is_ready)
        for body, expected in ((BODY, (True, '', None)), (Body(), (False, 'empty', None))):
            heard.clear()
            driver.send(body, 0.1, lambda *answer: heard.append(answer))
            spin(lambda: heard)
            assert heard == [expected]
        arm.destroy_service(service)
        spin(lambda: not driver.is_ready)
    finally:
        executor.shutdown()
        arm.destroy_node()
        bridge.destroy_node()
