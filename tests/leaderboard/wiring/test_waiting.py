"""Waiting for the migrations of a release."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from leaderboard.wiring.management.commands import wait_for_migrations


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


def test_it_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(wait_for_migrations, "_missing", lambda: "migrations of this release have not run")
    with pytest.raises(CommandError, match=r"Waited for 0.01 seconds: migrations of this release have not run\."):
        wait(0.01)
