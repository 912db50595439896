"""`manage.py check_store`: reads all objects of the site's stores, and lists damaged and missing ones."""

from datetime import UTC
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.objects import check_stores, described, losses, quarantined


class Command(BaseCommand):
    """Checks the stores."""

    help = (
        "Read every object of the site's stores, move damaged ones into quarantine, list the quarantine, and exit with "
        "1 if anything is lost."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--quick", action="store_true", help="do not read objects, only list known losses")
        parser.add_argument("--limit", type=int, default=20, help="maximum number of quarantine entries to list")

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
                f"Lost: {described(lost)}. Restore them with `repair_store --from` and the folder of a backup."
            )
        self.stdout.write("Nothing is lost.")

    def _list(self, *, limit: int) -> None:
        entries = quarantined()
        self.stdout.write(f"In quarantine: {len(entries)}{f', the newest {limit}:' if len(entries) > limit else ''}")
        for entry in entries[:limit]:
            file = entry.file
            at = file.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
            state = "repaired" if entry.is_repaired else "lost"
            reason = file.reason or "reason unknown"
            self.stdout.write(f"  {at}  {state}  {entry.store}/{file.digest}  {file.size} bytes, {reason}")
