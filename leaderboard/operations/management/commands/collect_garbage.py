"""`manage.py collect_garbage`: deletes what nothing names and what the policy does not keep."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.garbage import collect_garbage


class Command(BaseCommand):
    """Collects garbage."""

    help = (
        "Delete objects of the site's stores that no result names, and rows past their retention. "
        "Published evaluations keep all they name. The site may go on meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="delete nothing: say what would go")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        try:
            found = collect_garbage(dry_run=options["dry_run"], report=self.stdout.write)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        verb = "would be deleted" if options["dry_run"] else "deleted"
        self.stdout.write(f"{found.count:>9,}  {found.size:>15,} bytes  {verb}")
