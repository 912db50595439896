"""Tiny models are fastest on one thread, and on a busy machine by far."""

import sys

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
