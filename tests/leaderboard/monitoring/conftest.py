"""What tests of figures share."""

import pytest

from gpu_jobs.launchers.pools import pools_from
from leaderboard.site.celery import app


@pytest.fixture
def pools(settings):
    """Pools of workers."""
    settings.WORKER_POOLS = pools_from('[{"name": "gpu"}, {"name": "models", "takes": ["executed", "models"]}]')


@pytest.fixture
def broker(settings):
    """Uses another broker."""
    before = {name: app.conf[name] for name in ("broker_url", "broker_transport_options")}

    def use(url: str, **options):
        settings.CELERY_BROKER_TRANSPORT_OPTIONS = options
        app.conf.update(broker_url=url, broker_transport_options=options)

    yield use
    app.conf.update(before)


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
