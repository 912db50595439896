"""`./planarena dev`: a development site that reloads edited files."""

import os
import shutil
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from rich.console import Console

from evaluator.planners.bundled import each_once
from leaderboard.operations.demo.processes import (
    WORKERS,
    DemoError,
    SourceWatcher,
    Supervisor,
    last_line,
    to_restart,
    wait_for_site,
)
from leaderboard.operations.demo.progress import SUITE
from leaderboard.operations.demo.starting import (
    FIRST_PORT,
    SiteCommand,
    listening_socket,
    only_demo_of,
    port_number,
    prepare_database,
    site_processes,
)
from leaderboard.people.models import User
from leaderboard.platform.environment import BASE_DIR, INSTALLED, kept_secret
from leaderboard.platform.secret_keys import queue_environment
from leaderboard.queue.launching import local_launcher
from leaderboard.submissions.anchors import submit_anchors

POLL_SECONDS = 0.5
VITE_PORT = 5173
DEVELOPER = "developer"
_FRONTEND = BASE_DIR / "frontend"


class Command(SiteCommand):
    """Starts site, queue and Vite, and restarts processes whose files were edited, until Ctrl-C."""

    title = name = "dev"
    help = "Run a development site with automatic reload, Vite's development server, a worker and sample data."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=port_number, help=f"port of the site (default: {FIRST_PORT}, or the next free one)"
        )
        parser.add_argument("--no-planners", action="store_true", help="do not evaluate the bundled planners")

    def run_site(self, **options: Any) -> None:
        if INSTALLED:
            raise DemoError("dev works on a checkout: clone the repository and run ./planarena dev there.")
        console = self.console
        with only_demo_of(settings.DATA_DIR) as note, listening_socket(options["port"]) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            note.write_text(url)
            console.print("Preparing the database ...")
            prepare_database()
            password = make_developer()
            with listening_socket(None, first=VITE_PORT) as probe:
                vite_port = probe.getsockname()[1]
            vite = f"http://127.0.0.1:{vite_port}"
            environment = os.environ | {
                "PLANARENA_DEMO": "1", "PLANARENA_API_URL": url, "PLANARENA_DEBUG": "1", "PLANARENA_VITE": vite,
                "PYTHONUNBUFFERED": "1",
            }  # fmt: skip
            supervisor = self.supervisor(environment)
            sources = SourceWatcher(BASE_DIR)
            queue = queue_environment(environment)
            with site_processes(supervisor, descriptor=listener.fileno(), queue=queue):
                supervisor.start(name="vite", command=vite_command(port=vite_port))
                wait_for_site(url=f"{vite}/src/theme.ts", supervisor=supervisor)
                wait_for_site(url=url, supervisor=supervisor)
                if not options["no_planners"]:
                    submit_anchors(suite=SUITE, names=each_once(SUITE))
                console.print(
                    f"The site is at {url}, Vite at {vite}, the logs are in {supervisor.logs}.", soft_wrap=True
                )
                console.print(f"Sign in as {DEVELOPER} with the password {password}", highlight=False)
                console.print("Edited Python files and templates are reloaded. Ctrl-C stops everything.")
                keep_current(supervisor=supervisor, sources=sources, console=console)


def vite_command(*, port: int) -> list[str]:
    """The command of Vite's development server.

    Raises:
        DemoError: it or Node is not installed.
    """
    node, program = shutil.which("node"), _FRONTEND / "node_modules" / "vite" / "bin" / "vite.js"
    if node is None:
        raise DemoError("Node is not on the PATH: start with ./planarena dev, which installs it where it is missing.")
    if not program.is_file():
        raise DemoError(f"Vite is not installed: run npm ci in {_FRONTEND}.")
    return [node, str(program), str(_FRONTEND), "--port", str(port), "--strictPort", "--clearScreen", "false"]


def make_developer() -> str:
    """Create a superuser on first use, and return the password, which is stored in the data folder."""
    password = kept_secret(settings.DATA_DIR / "secrets" / "developer_password")[:16]
    if not User.objects.filter(username=DEVELOPER).exists():
        User.objects.create_superuser(username=DEVELOPER, email="", password=password)
    return password


def keep_current(*, supervisor: Supervisor, sources: SourceWatcher, console: Console) -> None:
    """Restart processes whose files were edited, in an infinite loop.

    A process that ends by itself, for example with a syntax error, is reported once and restarted at the next change.

    Raises:
        KeyboardInterrupt: a signal asked to stop.
    """
    reported = set[str]()
    while True:
        if changed := sources.changed():
            others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            console.print(f"{changed[0]}{others} changed: restarting", markup=False, highlight=False)
            names = to_restart(changed)
            if WORKERS in names:
                # A sweep starts new workers on demand.
                local_launcher().stop_all()
            supervisor.restart(names)
            reported.clear()
        for child in supervisor.ended():
            if child.name not in reported:
                reported.add(child.name)
                console.print(
                    f"{child.name} ended (exit code {child.process.returncode}): {last_line(child.log)}\n"
                    f"It starts again at the next change; its log is {child.log}",
                    style="red", markup=False, highlight=False, soft_wrap=True,
                )  # fmt: skip
        time.sleep(POLL_SECONDS)
