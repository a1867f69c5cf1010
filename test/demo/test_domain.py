"""Who asks for a domain of DDS has it alone."""

import socket

import pytest

from sim2real_estimator.demo import domain as domain_module
from sim2real_estimator.demo.domain import own_domain
from sim2real_estimator.errors import ProcessError


@pytest.fixture
def domains(monkeypatch):
    """Leave three domains to choose from that nobody else can have taken."""
    monkeypatch.setattr(domain_module, '_FIRST_PORT', 6000)
    monkeypatch.setattr(domain_module, '_DOMAINS', range(1, 4))
    return {1, 2, 3}


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
