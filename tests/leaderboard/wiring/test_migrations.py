"""Migrations beside a running site build indexes concurrently, and processes of a release wait for them."""

from collections.abc import Iterable
from io import StringIO

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.core.management import CommandError, call_command
from django.db import OperationalError, migrations
from django.db.migrations.loader import MigrationLoader

from leaderboard.wiring.management.commands import wait_for_migrations


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
    assert len(found) > 15
    for one in found:
        if any(isinstance(operation, AddIndexConcurrently | RemoveIndexConcurrently) for operation in one.operations):
            assert one.atomic is False, one
    assert {f"{one.app_label}.{one.name}": blocking(one) for one in found if not one.initial and blocking(one)} == {}


@pytest.mark.django_db
def test_every_change_of_a_model_has_its_migration():
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def wait(seconds: float) -> list[str]:
    said = StringIO()
    call_command("wait_for_migrations", seconds=seconds, poll=0.001, stdout=said)
    return said.getvalue().splitlines()


@pytest.mark.django_db
def test_it_ends_at_once_where_all_have_run():
    assert wait(0) == ["all migrations have run"]


def test_it_waits_quietly_through_a_database_that_is_not_there_yet(monkeypatch):
    looks = iter([OperationalError("refused")] * 3 + [[("a", "b")]] * 3 + [[]])

    class Executor:
        def __init__(self, connection):
            self.loader = self
            self.graph = self

        def leaf_nodes(self):
            return []

        def migration_plan(self, leaves):
            found = next(looks)
            if isinstance(found, OperationalError):
                raise found
            return found

    monkeypatch.setattr(wait_for_migrations, "MigrationExecutor", Executor)
    assert wait(60) == [
        "waiting: the database does not answer (OperationalError)",
        "waiting: migrations of this release have not run",
        "all migrations have run",
    ]


def test_the_migration_itself_waits_only_for_the_database(monkeypatch):
    answers = iter([OperationalError("refused"), OperationalError("refused"), None])

    def connect():
        if (found := next(answers)) is not None:
            raise found

    monkeypatch.setattr(wait_for_migrations.connection, "ensure_connection", connect)
    monkeypatch.setattr(wait_for_migrations, "_missing", lambda: pytest.fail("migrations were looked for"))
    said = StringIO()
    call_command("wait_for_migrations", seconds=60, poll=0.001, only_database=True, stdout=said)
    assert said.getvalue().splitlines() == [
        "waiting: the database does not answer (OperationalError)", "the database answers",
    ]  # fmt: skip


def test_it_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(wait_for_migrations, "_missing", lambda: "migrations of this release have not run")
    with pytest.raises(CommandError, match=r"Waited for 0.01 seconds: migrations of this release have not run\."):
        wait(0.01)
