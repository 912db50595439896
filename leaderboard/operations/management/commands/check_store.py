"""`manage.py check_store`: reads all objects of the site's stores, and tells what is damaged or missing."""

from datetime import UTC
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.losses import described, losses
from leaderboard.operations.backups.repair import check_stores, quarantined


class Command(BaseCommand):
    """Checks the stores."""

    help = (
        "Read every object of the site's stores, move damaged ones into quarantine, list the quarantine, and exit with "
        "1 if anything is lost."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help="read no object: list only what is known to be lost")
        parser.add_argument("--limit", type=int, default=20, help="how many entries of the quarantine to list")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        if options["limit"] < 0:
            raise CommandError("--limit must not be negative.")
        try:
            if not options["quick"]:
                check_stores(report=self.stdout.write)
            self._list(limit=options["limit"])
            lost = losses()
        except OSError as error:
            raise CommandError(str(error)) from error
        if lost:
            raise CommandError(
                f"Lost: {described(lost)}. Put them back with `repair_store --from` and the folder of a backup."
            )
        self.stdout.write("Nothing is lost.")

    def _list(self, *, limit: int) -> None:
        found = quarantined()
        self.stdout.write(f"In quarantine: {len(found)}{f', the newest {limit}:' if len(found) > limit else ''}")
        for one in found[:limit]:
            at = one.file.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
            state = "repaired" if one.is_repaired else "lost"
            reason = one.file.reason or "reason unknown"
            self.stdout.write(f"  {at}  {state}  {one.store}/{one.file.digest}  {one.file.size} bytes, {reason}")
