"""`./planarena demo`: from nothing to a published board, and a site that stays up."""

import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from evaluator.planners.bundled import bundled_names
from leaderboard.demo.places import FIRST_PORT, listening_socket, only_demo_of
from leaderboard.demo.processes import DemoError, Supervisor, interruptible, wait_for_site
from leaderboard.demo.progress import follow, print_board
from leaderboard.demo.seed import submit_bundled
from leaderboard.demo.starting import port_number, prepare_database, site_processes
from leaderboard.site.environment import BASE_DIR
from leaderboard.site.secret_keys import queue_environment

POLL_SECONDS = 0.5


class Command(BaseCommand):
    """Starts everything, evaluates the bundled planners, and stays up until Ctrl-C."""

    help = "Run the whole arena on this machine and evaluate three bundled planners."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="print the board and exit when all is published")
        parser.add_argument(
            "--planner",
            action="append",
            choices=bundled_names(),
            help="evaluate only this bundled planner; may be given several times (default: all)",
        )
        parser.add_argument(
            "--port",
            type=port_number,
            help=f"port of the site on 127.0.0.1 (default: {FIRST_PORT}, or the next free one)",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the demo; a failure becomes one sentence and a non-zero exit code."""
        console = Console()
        if not settings.DEMO:
            raise CommandError("The demo needs PLANARENA_DEMO=1; start it with ./planarena demo.")
        try:
            with interruptible() as raise_if_interrupted:
                self._run(
                    console=console,
                    raise_if_interrupted=raise_if_interrupted,
                    once=options["once"],
                    port=options["port"],
                    names=options["planner"] or bundled_names(),
                )
        except KeyboardInterrupt:
            console.print("\nStopped.")
            sys.exit(130 if options["once"] else 0)
        except DemoError as error:
            raise CommandError(str(error)) from error

    def _run(
        self,
        *,
        console: Console,
        once: bool,
        port: int | None,
        names: Sequence[str],
        raise_if_interrupted: Callable[[], None],
    ) -> None:
        with only_demo_of(settings.DATA_DIR) as note, listening_socket(port) as listener:
            number = listener.getsockname()[1]
            url = f"http://127.0.0.1:{number}"
            note.write_text(url)
            if port is None and number != FIRST_PORT:
                console.print(f"127.0.0.1:{FIRST_PORT} is in use, so the site will be at {url}")
            console.print("Preparing the database and the site ...")
            prepare_database()
            call_command("collectstatic", verbosity=0, interactive=False)
            environment = os.environ | {"PLANARENA_DEMO": "1", "PLANARENA_API_URL": url, "PYTHONUNBUFFERED": "1"}
            supervisor = Supervisor(
                logs=settings.DATA_DIR / "logs",
                home=BASE_DIR,
                environment=environment,
                raise_if_interrupted=raise_if_interrupted,
            )
            queue = queue_environment(environment)
            with site_processes(supervisor, descriptor=listener.fileno(), queue=queue):
                wait_for_site(url=url, supervisor=supervisor)
                console.print(f"The site is at [link={url}]{url}[/link]")
                self._evaluate(console=console, url=url, once=once, names=names, supervisor=supervisor)
                while not once:
                    supervisor.watch()
                    time.sleep(POLL_SECONDS)

    def _evaluate(
        self, *, console: Console, url: str, once: bool, names: Sequence[str], supervisor: Supervisor
    ) -> None:
        """Evaluate the bundled planners and print the board.

        Raises:
            DemoError: not all were published, and nobody uses the site for anything else.
        """
        problem = follow(
            evaluations=submit_bundled(names), console=console, on_tick=supervisor.watch, end_when_stalled=once
        )
        print_board(console=console, url=url)
        if problem is None:
            if not once:
                console.print(f"All published. The site stays at {url} until Ctrl-C.")
        elif once:
            raise DemoError(problem)
        else:
            console.print(f"{problem}\nThe site stays at {url} until Ctrl-C.", style="yellow", markup=False)
