"""`manage.py migrate`: Django's, which refuses the tables of releases before version 0.1."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.recorder import MigrationRecorder

_EARLIER_APPS = frozenset({"outbox", "workers"})
"""Applications whose tables have another name now."""


class Command(migrate.Command):
    """Migrations were squashed without a way from the tables before: there was no release."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command.

        Raises:
            CommandError: the database holds tables of an earlier layout; nothing was changed.
        """
        connection = connections[options.get("database") or DEFAULT_DB_ALIAS]
        if _EARLIER_APPS & {app for app, _ in MigrationRecorder(connection).applied_migrations()}:
            raise CommandError(
                "The database holds tables of an earlier layout, which this version cannot read. Nothing was changed. "
                f"Keep them with the version that made them, and start this one with an empty database: set "
                f"PLANARENA_DATA to another folder, or delete {settings.DATA_DIR}; with DATABASE_URL, create a new "
                "database."
            )
        super().handle(*args, **options)
