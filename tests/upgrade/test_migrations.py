"""Migrations since the previous release are applied while its processes still use the tables."""

import tomllib
from pathlib import Path

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader

from tests.upgrade.rules import refusals

LAST = tomllib.loads((Path(__file__).parent / "previous.toml").read_text())["migrations"]


def test_no_migration_since_the_previous_release_breaks_it():
    loader = MigrationLoader(None)
    ours = {
        name for name, module in ((app, loader.migrations_module(app)[0]) for app in loader.migrated_apps) if module
    }
    later = [
        key
        for key in sorted(loader.graph.nodes)
        if key[0] in ours
        and loader.get_migration(*key).__module__.startswith("leaderboard.")
        and key[1] > LAST.get(key[0], "")
    ]
    assert set(LAST.items()) <= set(loader.graph.nodes), "the last migrations of the previous release exist"
    new_models: dict[str, set[str]] = {}
    found = []
    for key in later:
        before = loader.project_state([key], at_end=False)
        nullable = {
            (model, name)
            for (app, model), state in before.models.items()
            if app == key[0]
            for name, field in state.fields.items()
            if field.null
        }
        operations = loader.get_migration(*key).operations
        known = new_models.setdefault(key[0], set())
        found += [f"{key[0]}/{key[1]}: {why}" for why in refusals(operations, new_models=known, nullable=nullable)]
    assert not found, "docs/extending.md, Migrations, says how to do this in two releases:\n" + "\n".join(found)


NUMBER, NULL = models.IntegerField(default=0), models.IntegerField(null=True)


BREAKING = [
    migrations.AddField("row", "number", NUMBER),
    migrations.AlterField("row", "maybe", NUMBER),
    migrations.RemoveField("row", "number"),
    migrations.RenameField("row", "number", "count"),
    migrations.DeleteModel("row"),
    migrations.AddIndex("row", models.Index(fields=["number"], name="by_number")),
    migrations.AddConstraint("row", models.UniqueConstraint(fields=["number"], name="once")),
    migrations.RunPython(migrations.RunPython.noop),
    migrations.RunSQL("ALTER TABLE row ALTER COLUMN number SET NOT NULL"),
    migrations.RunSQL("UPDATE row SET number = 0"),
    migrations.SeparateDatabaseAndState(database_operations=[migrations.RemoveField("row", "number")]),
]


def test_what_breaks_the_release_before_is_refused():
    for operation in BREAKING:
        found = list(refusals([operation], new_models=set(), nullable={("row", "maybe")}))
        assert len(found) == 1, operation.describe()


def test_what_the_release_before_does_not_notice_is_allowed():
    allowed = [
        migrations.AddField("row", "number", models.IntegerField(default=0, db_default=0)),
        migrations.AddField("row", "maybe", NULL),
        migrations.AlterField("row", "number", NULL),
        AddIndexConcurrently("row", models.Index(fields=["number"], name="by_number")),
        migrations.RunSQL("ALTER TABLE row ALTER COLUMN number DROP NOT NULL"),
        migrations.CreateModel("New", [("id", models.AutoField(primary_key=True))]),
        migrations.AddField("new", "number", NUMBER),
    ]
    assert not list(refusals(allowed, new_models=set(), nullable={("row", "maybe")}))
