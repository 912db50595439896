"""What all tests share: a PostgreSQL of their own, started when the first test needs one."""

import gc
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from pytest_django import DjangoDbBlocker
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.database import cluster, connect_django, make_database

_FULL_MODULE = re.compile(r"^pytestmark = .*\bpytest\.mark\.full\b", re.MULTILINE)
_TESTS = Path(__file__).parent
_REAL_PROCESSES = ("end_to_end", "hostile", "browser", "crash", "load", "scale")
"""Folders of tests with real sites, workers and browsers, the longest first."""
_TOGETHER = (*_REAL_PROCESSES, "k8s")
"""And folders whose tests share what takes long to make. All of them come first, since each is run by one process."""

_KEPT = frozenset({"auth_permission", "django_content_type"})
"""Tables that migrations fill."""

# No process that a test starts leaves one behind.
os.environ["PLANARENA_DAEMON"] = "off"

# Equal commits run equal examples. A machine may be busy: how long an example takes says nothing about it.
hypothesis_settings.register_profile(
    "shared", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("shared")
# Nor constants of the modules that happen to be loaded: which these are depends on the tests before, and each process
# would parse all of them.
providers._get_local_constants = Constants


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run the tests that are marked `full`; takes hours")


def _is_full(config: pytest.Config) -> bool:
    """Whether tests marked `full` run: in a full run, and where somebody chose tests by name."""
    named = bool(config.option.keyword) or any("::" in argument or argument.endswith(".py") for argument in config.args)
    return named or bool(config.getoption("--full"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import modules that are marked `full` as a whole, nor what only they need."""
    return True if not _is_full(config) and _is_left_out(collection_path) else None


@cache
def _is_left_out(path: Path) -> bool:
    modules = list(path.rglob("test_*.py")) if path.is_dir() else [path] if path.suffix == ".py" else []
    return bool(modules) and all(_FULL_MODULE.search(module.read_text()) for module in modules)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Do not make the cases of tests and classes that are left out."""
    marks = getattr(obj, "pytestmark", ())
    is_left_out = isinstance(marks, list) and any(mark.name == "full" for mark in marks)
    return [] if is_left_out and not _is_full(collector.config) else None


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what stays until the end."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether this is a full run, which repeats simulations more often and tries every case of a fixture."""
    return bool(request.config.getoption("--full"))


class _ByFile(LoadScopeScheduling):
    """A process runs whole files, and folders that belong together. One runs all tests with real processes, two of
    which at a time would starve each other."""

    def _split_scope(self, nodeid: str) -> str:
        path = Path(nodeid.partition("::")[0])
        folder = path.parts[1]
        return "real processes" if folder in _REAL_PROCESSES else folder if folder in _TOGETHER else str(path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """How tests are spread over processes (`-n 2`)."""
    return _ByFile(config, log)


@pytest.fixture(autouse=True)
def a_process_that_has_just_started(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test the process as the first one found it, although thousands run in it.

    Tasks that never ran are late in a process that runs for long; and commands make their process create files that no
    other user may read, which sandboxes of other users need to.
    """
    facts = sys.modules.get("leaderboard.operations.monitoring.facts")
    if facts is not None:
        monkeypatch.setattr(facts, "_STARTED", time.monotonic())
    mask = os.umask(0o022)
    yield
    os.umask(mask)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Spell out halves of surrogate pairs in captured logs: pytest-xdist cannot send them to the main process."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to run what failed by itself."""
    failed = {report.nodeid for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, ())}
    for test in sorted(failed):
        terminalreporter.write_line(f"Run it alone: ./planarena test {shlex.quote(test)}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only a full run has, and put the longest groups first, so that nothing waits for them in the
    end."""
    left_out = [] if _is_full(config) else [item for item in items if item.get_closest_marker("full")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(_TESTS).parts[0]
    return _TOGETHER.index(folder) if folder in _TOGETHER else len(_TOGETHER)


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A throw-away PostgreSQL with the database `tests.database.MIGRATED`."""
    with ExitStack() as stack:
        with django_db_blocker.unblock():
            url = stack.enter_context(cluster(settings.DATA_DIR, run=_folder_of_run(request.config)))
        yield url


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres_url: str) -> None:
    """For tests that make databases of their own, through Django's connection."""
    connect_django(postgres_url)


@pytest.fixture(scope="session")
def django_db_setup(postgres_url: str, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database of the tests, in the place of pytest-django's, whose tables are emptied quickly after tests that
    commit.

    Django truncates all of them and makes its permissions and content types again, which takes a third of a second.
    """
    make_database(postgres_url)
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        connect_django(postgres_url)
        patch.setattr(TransactionTestCase, "_fixture_teardown", _empty_tables)
        yield
        connection.close()


def _empty_tables(case: TransactionTestCase) -> None:
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    deletes = "; ".join(f'DELETE FROM "{table}"' for table in sorted(tables - _KEPT))
    with connection.cursor() as cursor:
        # Without foreign keys and triggers, such as the one that keeps the audit log.
        cursor.execute(f"SET session_replication_role = replica; {deletes}; SET session_replication_role = DEFAULT")


def pytest_configure(config: pytest.Config) -> None:
    """Give the run the name that all its processes know it by."""
    # Until the end of the collection, of which nothing is garbage.
    gc.disable()
    known = getattr(config, "workerinput", {}).get("testrunuid")
    config.option.testrunuid = known or config.option.testrunuid or uuid4().hex
    # Reports of evaluations without a file of their own.
    os.environ["PLANARENA_REPORTS"] = str(_folder_of_run(config) / "reports")


def _folder_of_run(config: pytest.Config) -> Path:
    return Path(tempfile.gettempdir()) / f"planarena-run-{config.option.testrunuid}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the data folder of this process and that of the run, and end what tests left running."""
    if config.option.numprocesses is None:
        _end_children()
    if Path(settings.DATA_DIR).name.startswith("planarena-tests-"):
        shutil.rmtree(settings.DATA_DIR, ignore_errors=True)
    if not hasattr(config, "workerinput"):
        shutil.rmtree(_folder_of_run(config), ignore_errors=True)


def _end_children() -> None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            command = shlex.join(child.cmdline())
            if "multiprocessing" not in command:
                print(f"A test left this running, which is ended now: {command[:300]}", file=sys.stderr)
            child.kill()
