"""What starts the parts of a site on this machine, for `demo` and `dev`."""

import io
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.core.management import call_command

from leaderboard.demo.processes import Supervisor
from leaderboard.queue.launching import local_launcher


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
    celery = [*python, "celery", "-A", "leaderboard.site.celery:app"]
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
