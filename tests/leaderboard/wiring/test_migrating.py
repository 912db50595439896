"""`manage.py migrate` beside a running site: bounded waits for locks, one at a time, past a pooler."""

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate as django_migrate
from django.db import connection

from leaderboard.platform.database import direct_parameters
from leaderboard.wiring.management.commands import migrate
from leaderboard.wiring.management.commands.migrate import LOCK_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def migrating(monkeypatch):
    """Replaces Django's command by statements, and gives what they answered."""
    answers = []

    def run(*statements):
        def handle(self, *args, **options):
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                    answers.append(cursor.fetchone() if cursor.description else None)

        monkeypatch.setattr(django_migrate.Command, "handle", handle)
        call_command("migrate", verbosity=0)
        return answers

    return run


def test_a_statement_waits_for_a_lock_only_so_long(migrating, monkeypatch):
    monkeypatch.delenv(LOCK_SECONDS, raising=False)
    assert migrating("SHOW lock_timeout") == [("0",)]
    monkeypatch.setenv(LOCK_SECONDS, "1")
    assert migrating("SHOW lock_timeout")[1:] == [("1s",)]
    with psycopg.connect(**direct_parameters()) as reader:
        reader.execute("SELECT count(*) FROM evaluations_evaluation")
        with pytest.raises(CommandError, match=r"held a lock for longer than 1 s .*run the command again"):
            migrating("ALTER TABLE evaluations_evaluation ADD COLUMN unused int")
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",), "only the migrations' own connection has it"


def test_two_migrations_take_turns(migrating, monkeypatch):
    monkeypatch.setenv(LOCK_SECONDS, "1")
    other = psycopg.connect(**direct_parameters(), autocommit=True)
    other.execute("SELECT pg_advisory_lock(hashtext('planarena.migrate'))")
    order = []

    def sleep(_seconds):
        order.append("waits for the other one's end")
        other.close()

    call_command("migrate", check_unapplied=True, verbosity=0)
    assert order == [], "a check waits for nobody"
    monkeypatch.setattr(migrate.time, "sleep", sleep)
    migrating("SELECT 1")
    order.append("migrated")
    assert (order[0], order[-1]) == ("waits for the other one's end", "migrated")


def test_it_goes_past_the_pooler(migrating, monkeypatch, settings):
    monkeypatch.setenv(LOCK_SECONDS, "1")
    own = connection.settings_dict
    parts = {name: own[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    settings.DIRECT_DATABASE = {**parts, "OPTIONS": {"application_name": "direct"}}
    assert migrating("SHOW application_name") == [("direct",)]
    assert connection.settings_dict is own
