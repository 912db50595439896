"""`manage.py wait_for_migrations`: for processes that start while a release is being migrated."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor


class Command(BaseCommand):
    help = "Wait until another process has applied all migrations of this release; exit with 1 on timeout."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=3600, help="timeout, 3600 by default")
        parser.add_argument("--poll", type=float, default=3, help="seconds between checks")
        parser.add_argument("--only-database", action="store_true", help="wait only until the database answers")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        until = time.monotonic() + options["seconds"]
        reported = ""
        look = _unanswered if options["only_database"] else _missing
        while missing := look():
            # Once for each obstacle, not at each check.
            if missing != reported:
                reported = missing
                self.stdout.write(f"waiting: {missing}")
            if time.monotonic() >= until:
                raise CommandError(f"Waited for {options['seconds']:g} seconds: {missing}.")
            time.sleep(min(options["poll"], max(0.0, until - time.monotonic())))
        self.stdout.write("the database answers" if options["only_database"] else "all migrations have run")


def _unanswered() -> str:
    """Why the database cannot be used, as a phrase; empty if it answers."""
    try:
        connection.ensure_connection()
        return ""
    except DatabaseError as error:
        return f"the database does not answer ({type(error).__name__})"
    finally:
        connection.close()


def _missing() -> str:
    """The obstacle, as a phrase; empty if all migrations have run."""
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        return "migrations of this release have not run" if plan else ""
    except DatabaseError as error:
        return f"the database does not answer ({type(error).__name__})"
    finally:
        # A pooler or a replaced server may have terminated it.
        connection.close()
