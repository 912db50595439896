"""What tests of figures share."""

import pytest

from gpu_jobs.launchers.pools import pools_from


@pytest.fixture
def pools(settings):
    """Pools of workers."""
    settings.WORKER_POOLS = pools_from('[{"name": "gpu"}, {"name": "models", "takes": ["executed", "models"]}]')


@pytest.fixture
def file_broker(broker, tmp_path):
    """The broker of an installation on one machine."""
    messages = str(tmp_path / "messages")
    (tmp_path / "messages").mkdir()
    broker(
        "filesystem://localhost//",
        data_folder_in=messages,
        data_folder_out=messages,
        control_folder=str(tmp_path / "control"),
    )
    return tmp_path / "messages"


@pytest.fixture
def everything(own_store, pools, file_broker):
    """A site that gives every figure."""
