"""The common part of `demo` and `dev`: command, port, data folder, processes and evaluations of a local site."""

import errno
import fcntl
import io
import socket
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from evaluator.core.private_files import keep_private
from evaluator.planners.bundled import BUNDLED, each_once
from evaluator.planners.named import offline_planners
from leaderboard.boards.anchors import GOLD
from leaderboard.catalog.durations import task_seconds
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.operations.demo.processes import DemoError, Supervisor, interruptible
from leaderboard.operations.demo.progress import SUITE
from leaderboard.platform.environment import BASE_DIR
from leaderboard.queue.launching import local_launcher
from leaderboard.submissions.anchors import anchors_of, submit_anchors

FIRST_PORT = 8000
PORTS_TRIED = 100
STRATEGIES = 2
"""Number of strategies per suite, besides its anchors."""


class SiteCommand(BaseCommand):
    """Runs a site until Ctrl-C; a failure becomes one sentence and a non-zero exit code."""

    title: str
    """Name in messages."""
    name: str

    def handle(self, *_: Any, **options: Any) -> None:
        """Run `run_site` of a subclass, which creates its supervisor with `supervisor`."""
        if not settings.DEMO:
            raise CommandError(f"{self.title} needs PLANARENA_DEMO=1; start it with ./planarena {self.name}.")
        self.console = Console()
        try:
            with interruptible() as self._raise_if_interrupted:
                self.run_site(**options)
        except KeyboardInterrupt:
            self.console.print("\nStopped.")
            sys.exit(130 if options.get("once") else 0)
        except DemoError as error:
            raise CommandError(str(error)) from error

    def run_site(self, **options: Any) -> None:
        raise NotImplementedError

    def supervisor(self, environment: Mapping[str, str]) -> Supervisor:
        """A supervisor of processes with this environment."""
        return Supervisor(
            logs=settings.DATA_DIR / "logs",
            home=BASE_DIR,
            environment=environment,
            raise_if_interrupted=self._raise_if_interrupted,
        )


def prepare_database() -> None:
    """Create tables, suites, and the signing key."""
    call_command("migrate", verbosity=0)
    call_command("register_suites", verbosity=0, stdout=io.StringIO())
    call_command("signing_key", "show", stdout=io.StringIO())


