"""Somebody to talk to the node, if there is ROS."""

import os

import pytest


@pytest.fixture(scope='module')
def client():
    """Return a `Client` in the domain of the test."""
    pytest.importorskip('rclpy')
    from live import Client, discovery

    with pytest.MonkeyPatch.context() as patch:
        for name, value in discovery().items():
            patch.setitem(os.environ, name, value)
        client = Client()
        yield client
        client.close()
