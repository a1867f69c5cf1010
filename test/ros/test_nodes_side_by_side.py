"""Several nodes on one computer, in namespaces and domains of their own."""

from contextlib import ExitStack
import signal

import pytest
from simulated import CONFIG, record

pytest.importorskip('rclpy')

from live import Client, DOMAIN, node_process, OTHER_DOMAIN
from recordings import joint_state, SECOND, stamp_ns
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from waiting import PATIENCE

# Namespace, domain, and how many messages its robot sends, a number of its own each.
PLACES = {'left': ('/left', DOMAIN, 30), 'right': ('/right', DOMAIN, 40)}
PLACES['elsewhere'] = ('/left', OTHER_DOMAIN, 50)


class Place:
    """A node, its robot, and what is heard of it."""

    def __init__(self, stack, name, folder):
        """Start the node; the stack ends it."""
        self.namespace, domain, self.number = PLACES[name]
        self.output = folder / name
        self.client = Client(name, domain, self.namespace)
        stack.callback(self.client.close)
        self.process = stack.enter_context(
            node_process(CONFIG, self.output, '-r', f'__ns:={self.namespace}', domain=domain)
        )
        self.topic = f'{self.namespace}/joint_states'
        # Long after each other, so that nobody takes one for another.
        self.first_ns = 10**18 + self.number * 10**6 * SECOND

    def send(self):
        """Send what the robot measures."""
        client = self.client
        client.wait(lambda: client.status('worker'), 'the node')
        client.wait(lambda: client.status('worker')[1] == 'running', 'its worker')
        publisher, recording = client.publisher(JointState, self.topic), record(1.0)
        rows = [*zip(recording.stamps, recording.angles, recording.torques)][: self.number]
        for stamp, *rest in rows:
            publisher.publish(joint_state(stamp - rows[0][0] + self.first_ns, *rest))

    def see(self):
        """See that the node has had all that its robot sent, and nothing else."""
        client = self.client
        sources = [f'samples of {name}' for name in ('encoders', 'commanded_efforts')]
        client.wait(
            lambda: client.health['worker']['messages taken'] == str(2 * self.number), 'the data'
        )
        assert client.health[f'input {self.topic}']['messages'] == str(self.number)
        assert not {'late', 'jumped back', 'gap'} & {k for s in sources for k in client.health[s]}
        client.wait(lambda: client.estimates, 'an estimate')
        assert {(stamp_ns(e) - self.first_ns) // SECOND for e in client.estimates} == {0}

    def is_enabled(self):
        """Return what the next diagnostics say."""
        self.client.forget()
        self.client.wait(lambda: self.client.status('node'), 'diagnostics')
        return self.client.health['node']['enabled']

    def see_disabled(self):
        """Wait until diagnostics say so: what is heard next may have been said before."""
        self.client.wait(lambda: self.client.health['node']['enabled'] == 'False', 'disabled')


def test_nodes_in_other_namespaces_and_domains_know_nothing_of_each_other(tmp_path):
    with ExitStack() as stack:
        places = {name: Place(stack, name, tmp_path) for name in PLACES}
        for place in places.values():
            place.send()
        for place in places.values():
            place.see()
        left, *others = places.values()
        assert left.client.call(SetBool, 'set_enabled', data=False).success
        left.see_disabled()
        assert [place.is_enabled() for place in others] == ['True', 'True']
        left.process.kill()
        left.process.wait(PATIENCE)
        for place in others:
            assert place.client.call(SetBool, 'set_enabled', data=True).success
            place.see()
            place.process.send_signal(signal.SIGINT)
        assert [place.process.wait(PATIENCE) for place in others] == [0, 0]
    for place in others:
        said = place.output.read_text()
        assert 'Traceback' not in said and '[ERROR]' not in said
