import sys

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Models of this size only lose by threads that wait for each other."""
    torch = sys.modules.get("torch")
    before = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(1)
    yield
    if torch:
        torch.set_num_threads(before)
