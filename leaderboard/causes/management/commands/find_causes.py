"""`manage.py find_causes`: finds the causes of results with no or outdated causes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.causes.finding import BATCH, find_causes


class Command(BaseCommand):
    """Finds causes."""

    help = (
        "Find why tasks are below the gold score, for results with no or outdated causes. May be interrupted and "
        "restarted: each batch is saved separately."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, default=BATCH, help="how many results to read and save at once")
        parser.add_argument(
            "--again", action="store_true", help="include results with known causes, after rules changed"
        )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        if options["batch"] < 1:
            raise CommandError("--batch must be positive.")
        found = missed = 0
        for batch in find_causes(batch=options["batch"], again=options["again"]):
            found, missed = found + batch.found, missed + batch.missed
            self.stdout.write(f"{found} found, {missed} not found")
        self.stdout.write("All results are done." if not missed else "The log says why some were not found.")
