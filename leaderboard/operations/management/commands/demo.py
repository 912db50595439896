"""`./planarena demo`: from an empty database to published boards on a running site."""

import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.management import call_command

from evaluator.cli.progress_lines import ProgressLines
from evaluator.core.suites.registry import default_suite
from evaluator.planners.bundled import bundled_names, each_once
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.states import FINAL
from leaderboard.operations.demo.processes import DemoError, Supervisor, wait_for_site
from leaderboard.operations.demo.progress import SUITE, follow, print_board
from leaderboard.operations.demo.starting import (
    FIRST_PORT,
    SiteCommand,
    fill_boards,
    listening_socket,
    only_demo_of,
    port_number,
    prepare_database,
    site_processes,
)
from leaderboard.platform.secret_keys import queue_environment
from leaderboard.submissions.anchors import anchors_of, profile_anchors, submit_anchors

POLL_SECONDS = 0.5
FIRST_BOARDS = (default_suite(executes=False).slug, SUITE)
"""The boards that the demo follows and prints: one of judged plans, and one of executed plans."""


class Command(SiteCommand):
    """Starts the site, evaluates the bundled planners, and runs until Ctrl-C."""

    title, name = "The demo", "demo"
    _line = "demo: starting"
    help = "Run a complete site on this machine and evaluate the bundled planners."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="print the board and exit once all planners are published"
        )
        parser.add_argument(
            "--planner",
            action="append",
            choices=bundled_names(),
            help="evaluate only this bundled planner, on the first two boards; may be repeated (default: the anchors "
            "and two strategies on every suite, cheap evaluations first)",
        )
        parser.add_argument(
            "--port",
            type=port_number,
            help=f"port of the site on 127.0.0.1 (default: {FIRST_PORT}, or the next free one)",
        )

    def run_site(self, **options: Any) -> None:
        once, port, console = options["once"], options["port"], self.console
        names = options["planner"] or ()
        lines = ProgressLines(lambda: self._line, stream=sys.stderr)
        with only_demo_of(settings.DATA_DIR) as note, listening_socket(port) as listener, lines:
            number = listener.getsockname()[1]
            url = f"http://127.0.0.1:{number}"
            note.write_text(url)
            if port is None and number != FIRST_PORT:
                console.print(f"127.0.0.1:{FIRST_PORT} is in use, so the site will be at {url}")
                console.print("Another port: --port NUMBER")
            console.print(f"Preparing the database and the site, which will be at {url} ...")
            self._note("demo: preparing the database and the site")
            prepare_database()
            call_command("collectstatic", verbosity=0, interactive=False)
            environment = os.environ | {"PLANARENA_DEMO": "1", "PLANARENA_API_URL": url, "PYTHONUNBUFFERED": "1"}
            supervisor = self.supervisor(environment)
            queue = queue_environment(environment)
            with site_processes(supervisor, descriptor=listener.fileno(), queue=queue):
                wait_for_site(url=url, supervisor=supervisor)
                console.print(f"The site is at [link={url}]{url}[/link]")
                self._evaluate(url=url, once=once, names=names, supervisor=supervisor)
                lines.end()
                while not once:
                    supervisor.watch()
                    time.sleep(POLL_SECONDS)

    def _note(self, line: str) -> None:
        self._line = line

    def _evaluate(self, *, url: str, once: bool, names: Sequence[str], supervisor: Supervisor) -> None:
        """Fill the boards, follow the first ones until they are complete, and print them.

        Raises:
            DemoError: not all were published with `once`.
        """
        console = self.console
        if names:
            evaluations = [
                evaluation
                for suite in FIRST_BOARDS
                for evaluation in submit_anchors(suite=suite, names=names_for(suite=suite, chosen=names))
            ]
        else:
            suites = Suite.objects.filter(current=True)
            evaluations = fill_boards(
                console=console, suites=list(suites.filter(slug__in=FIRST_BOARDS) if once else suites)
            )
        followed = [evaluation for evaluation in evaluations if evaluation.suite.slug in FIRST_BOARDS]
        if further := sum(one.state not in FINAL and one not in followed for one in evaluations):
            console.print(
                f"{further} further evaluations fill the boards of the other suites; --planner leaves them out. "
                "Planners that you submit go first.",
                markup=False,
            )
        problem = follow(
            evaluations=followed, console=console, on_tick=supervisor.watch, end_when_stalled=once, note=self._note
        )
        for suite in FIRST_BOARDS:
            print_board(console=console, url=url, suite=suite)
        if problem is not None and once:
            raise DemoError(problem)
        if problem is not None:
            console.print(f"{problem}\nThe site stays at {url} until Ctrl-C.", style="yellow", markup=False)
        elif not once:
            console.print(f"All published. The site stays at {url} until Ctrl-C.")
        if not once and not names and (profiles := profile_anchors(followed)):
            console.print(f"The reliability of {profiles} planners is being measured; their pages follow it.")


def names_for(*, suite: str, chosen: Sequence[str]) -> list[str]:
    """The bundled planners that the demo evaluates on a suite: the suite's anchors, or those among `chosen`."""
    known = anchors_of(suite)
    return [name for name in chosen or each_once(suite) if name in known]
