"""`manage.py repair_store --from BACKUP`: puts back what the site's stores have lost."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.losses import described, losses
from leaderboard.operations.backups.repair import check_stores, repair_stores


class Command(BaseCommand):
    """Repairs the stores."""

    help = (
        "Read every object of the site's stores, move damaged ones into quarantine, and put back from a backup what "
        "the stores lack. The database is not touched, and the site may go on meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="folder", type=Path, required=True, metavar="BACKUP")
        parser.add_argument("--quick", action="store_true", help="read no object first: put back only what is missing")

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
