"""A recording, and the settings it is identified by."""

import pytest
import swinging
import torch


@pytest.fixture(scope='package', autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope='package')
def config():
    return swinging.config()


@pytest.fixture(scope='package')
def bag(tmp_path_factory):
    return swinging.bag(tmp_path_factory.mktemp('recorded') / 'swing')
