"""`manage.py restore FOLDER`: restores the database, which must be empty, and the stores from a folder's last
backup."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.objects import described
from leaderboard.operations.backups.services import restore


class Command(BaseCommand):
    """Restores a backup."""

    help = "Restore the last backup of a folder into an empty database, and migrate it to this release."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--incomplete", action="store_true", help="use the last incomplete backup instead of the last whole one"
        )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        try:
            restored = restore(folder=options["folder"], report=self.stdout.write, incomplete=options["incomplete"])
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        call_command("migrate", interactive=False, verbosity=0)
        if restored.missing_before:
            self.stdout.write(f"{len(restored.missing_before)} objects were lost before the backup was made.")
        problems = [f"The backup's copies are damaged: {described(restored.damaged)}."] if restored.damaged else []
        if lost := restored.newly_lost():
            problems.append(f"No store has {described(lost)}.")
        if problems:
            raise CommandError(" ".join(problems))
        if not restored.missing_before:
            self.stdout.write("All records of results are present.")
