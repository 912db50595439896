"""Suites of installed packages on a site: registered, evaluated and boarded; clashes are errors of the command."""

import pytest
from django.core.management import CommandError, call_command

from evaluator.core.suites import registry
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.queue.reconcile import sweep
from tests.evaluator.core.suites.test_plug_ins import EXAMPLE, install, sums_called
from tests.leaderboard.factories import make_submission
from tests.leaderboard.planning import REAL
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server

CODE = "from parcels_suite.suite import SUITES\n"


@pytest.fixture
def site(settings, own_store, monkeypatch):
    settings.EVALUATOR = REAL
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    yield
    monkeypatch.undo()
    registry.forget()


@pytest.mark.django_db(transaction=True)
def test_a_suite_of_a_package_has_a_board(site, tmp_path, monkeypatch, capsys):
    install(tmp_path, monkeypatch=monkeypatch, name="parcels", module="installed_parcels", code=CODE)
    call_command("register_suites")
    assert "parcels 1 of parcels 1.0 (15 tasks" in capsys.readouterr().out
    suite = Suite.objects.get(slug="parcels")
    made = make_submission(suite=suite, bundled_name="random-valid")
    sweep()
    with server() as url:
        work_through(url)
    evaluation = Evaluation.objects.get(submission=made)
    assert (evaluation.state, evaluation.reason) == ("completed", "published")
    assert evaluation.results.count() == 15
    (row,) = latest_snapshot(suite=suite).content["rows"]
    assert row["evaluation"] == str(evaluation.pk)


@pytest.mark.django_db
def test_the_operator_reads_about_a_clash_and_other_suites_are_registered(site, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch=monkeypatch, name="copycat", module="copycat_two", code=sums_called("toolmini"))
    with pytest.raises(CommandError, match=r'copycat 1\.0 are left out: PlanArena has a suite "toolmini" too'):
        call_command("register_suites", verbosity=0)
    assert Suite.objects.get(slug="toolmini").title != "Sums"