def port_number(text: str) -> int:
    """Parse a port of the command line.

    Raises:
        ArgumentTypeError: it is not a port.
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise ArgumentTypeError(f"{text!r} is not a port: it must be a number from 1 to 65535")
    return int(text)


@contextmanager
def site_processes(supervisor: Supervisor, *, descriptor: int, queue: Mapping[str, str]) -> Iterator[None]:
    """Run site, Celery worker and beat; the launcher starts the evaluation worker on demand.

    Args:
        supervisor: starts them.
        descriptor: of the socket on which the site listens.
        queue: environment of Celery worker and beat.
    """
    python = [sys.executable, "-m"]
    celery = [*python, "celery", "-A", "leaderboard.platform.celery:app"]
    site = [*python, "uvicorn", "leaderboard.wiring.asgi:application", "--fd", str(descriptor)]
    try:
        # Event streams would delay the shutdown; two seconds are enough for other requests.
        supervisor.start(
            name="site",
            command=[*site, "--timeout-graceful-shutdown", "2", "--no-access-log"],
            descriptors=[descriptor],
        )
        supervisor.start(
            name="celery",
            command=[*celery, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle"],
            environment=queue,
        )
        supervisor.start(name="beat", command=[*celery, "beat"], environment=queue)
        yield
    finally:
        supervisor.stop()
        local_launcher().stop_all()


def listening_socket(port: int | None, *, first: int = FIRST_PORT) -> socket.socket:
    """A socket that listens on 127.0.0.1, for the web server.

    It is opened before the server starts, so that no other program can take the port in between.

    Args:
        port: the required port; None: `first`, or the next free one.
        first: first port of the search.

    Raises:
        DemoError: the port, or every port that was tried, is in use or not allowed for this user.
    """
    if port is not None:
        try:
            return _listen(port)
        except OSError as error:
            raise DemoError(_why(port=port, error=error)) from None
    for candidate in range(first, min(first + PORTS_TRIED, 65_536)):
        try:
            return _listen(candidate)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise DemoError(_why(port=candidate, error=error)) from None
    return _listen(0)


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. uvicorn treats an inherited socket as a Unix socket and would not set it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _why(*, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"127.0.0.1:{port} is in use; stop what uses it, choose another port with --port, or leave --port out to "
            "get a free one."
        )
    if error.errno == errno.EACCES:
        return f"127.0.0.1:{port} is not allowed for this user; choose a port above 1023 with --port."
    return f"127.0.0.1:{port} cannot be used ({error.strerror}); choose another port with --port."


@contextmanager
def only_demo_of(data: Path) -> Iterator[Path]:
    """Lock a data folder against a second demo, which would end the processes of the first as leftovers of a crash.

    Yields:
        The file for the demo's address, which a second demo shows in its message.

    Raises:
        DemoError: another demo runs there.
    """
    path = data / "demo.lock"
    data.mkdir(parents=True, exist_ok=True)
    keep_private(data)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            address = path.read_text().strip()
            where = f" at {address}" if address else ""
            raise DemoError(
                f"A demo already runs in the data folder {data}{where}. Use that one, stop it, or set PLANARENA_DATA "
                "to another folder for a second one."
            ) from None
        path.write_text("")
        yield path


def strategies_of(suite: str) -> list[str]:
    """The strategies that the demo evaluates on the suite with this slug, cheapest first; empty if all planners are
    anchors."""
    planners = offline_planners()
    # Of a paper (`controlllm/greedy`) or with a shipped model, and no baseline of another kind.
    own = [name for name in anchors_of(suite) if name not in BUNDLED and {"/", ":"} & set(name)]
    names = own[-STRATEGIES:]
    return sorted(names, key=lambda name: planners[name].task_seconds)


class Entry(NamedTuple):
    """A planner that the demo evaluates on a suite."""

    suite: str
    planner: str
    seconds: float
    """Expected processor time."""
    opens: bool
    """Whether it belongs to the first planners of one of the first boards."""


def queue_order(suites: Sequence[Suite]) -> list[Entry]:
    """What fills the boards of these suites, in the order in which it is evaluated.

    Suites that execute nothing, then `SUITE`, first get a ranked planner and the gold plans: a board without the former
    has no leader, and one without the latter no scale. Everything else follows by its expected processor time.
    """
    entries = [entry for suite in suites for entry in _entries(suite)]
    return sorted(entries, key=lambda entry: (not entry.opens, entry.seconds))


def _entries(suite: Suite) -> Iterator[Entry]:
    strategies, anchors = strategies_of(suite.slug), each_once(suite.slug)
    gold = [name for name in anchors if name == GOLD]
    opening = [*strategies[:1], *gold] if suite.slug == SUITE or not (suite.runs_experts or suite.in_turns) else []
    tasks, gold_seconds, planners = suite.tasks.count(), task_seconds(suite), offline_planners()
    for name in dict.fromkeys([*opening, *anchors, *strategies]):
        seconds = tasks * (gold_seconds + planners[name].task_seconds)
        yield Entry(suite.slug, name, seconds, opens=name in opening)


def fill_boards(*, console: Console, suites: Sequence[Suite]) -> list[Evaluation]:
    """Submit the anchors and a few strategies on these suites in `queue_order`, and return their evaluations.

    Planners that have an evaluation keep it. Suites that this machine cannot evaluate are skipped with a message.
    """
    submitted: list[Evaluation] = []
    refused: set[str] = set()
    titles = {suite.slug: suite.title for suite in suites}
    for entry in queue_order(suites):
        if entry.suite in refused:
            continue
        try:
            submitted += submit_anchors(suite=entry.suite, names=[entry.planner])
        except NotReadyError as error:
            refused.add(entry.suite)
            console.print(f"{titles[entry.suite]} is left out: {error}", style="yellow", markup=False)
    return submitted
