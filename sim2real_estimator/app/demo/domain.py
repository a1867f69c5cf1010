"""A DDS domain that no other process on this computer uses."""

from contextlib import contextmanager, suppress
import random
import socket

from ...errors import ProcessError

_HERE = '127.0.0.1'
# Domains above 101 use ports that Linux gives to others.
_DOMAINS = range(1, 102)
# By the standard, a domain has the ports from 7400 + 250 times its number on, and its first
# participant has the tenth of them. They are of UDP: the same one of TCP tells who has taken it.
_FIRST_PORT, _PORTS_EACH, _PARTICIPANT = 7400, 250, 10


@contextmanager
def own_domain():
    """Yield the number of a free domain, and keep it reserved until the end."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sign:
        for domain in random.sample(_DOMAINS, len(_DOMAINS)):
            if _take(domain, sign):
                break
        else:
            raise ProcessError(
                f'domains {_DOMAINS[0]} to {_DOMAINS[-1]} are all in use on this computer; end '
                'some of the ROS programs that run here'
            )
        yield domain


def _take(domain, sign):
    """Take the domain by giving its port to the sign, and tell whether it was free."""
    port = _FIRST_PORT + _PORTS_EACH * domain
    # Refused where somebody has it: another who asked here, any program of ROS, or a server.
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind((_HERE, port + _PARTICIPANT))
        sign.bind((_HERE, port))
        return True
    return False


def environment(domain):
    """Return the variables with which a process talks in that domain, on this computer only."""
    return {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_DOMAIN_ID': str(domain)}
