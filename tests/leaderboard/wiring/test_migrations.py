"""Migrations beside a running site: an index of a table that is in use is built concurrently."""

from collections.abc import Iterable

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.core.management import call_command
from django.db import migrations
from django.db.migrations.loader import MigrationLoader


def blocking(migration: migrations.Migration) -> list[str]:
    """Operations that build or drop an index while nobody can write to the table, which was there before."""
    own = {one.name_lower for one in migration.operations if isinstance(one, migrations.CreateModel)}
    return [
        operation.describe()
        for operation in migration.operations
        if isinstance(operation, migrations.AddIndex | migrations.RemoveIndex)
        and not isinstance(operation, AddIndexConcurrently | RemoveIndexConcurrently)
        and operation.model_name_lower not in own
    ]


def ours() -> Iterable[migrations.Migration]:
    """The migrations of this project."""
    loader = MigrationLoader(connection=None)
    return [one for one in loader.disk_migrations.values() if type(one).__module__.startswith("leaderboard.")]


def test_no_migration_builds_an_index_of_a_table_that_is_there_while_nobody_can_write():
    found = list(ours())
    assert len(found) > 20
    for one in found:
        if any(isinstance(operation, AddIndexConcurrently | RemoveIndexConcurrently) for operation in one.operations):
            assert one.atomic is False, one
    assert {f"{one.app_label}.{one.name}": blocking(one) for one in found if blocking(one)} == {}


@pytest.mark.django_db
def test_every_change_of_a_model_has_its_migration():
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
