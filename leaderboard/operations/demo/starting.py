"""What `demo` and `dev` have in common: the command, and what starts the parts of a site on this machine."""

import io
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from leaderboard.operations.demo.processes import DemoError, Supervisor, interruptible
from leaderboard.platform.environment import BASE_DIR
from leaderboard.queue.launching import local_launcher


class SiteCommand(BaseCommand):
    """Runs a site until Ctrl-C; a failure becomes one sentence and a non-zero exit code."""

    title: str
    """What it calls itself."""
    name: str

    def handle(self, *_: Any, **options: Any) -> None:
        """Run it. A subclass says in `run_site` what that is, and makes its supervisor with `supervisor`."""
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
        """What keeps processes running that have this environment."""
        return Supervisor(
            logs=settings.DATA_DIR / "logs",
            home=BASE_DIR,
            environment=environment,
            raise_if_interrupted=self._raise_if_interrupted,
        )


def prepare_database() -> None:
    """Tables, suites, and the key that signs results."""
    call_command("migrate", verbosity=0)
    call_command("register_suites", verbosity=0, stdout=io.StringIO())
    call_command("signing_key", "show", stdout=io.StringIO())


def port_number(text: str) -> int:
    """A port from the command line.

    Raises:
        ArgumentTypeError: it is not one.
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise ArgumentTypeError(f"{text!r} is not a port: it must be a number from 1 to 65535")
    return int(text)


@contextmanager
def site_processes(supervisor: Supervisor, *, descriptor: int, queue: Mapping[str, str]) -> Iterator[None]:
    """Site, Celery worker and beat; the launcher starts the evaluation worker when there is something to do.

    Args:
        supervisor: starts them.
        descriptor: of the socket that the site listens on.
        queue: environment of Celery worker and beat.
    """
    python = [sys.executable, "-m"]
    celery = [*python, "celery", "-A", "leaderboard.platform.celery:app"]
    site = [*python, "uvicorn", "leaderboard.wiring.asgi:application", "--fd", str(descriptor)]
    try:
        # Connections of an event stream would keep the server from stopping; two seconds are enough for the others.
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
