"""`manage.py back_up FOLDER`: backs up the database and the stores while the site runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.backups.database import BackupError
from leaderboard.operations.backups.services import MANIFEST, back_up


class Command(BaseCommand):
    """Makes a backup."""

    help = (
        "Back up the database and the stores into a folder. Later backups into the same folder copy only new objects."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--keep", type=int, default=7, help="number of database dumps to keep (default: 7)")
        parser.add_argument(
            "--allow-missing",
            action="store_true",
            help="succeed even if the stores have lost objects, and list them in the backup's manifest",
        )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        if options["keep"] < 1:
            raise CommandError("--keep must be at least 1.")
        try:
            manifest = back_up(folder=options["folder"], keep=options["keep"], allow_missing=options["allow_missing"])
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        new = sum(store["new"] for store in manifest["objects"].values())
        there = sum(store["there"] for store in manifest["objects"].values())
        dump = manifest["dump"]
        self.stdout.write(f"{dump['name']}: {dump['bytes']} bytes. Objects: {new} copied, {there} were there.")
        if missing := manifest["missing"]:
            self.stderr.write(f"{len(missing)} lost objects are not in it; {MANIFEST} lists them.")
