"""`manage.py repair_store --from BACKUP`: restores lost objects of the site's stores."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.objects import check_stores, described, losses, repair_stores


class Command(BaseCommand):
    """Repairs the stores."""

    help = (
        "Read every object of the site's stores, move damaged ones into quarantine, and copy missing objects from a "
        "backup. Does not change the database. The site may be running."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="folder", type=Path, required=True, metavar="BACKUP")
        parser.add_argument("--quick", action="store_true", help="do not check objects first, only copy missing ones")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        try:
            if not options["quick"]:
                check_stores(report=self.stdout.write)
            repair_stores(folder=options["folder"], report=self.stdout.write)
            lost = losses()
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        records = sum(loss.is_record for loss in lost)
        self.stdout.write(f"Records that are still missing: {records}.")
        if lost:
            raise CommandError(f"Still lost: {described(lost)}. Try an older backup.")
