"""Migrations that are newer than the release before leave its code working: `docs/extending.md`, "Migrations"."""

import subprocess
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.models import NOT_PROVIDED

from tests.crash.effects import ROOT
from tests.crash.upgrading import PREVIOUS
from tests.leaderboard.wiring.test_migrations import blocking, ours

_TAKE_AWAY = (
    migrations.DeleteModel, migrations.RemoveField, migrations.RenameField, migrations.RenameModel,
    migrations.AlterModelTable,
)  # fmt: skip
_CHANGE = (migrations.AddConstraint, migrations.AlterField)
"""May refuse rows that the code before writes."""
_SQL_THAT_BREAKS = ("drop column", "drop table", "rename ", "set not null", "alter type")
REVIEWED: dict[str, str] = {}
"""Operations of this release that look as if they broke the code before, and why they do not."""


def breaking(migration: migrations.Migration) -> list[str]:
    """What the code before cannot live with: what it reads or writes is gone, or refuses its rows."""
    own = {one.name_lower for one in migration.operations if isinstance(one, migrations.CreateModel)}
    found = [one.describe() for one in _in_database(migration.operations) if _breaks(one, own=own)]
    return found + blocking(migration)


def _in_database(operations: list[Operation]) -> Iterator[Operation]:
    for one in operations:
        if isinstance(one, migrations.SeparateDatabaseAndState):
            yield from _in_database(one.database_operations)
        else:
            yield one


def _breaks(operation: Operation, *, own: set[str]) -> bool:
    if isinstance(operation, migrations.RunSQL):
        return any(word in str(operation.sql).lower() for word in _SQL_THAT_BREAKS)
    if getattr(operation, "model_name_lower", "") in own:
        return False
    if isinstance(operation, migrations.AddField):
        field = operation.field
        return not (field.null or field.many_to_many or field.db_default is not NOT_PROVIDED)
    return isinstance(operation, (*_TAKE_AWAY, *_CHANGE))


def names_before() -> set[str]:
    """`app/migrations/0001_name.py` of the release before."""
    done = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", PREVIOUS, "leaderboard"], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert not done.returncode, f"The release before, {PREVIOUS}, is not in this clone: fetch the whole history."
    return set(done.stdout.split())


def new_ones() -> list[migrations.Migration]:
    before = names_before()
    return [one for one in ours() if f"{type(one).__module__.replace('.', '/')}.py" not in before]


def test_migrations_of_this_release_leave_the_code_before_working():
    found = {f"{one.app_label}.{one.name}: {what}" for one in new_ones() for what in breaking(one)}
    assert found == set(REVIEWED)


def test_only_migrations_that_the_release_before_has_not_are_new():
    names = {f"{one.app_label}.{one.name}" for one in new_ones()}
    assert "queue.0001_initial" not in names
    assert len(names) < len(list(ours()))


_FILLED = models.IntegerField(default=0)


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("user", "years", _FILLED),
        migrations.RemoveField("user", "email"),
        migrations.RenameField("user", "email", "mail"),
        migrations.DeleteModel("user"),
        migrations.RenameModel("user", "person"),
        migrations.AlterField("user", "email", models.CharField(max_length=3)),
        migrations.AddConstraint("user", models.UniqueConstraint(fields=["email"], name="one")),
        migrations.AddIndex("user", models.Index(fields=["email"], name="by_email")),
        migrations.RunSQL("ALTER TABLE auth_user DROP COLUMN email"),
        migrations.SeparateDatabaseAndState(database_operations=[migrations.RemoveField("user", "email")]),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_what_breaks_the_code_before_is_found_out(operation):
    made = migrations.Migration("0002", User._meta.app_label)
    made.operations = [operation]
    assert len(breaking(made)) == 1


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("user", "years", models.IntegerField(null=True)),
        migrations.AddField("user", "years", models.IntegerField(default=0, db_default=0)),
        migrations.CreateModel("person", [("years", _FILLED)]),
        AddIndexConcurrently("user", models.Index(fields=["email"], name="by_email")),
        migrations.RunSQL("ALTER TABLE auth_user ALTER COLUMN email DROP NOT NULL"),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("user", "email")]),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_what_the_code_before_can_live_with_passes(operation):
    made = migrations.Migration("0002", User._meta.app_label)
    made.operations = [operation]
    assert breaking(made) == []
