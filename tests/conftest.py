"""What all tests share: a PostgreSQL of their own, started when the first test needs one."""

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from leaderboard.site import embedded
from leaderboard.site.environment import parse_database_url

_TESTS = Path(__file__).parent
_REAL_PROCESSES = frozenset({"browser", "crash", "end_to_end", "hostile", "load", "scale"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="run what takes many minutes too, such as all hostile models")


class _ByFile(LoadScopeScheduling):
    """A process runs whole files; and one of them all tests with real sites and workers, which share what they start
    and keep more than one core busy."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return "real processes" if Path(path).parts[1] in _REAL_PROCESSES else path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """How tests are spread over processes (`-n 2`)."""
    return _ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Spell out halves of surrogate pairs in captured logs: pytest-xdist cannot send them to the main process."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest group first, so that nothing else waits for it in the end."""
    items.sort(key=lambda item: item.path.relative_to(_TESTS).parts[0] not in _REAL_PROCESSES)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A throw-away PostgreSQL that does not wait for the disk."""
    url = embedded.start(settings.DATA_DIR)
    with psycopg.connect(url, autocommit=True) as connection:
        for option in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {option} = off")
        connection.execute("SELECT pg_reload_conf()")
    yield url
    embedded.stop(settings.DATA_DIR)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres_url: str) -> None:
    """pytest-django's hook to change the database before it makes the test database."""
    settings.DATABASES["default"].update(
        {key: value for key, value in parse_database_url(postgres_url).items() if key != "OPTIONS"}
    )


def pytest_unconfigure() -> None:
    """Remove the data folder of this run."""
    if Path(settings.DATA_DIR).name.startswith("planarena-tests-"):
        shutil.rmtree(settings.DATA_DIR, ignore_errors=True)
