import pytest
import torch


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Models of this size only lose by threads that wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
