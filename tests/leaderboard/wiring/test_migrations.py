"""Migrations beside a running site: an index of a table that is in use is built concurrently."""

from collections.abc import Iterable

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
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
    assert {f"{one.app_label}.{one.name}": blocking(one) for one in found if blocking(one)} == {}


def test_concurrent_ones_are_outside_of_a_transaction():
    for one in ours():
        if any(isinstance(operation, AddIndexConcurrently | RemoveIndexConcurrently) for operation in one.operations):
            assert one.atomic is False, one


def test_an_index_that_blocks_is_found_out_and_one_of_a_new_table_is_not():
    made = migrations.Migration("0002", "queue")
    index = models.Index(fields=["state"], name="by_state")
    made.operations = [migrations.AddIndex("Evaluation", index)]
    assert len(blocking(made)) == 1
    made.operations = [AddIndexConcurrently("Evaluation", index)]
    assert blocking(made) == []
    made.operations = [migrations.CreateModel("Evaluation", fields=[]), migrations.AddIndex("evaluation", index)]
    assert blocking(made) == []
