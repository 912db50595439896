"""A board as its page shows it: what speaks against its order, comparisons in one click, conditions and citations."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from evaluator.core.suites.base import EXACT
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.people.models import User
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
    read,
)

pytestmark = pytest.mark.django_db
BOARD = "/boards/openagi/"


def measured(*, overall: float, exact: float) -> dict[str, Any]:
    summary = make_summary(overall)
    summary["metrics"][EXACT] = {"mean": exact, "low": None, "high": None, "tasks": 30}
    return summary


def make_board(*exact: float, owner: User | None = None) -> tuple[Suite, list[Evaluation]]:
    """Planners in the order of their scores, which fall from 0.8 by 0.1, with these shares of exact plans; and a row of
    the anchor of random plans, which scores 0.378."""
    suite, stranger = make_suite(), make_user("bea")
    evaluations = []
    for place, share in enumerate(exact):
        planner = make_planner(owner=owner if owner and place == 3 else stranger, name=f"planner {place + 1}")
        summary = measured(overall=0.8 - place / 10, exact=share)
        evaluations.append(make_evaluation(planner=planner, suite=suite, summary=summary))
    random = make_planner(owner=stranger, name="random", bundled_name="random-valid")
    publish(make_evaluation(planner=random, suite=suite, summary=measured(overall=0.378, exact=0.02)))
    return suite, evaluations


def answer(html: str) -> str:
    """The first lines as text."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html.split('<div class="answer">')[1].split("</div>")[0])).split())


def comparisons(html: str) -> dict[str, list[str]]:
    links = re.findall(r'class="comparison" href="/compare/\?([^"]+)">([^<]+)</a>', html)
    return {label: re.findall(r"e=([^&]+)", unescape(query)) for query, label in links}


def test_a_board_says_what_speaks_against_its_order(client: Client):
    make_board(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    text = answer(read(client, BOARD))
    assert (
        "Exact plan orders the planners differently (Spearman's rank correlation with Overall: \N{MINUS SIGN}1.00)."
        in text
    )
    assert (
        "A random valid plan scores 0.378 here, ahead of planner 6, which has more exact plans (60 % against 2.0 %)."
    ) in text


def test_a_board_says_how_much_headroom_shortcuts_leave_on_the_page_and_in_api_and_export(client: Client):
    suite, evaluations = make_board(0.1, 0.2)
    owner = evaluations[0].submission.planner.owner
    for name, overall in (("gold", 0.9), ("bag-of-words", 0.6), ("regex", 0.4)):
        planner = make_planner(owner=owner, name=name, bundled_name=name)
        publish(make_evaluation(planner=planner, suite=suite, summary=measured(overall=overall, exact=0.5)))
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", read(client, BOARD))).split())
    shortcut = "The shortcut bag-of-words scores 0.600 without understanding the requests"
    assert f"{shortcut}, and gold plans score 0.900: the headroom is 0.300." in text
    for address in ("/api/v1/boards/openagi/", f"{BOARD}newest.json"):
        document = client.get(address, follow=True).json()
        found = document["content"]["summary"]["headroom"]
        assert (found["shortcut"], found["mean"], found["gold"]) == ("bag-of-words", 0.6, 0.9)


def test_the_comparison_of_the_top_five_opens_in_one_click(client: Client):
    _, evaluations = make_board(0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
    found = comparisons(read(client, BOARD))
    assert found == {"Compare the top five": [str(evaluation.pk) for evaluation in evaluations[:5]]}
    html = read(client, "/compare/", e=found["Compare the top five"])
    assert all(f"planner {place}" in html for place in range(1, 6))


def test_readers_with_an_evaluation_compare_it_with_the_best_in_one_click(client: Client):
    ada = make_user("ada")
    suite, evaluations = make_board(0.6, 0.5, 0.4, 0.3, 0.2, owner=ada)
    first = str(evaluations[0].pk)
    assert "Compare mine with the best" not in read(client, BOARD)
    client.force_login(ada)
    assert comparisons(read(client, BOARD))["Compare mine with the best"] == [str(evaluations[3].pk), first]
    private = make_evaluation(
        planner=make_planner(owner=ada, name="private"), suite=suite, summary=measured(overall=0.55, exact=0.1)
    )
    private.submission.visibility = "private"
    private.submission.save()
    found = comparisons(read(client, BOARD))["Compare mine with the best"]
    assert found == [str(private.pk), first]
    assert "private" in read(client, "/compare/", e=found)


def test_digests_are_whole_and_can_be_copied(client: Client):
    make_board(0.6, 0.5)
    html = read(client, BOARD).split('id="conditions"')[1]
    copied = re.findall(r'data-copy="([^"]+)" aria-describedby="([^"]+)"', html)
    assert {"digest-profile", "digest-suite", "digest-snapshot"} <= {place for place, _ in copied}
    for place, title in copied:
        assert re.search(rf'<code id="{place}">[0-9a-f]{{32,64}}</code>', html), place
        assert f'id="{title}"' in html


def test_metrics_are_defined_in_the_tooltip_and_in_the_fold(client: Client):
    make_board(0.6, 0.5)
    html = " ".join(read(client, BOARD).split())
    words = "Higher is better. A share from 0 (no task) to 1 (all tasks). Over all tasks of the board."
    head, fold = html.split("<thead>")[1].split("</thead>")[0], html.split('id="conditions"')[1]
    assert words in head
    assert words in fold


def test_a_row_is_cited_in_three_forms(client: Client):
    _, evaluations = make_board(0.6, 0.5)
    base = f"{BOARD}snapshots/1/rows/{evaluations[0].pk}"
    [item] = json.loads(read(client, f"{base}.csl.json"))
    assert "rank 1 of 2" in item["note"]
    assert "http://testserver/boards/openagi/snapshots/1/" in item["note"]
    assert "rank 1 of 2" in read(client, f"{base}.bib")
    assert read(client, f"{base}.cff").startswith("cff-version: 1.2.0")
    assert client.get(f"{base}.doc").status_code == 404


def test_an_evaluation_on_hold_waits_for_the_reader_who_owns_it(client: Client):
    ada = make_user("ada")
    suite, _ = make_board(0.6)
    make_evaluation(planner=make_planner(owner=ada, name="held"), suite=suite, state=EvaluationState.ON_HOLD)
    assert ">On hold<" in read(client, BOARD)
    client.force_login(ada)
    html = read(client, BOARD)
    assert "Waiting for you" in html
    assert ">On hold<" not in html
