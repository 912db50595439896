"""Rows that were judged by other rules than those of the site today have a board of their own, and pages say so."""

import pytest
from django.test import Client

from leaderboard.boards.models import Snapshot
from leaderboard.catalog.library import judges_otherwise
from tests.fakes import evaluator as fake
from tests.leaderboard.factories import make_suite
from tests.leaderboard.planning import make_clumsy_evaluation

pytestmark = pytest.mark.django_db
OTHER = "d" * 64
ON_BOARD = "These plans were judged by other rules than"
ON_EVALUATION = "Judged by other rules than those of"


def page(path: str) -> str:
    return " ".join(Client().get(path).content.decode().split())


def test_a_board_and_its_evaluations_say_that_the_rules_have_changed(monkeypatch):
    before = make_clumsy_evaluation()
    first = Snapshot.objects.get()
    paths = ["/boards/toolmini/", f"/boards/toolmini/snapshots/{first.number}/", f"/evaluations/{before.pk}/"]
    for path in paths:
        assert not any(words in page(path) for words in (ON_BOARD, ON_EVALUATION)), path
    monkeypatch.setattr(fake, "JUDGE_DIGEST", OTHER)
    assert [words in page(path) for words, path in zip([ON_BOARD, ON_BOARD, ON_EVALUATION], paths, strict=True)] == [
        True
    ] * 3
    after = make_clumsy_evaluation()
    newest = Snapshot.objects.order_by("-number")[0]
    assert [row["evaluation"] for row in newest.content["rows"]] == [str(after.pk)]
    assert ON_BOARD not in page("/boards/toolmini/")
    assert ON_EVALUATION not in page(f"/evaluations/{after.pk}/")
    assert ON_BOARD in page(paths[1])


def test_suites_that_are_not_judged_have_no_rules_to_compare():
    assert not judges_otherwise(suite=make_suite(), profile="none", rules=OTHER)
