"""`manage.py find_causes`: finds the causes of results that have none yet."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.causes.finding import BATCH, find_causes


class Command(BaseCommand):
    """Finds causes."""

    help = (
        "Find why tasks are below the gold score, for results that have no causes or outdated ones. May be interrupted "
        "and started again: each batch is saved by itself."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, default=BATCH, help="how many results to read and save at once")
        parser.add_argument("--again", action="store_true", help="also where causes are known, after rules changed")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        if options["batch"] < 1:
            raise CommandError("--batch must be positive.")
        found = missed = 0
        for batch in find_causes(batch=options["batch"], again=options["again"]):
            found, missed = found + batch.found, missed + batch.missed
            self.stdout.write(f"{found} found, {missed} not found")
        self.stdout.write("All results are done." if not missed else "The log says why some were not found.")
