"""Who asks for a domain of DDS has it alone."""

from contextlib import ExitStack
import os
import socket

import pytest

from sim2real_estimator.app.demo import domain as domain_module
from sim2real_estimator.app.demo.domain import own_domain
from sim2real_estimator.errors import ProcessError


@pytest.fixture
def domains(monkeypatch):
    """Leave three domains to choose from that nobody else has taken."""
    monkeypatch.setattr(domain_module, '_DOMAINS', range(1, 4))
    # The same tests may run beside these, or anything else that listens.
    for first in range(10_000 + os.getpid() % 5000, 30_000):
        if all(map(is_free, (first + 250 * domain for domain in (1, 2, 3)))):
            break
    monkeypatch.setattr(domain_module, '_FIRST_PORT', first)
    return {1, 2, 3}


def is_free(port):
    """Tell whether the ports of a domain, the first of which this is, are free."""
    try:
        with ExitStack() as stack:
            for kind, number in ((socket.SOCK_STREAM, port), (socket.SOCK_DGRAM, port + 10)):
                stack.enter_context(socket.socket(socket.AF_INET, kind)).bind(('', number))
    except OSError:
        return False
    return True


def test_each_has_another_and_gives_it_back(domains):
    with own_domain() as one, own_domain() as two, own_domain() as three:
        assert {one, two, three} == domains
        with pytest.raises(ProcessError, match='domains 1 to 3 are all in use'), own_domain():
            pass
    with own_domain() as again:
        assert again in domains


def test_a_domain_in_which_somebody_speaks_is_not_taken(domains):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        port = domain_module._FIRST_PORT + 2 * 250 + 10
        participant.bind(('127.0.0.1', port))
        with own_domain() as one, own_domain() as other:
            assert {one, other} == domains - {2}
