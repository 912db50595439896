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
from leaderboard.evaluations.models import Evaluation
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
            help="evaluate only this bundled planner, on the first two boards; may be repeated (default: the anchors, "
            "then on every suite the anchors and two strategies)",
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
                evaluations = self._evaluate(url=url, once=once, names=names, supervisor=supervisor)
                if not once and not names:
                    self._note("demo: filling the boards of all suites")
                    self._fill(evaluations)
                lines.end()
                while not once:
                    supervisor.watch()
                    time.sleep(POLL_SECONDS)

    def _note(self, line: str) -> None:
        self._line = line

    def _fill(self, evaluations: Sequence[Evaluation]) -> None:
        """Queue the rest, cheap evaluations first: reliability of judged plans, all boards, reliability of the
        others."""
        judged = [evaluation for evaluation in evaluations if not evaluation.suite.runs_experts]
        executed = [evaluation for evaluation in evaluations if evaluation.suite.runs_experts]
        profiles = profile_anchors(judged)
        fill_boards(self.console)
        if profiles := profiles + profile_anchors(executed):
            self.console.print(f"The reliability of {profiles} planners is being measured; their pages follow it.")

    def _evaluate(self, *, url: str, once: bool, names: Sequence[str], supervisor: Supervisor) -> Sequence[Evaluation]:
        """Evaluate the bundled planners and print the boards: one of executed plans, and one of judged plans.

        Raises:
            DemoError: not all were published with `once`.
        """
        console, suites = self.console, (SUITE, default_suite(executes=False).slug)
        evaluations = [
            evaluation
            for suite in suites
            for evaluation in submit_anchors(suite=suite, names=names_for(suite=suite, chosen=names))
        ]
        problem = follow(
            evaluations=evaluations, console=console, on_tick=supervisor.watch, end_when_stalled=once, note=self._note
        )
        for suite in suites:
            print_board(console=console, url=url, suite=suite)
        if problem is None:
            if not once:
                console.print(f"All published. The site stays at {url} until Ctrl-C.")
        elif once:
            raise DemoError(problem)
        else:
            console.print(f"{problem}\nThe site stays at {url} until Ctrl-C.", style="yellow", markup=False)
        return evaluations


def names_for(*, suite: str, chosen: Sequence[str]) -> list[str]:
    """The bundled planners that the demo evaluates on a suite: the suite's anchors, or those among `chosen`."""
    known = anchors_of(suite)
    return [name for name in chosen or each_once(suite) if name in known]
