"""One thread for all tests of this folder: more only wait for each other on arrays this small."""

import os

os.environ.setdefault('OMP_NUM_THREADS', '1')

import pytest  # noqa: E402, the line above has to come before torch
import torch  # noqa: E402


@pytest.fixture(scope='session', autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
