"""Fixtures of the site's tests."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from django.db import connections, transaction

from leaderboard.operations.monitoring.facts import BROKER
from leaderboard.platform.celery import app
from leaderboard.platform.lru_cache import clear_all
from leaderboard.platform.probes import forget_probes
from tests.fakes.launcher import FakeLauncher, reset_launcher


@pytest.fixture
def launcher() -> FakeLauncher:
    """The launcher that the site uses in this test, with nothing started yet."""
    return reset_launcher()


@pytest.fixture
def own_store(settings, tmp_path: Path, launcher: FakeLauncher) -> Path:
    """The folder of an empty store, and a launcher with nothing started."""
    settings.STORE_DIR = tmp_path / "store"
    return settings.STORE_DIR


@pytest.fixture
def celery_messages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Messages to Celery that this test sends: name of the task, and its arguments."""
    app.loader.import_default_modules()
    sent: list[tuple[str, ...]] = []

    def send_task(name: str, args: Sequence[str] = (), *, retry: bool) -> None:
        assert name in app.tasks, f"there is no task {name}"
        assert not retry, "a request does not wait for the broker"
        sent.append((name.rpartition(".")[2], *args))

    monkeypatch.setattr(app, "send_task", send_task)
    return sent


@pytest.fixture(scope="module")
def module_rows(django_db_setup: None, django_db_blocker) -> Iterator[None]:
    """For fixtures of modules that make rows: all tests of the module read them, and what a test changes is undone.

    Not for modules whose tests commit (`transaction=True`).
    """
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch, transaction.atomic():
        # Each test ends by closing its connection, which is this one.
        patch.setattr(connections["default"], "close", lambda: None)
        yield
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def nothing_kept_in_memory() -> Iterator[None]:
    """Each test begins with processes that remember no suite and no evaluation: its database is another one."""
    yield
    clear_all()
    forget_probes()
    BROKER.forget()


@pytest.fixture
def broker(settings):
    """Uses another broker."""
    before = {name: app.conf[name] for name in ("broker_url", "broker_transport_options")}

    def use(url: str, **options):
        settings.CELERY_BROKER_TRANSPORT_OPTIONS = options
        app.conf.update(broker_url=url, broker_transport_options=options)

    yield use
    app.conf.update(before)
