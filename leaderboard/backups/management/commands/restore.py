"""`manage.py restore FOLDER`: the database, which must be empty, and the stores from a folder's last backup."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.backups.database import BackupError
from leaderboard.backups.services import missing_records, restore


class Command(BaseCommand):
    """Restores a backup."""

    help = "Restore the last backup of a folder into an empty database, and bring its tables up to this release."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        try:
            for told in restore(folder=options["folder"]):
                self.stdout.write(told)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        call_command("migrate", interactive=False, verbosity=0)
        if missing := missing_records():
            raise CommandError(f"{len(missing)} records are in no store: {', '.join(missing[:10])}.")
        self.stdout.write("Every record that the results name is there.")
