"""`manage.py collect_garbage`: deletes unreferenced objects and rows past their retention period."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.garbage import collect_garbage


class Command(BaseCommand):
    """Collects garbage."""

    help = (
        "Delete objects of the site's stores that no result refers to, and rows past their retention period. "
        "Published evaluations keep all objects. The site may be running."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only report what would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        try:
            garbage = collect_garbage(dry_run=options["dry_run"], report=self.stdout.write)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        verb = "would be deleted" if options["dry_run"] else "deleted"
        self.stdout.write(f"{garbage.count:>9,}  {garbage.size:>15,} bytes  {verb}")
