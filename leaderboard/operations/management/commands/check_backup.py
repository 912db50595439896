"""`manage.py check_backup FOLDER`: verifies a whole backup without restoring it."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.services import check


class Command(BaseCommand):
    """Checks a backup."""

    help = (
        "Verify the dump and every object of the latest whole backup in a folder; exit with 1 if anything is damaged."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        try:
            check(options["folder"], report=self.stdout.write)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write("The backup is whole.")
