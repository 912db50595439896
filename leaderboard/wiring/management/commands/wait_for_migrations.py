"""`manage.py wait_for_migrations`: for processes that start beside the migration of a release."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor


class Command(BaseCommand):
    """Waits."""

    help = (
        "Wait until all migrations of this release have run, whoever runs them; exit with 1 if they have not in time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=3600, help="how long to wait, 3600 by default")
        parser.add_argument("--poll", type=float, default=3, help="seconds between two looks")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        until = time.monotonic() + options["seconds"]
        said = ""
        while missing := _missing():
            # Once for each obstacle, and not at each look.
            if missing != said:
                said = missing
                self.stdout.write(f"waiting: {missing}")
            if time.monotonic() >= until:
                raise CommandError(f"Waited for {options['seconds']:g} seconds: {missing}.")
            time.sleep(min(options["poll"], max(0.0, until - time.monotonic())))
        self.stdout.write("all migrations have run")


def _missing() -> str:
    """What is missing, as a phrase; empty if all migrations have run."""
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        return "migrations of this release have not run" if plan else ""
    except DatabaseError as error:
        return f"the database does not answer ({type(error).__name__})"
    finally:
        # A pooler or a server that is replaced may have ended it.
        connection.close()
