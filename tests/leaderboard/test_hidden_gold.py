"""Gold plans of a hidden split are for staff: asked at every address of the site, so that a new one is asked, too.

A gold plan that can be recognised is planted in the tasks, in what a planner that knows it answered, and in the words
of the judge. Then everybody who is not staff reads every address, and none of the answers may hold a word of it.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from evaluator.core.records import Outcome, ResultRecord, TextPair
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.values import Artefact, MediaType
from leaderboard.catalog.models import Season, Suite, Task
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.web.gathering import progress as progress_of
from leaderboard.evaluations.withheld import Withheld
from tests.fakes.launcher import reset_launcher
from tests.leaderboard import suites
from tests.leaderboard.factories import make_record, make_regraded, make_season, make_submission, make_suite
from tests.leaderboard.readers import (
    EVERYBODY,
    LEAST_AND_MOST,
    addresses_of,
    answer,
    asking,
    clients,
    complete,
    deliver_some,
    make_readers,
    record_of,
    things_of,
)  # fmt: skip
from tests.leaderboard.reliability.factories import make_profile
from tests.memory import forget_everything
from tests.rings import usual
from tests.routes import Address

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]
MARK = "5e1f77aa"
"""Is in every text that tells about the gold plan."""
STEPS = "815177"
"""Number of steps of the gold plan, as no id and no digest of this test has it."""
TOOL = f"Gold{MARK}"
GOLD = {
    "steps": [{"id": "s1", "tool": TOOL, "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}}],
    "answers": ["s1.image"],
    "subgoals": None,
}
OWN = {
    "steps": [{"id": "s1", "tool": "Colorization", "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}}],
    "answers": ["s1.image"],
    "subgoals": None,
}
ATTRIBUTES = {"base": "restoration", "degradations": ["noise"], "language": "en", "gold_steps": int(STEPS)}
JUDGED = {"group": "QA", "level": "easy", "active": True, "parts": [f"part {MARK}"], "flags": [f"flag {MARK}"]}
FIVE = ("SE", "IR", "NR", "HR", "CR")
MARKS = [suites.indicator(key, label=key, lower=key in {"IR", "HR"}) for key in FIVE]
CAUSES = [
    {"cause": "missing_step", "tool": TOOL, "wanted": f"after {MARK}"},
    {"cause": "wrong_tool", "step": "s1", "tool": "Colorization", "wanted": TOOL},
    {"cause": "wrong_answer", "given": f"quotes {MARK}", "where": f"in {MARK}"},
]


@pytest.fixture(scope="module")
def made(module_rows, tmp_path_factory) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """A store, and what can be asked for: evaluations on the hidden split by a planner that answers with gold plans,
    by another and by one that goes on, one from before the split was hidden, and one whose plans were judged."""
    store = tmp_path_factory.mktemp("gold") / "store"
    reset_launcher()
    with override_settings(STORE_DIR=store):
        yield store, make_things()


@pytest.fixture
def things(made, settings) -> list[dict[str, Any]]:
    """What can be asked for, on a site whose season is open."""
    settings.STORE_DIR, found = made
    settings.KEEP_PAGES_SECONDS, settings.SPLIT = 60, HIDDEN
    forget_everything()
    return found


def make_things() -> list[dict[str, Any]]:
    owner, lab = make_readers()
    executed, judged = make_suite(slug="openagi"), make_suite(slug="judged")
    Task.objects.filter(suite=executed).update(gold=GOLD, attributes=ATTRIBUTES)
    Task.objects.filter(suite=judged).update(gold=GOLD, attributes={**JUDGED, "uncovered": f"unknown {MARK}"})

    def submit(suite: Suite, name: str, bundled_name: str = "gold") -> Evaluation:
        submitted = make_submission(user=owner, team=lab, suite=suite, name=name, bundled_name=bundled_name)
        return submitted.evaluations.get()

    before = submit(executed, "before")
    complete(before, record=partial(record, suite="openagi", plan=GOLD))
    with override_settings(SPLIT=HIDDEN):
        make_season()
        known, other = submit(executed, "knows"), submit(executed, "other", "no-op")
        complete(known, record=partial(record, suite="openagi", plan=GOLD))
        complete(other, record=partial(record, suite="openagi", plan=OWN))
        moving, wanted = submit(executed, "moving"), submit(judged, "judged", "no-op")
        deliver_some(moving, record=partial(record, suite="openagi", plan=GOLD))
        Evaluation.objects.filter(pk=wanted.pk).update(split=HIDDEN, season="1")
        complete(wanted, record=partial(record, suite="judged", plan=OWN))
    Suite.objects.filter(pk=judged.pk).update(**suites.JUDGED, metrics=[suites.column("overall", primary=True), *MARKS])
    TaskResult.objects.update(causes=CAUSES)
    shared = {
        "compared": known.pk, "other": other.pk, "profiled": make_profile(known).pk,
        "regraded": make_regraded(known).pk,
        "digest": record_of(before), "hidden_digest": record_of(known),
    }  # fmt: skip
    return [things_of(one, **shared) for one in (known, before, other, moving, wanted)]


def close_season() -> None:
    """As `season close` does. Gold plans stay withheld, single tasks do not (`test_single_tasks.py`)."""
    Season.objects.update(closed=timezone.now())
    forget_everything()


def record(task: str, *, suite: str, plan: dict[str, Any]) -> ResultRecord:
    """A record whose planner's texts name its plan, and whose judge names the gold plan."""
    tool = plan["steps"][0]["tool"]
    return ResultRecord(
        suite=suite,
        task=task,
        request=f"Request {task}",
        metric="vit",
        outcome=Outcome.SCORED,
        score=0.5,
        reason_text=f"Called {tool}.",
        planner_notes={"answer": tool},
        plan_received=tool,
        plan=plan,
        tolerated=[f"read {tool}"],
        indicators=dict.fromkeys(FIVE, 1.0),
        explanations=dict.fromkeys((*FIVE, "goal"), f"step 1 ({tool}): misses {MARK}"),
        pairs=[TextPair(kind="question", wanted=MARK, given=tool, why=f"“{MARK}” is not in the lexicon")],
    )


def asked(things: list[dict[str, Any]]) -> Iterator[Address]:
    for address, one in addresses_of(things):
        # Suites that judge plans have no hidden split: their data is published, and so are the goals.
        if address.route != "api:tasks" or one["suite"] != "judged":
            yield address


def telling(name: str, things: list[dict[str, Any]], *, full: bool) -> dict[str, Any]:
    """The addresses at which a reader sees a word of the gold plan, with the last answer of each."""
    found = {}
    for address, client in asking(name, asked(things), full=full):
        response, body = answer(client, address.path)
        if MARK in body or STEPS in body:
            found[address.path] = (address.route, response)
    return found


@pytest.mark.parametrize("closed", usual([False, True], of=[True]))
def test_nobody_but_staff_reads_a_word_of_the_gold_plans_of_a_hidden_split(things, closed, full):
    if closed:
        close_season()
    # A planner that answers with the gold plans, and one whose plans were judged, tell most.
    read = things if full else [things[0], things[4]]
    # Staff come first, so that what a process keeps would reach the others.
    by_staff = telling("staff", read, full=full)
    readers = EVERYBODY if full else LEAST_AND_MOST
    told = {name: list(telling(name, read, full=full)) for name in readers}
    assert told == {name: [] for name in readers}
    shown = {route for route, _ in by_staff.values()}
    assert {"api:tasks", "evaluations:task", "api:record", "api:results", "compare:compare"} <= shown
    assert {"object", "hidden-object"} <= shown
    kept = [path for path, (_, response) in by_staff.items() if "no-store" not in response.get("Cache-Control", "")]
    assert kept == [], "no cache keeps what staff see"


def test_everybody_reads_gold_plans_while_the_public_split_is_evaluated(things, settings):
    digest = server_store(split="public").put(Artefact(data=b"a picture", media_type=MediaType.TEXT))
    assert Client().get(f"/objects/{digest}").status_code == 200, "what holds no gold plan stays public"
    settings.SPLIT = "public"
    for path in (reverse("api:tasks", args=["openagi"]), f"/objects/{things[0]['digest']}"):
        assert MARK in answer(Client(), path)[1], path


def test_withheld_plans_cannot_be_searched_for(things):
    close_season()
    for client in (client for name in EVERYBODY for client in clients(name)):
        for one in things[:2]:
            results = reverse("api:results", args=[one["evaluation"]])
            assert client.get(f"{results}?q={TOOL}").json()["results"] == []
            page = reverse("evaluations:detail", args=[one["evaluation"]])
            # Only the suite that executes plans can be filtered by the steps of its gold plans.
            steps = [f"?steps={STEPS}"] if one is things[0] else []
            for query in (f"?tool={TOOL}", f"?q={TOOL}", *steps):
                body = answer(client, page + query)[1].partition('id="results"')[2]
                assert reverse("evaluations:task", args=[one["evaluation"], "1"]) not in body, query


def test_what_is_told_of_an_evaluation_while_it_runs_holds_no_gold(things):
    for one in things:
        evaluation = Evaluation.objects.get(pk=one["evaluation"])
        told = json.dumps([states.snapshot(evaluation.pk), progress_of(evaluation)])
        assert MARK not in told


def test_owner_and_team_see_their_own_plan_and_score_on_a_hidden_split(things):
    close_season()
    other, judged = things[2], things[4]
    for client in (clients(name)[0] for name in ("owner", "member")):
        page = answer(client, reverse("evaluations:task", args=[other["evaluation"], "0"]))[1]
        assert "Colorization" in page
        assert "0.500" in page
        found = client.get(reverse("api:record", args=[other["evaluation"], "0"])).json()
        assert (found["score"], found["record"]["plan"]) == (0.5, OWN)
        assert (found["record"]["explanations"], found["record"]["pairs"]) == ({}, [])
        page = answer(client, reverse("evaluations:task", args=[judged["evaluation"], "0"]))[1]
        assert "Not shown while the split is hidden." in page
        assert "IR 1" in page


def test_the_page_of_a_planner_that_answers_with_the_gold_plans_says_why_its_plans_are_missing(things):
    close_season()
    page = answer(Client(), reverse("evaluations:task", args=[things[0]["evaluation"], "0"]))[1]
    assert "This planner answers with gold plans, so its plans are not shown." in page
    assert "0.500" in page
    listed = answer(Client(), reverse("evaluations:detail", args=[things[0]["evaluation"]]))[1]
    assert "Scored" in listed
    assert "Empty plan" not in listed, "a plan that is withheld is not an empty one"


def test_of_a_closed_season_all_records_are_public_but_those_of_gold_plans(things):
    of_other = TaskResult.objects.filter(evaluation=things[2]["evaluation"]).exclude(record_digest="")[0].record_digest
    wanted = {things[0]["hidden_digest"]: (404, 404), of_other: (404, 200)}
    before = {digest: Client().get(f"/objects/{digest}").status_code for digest in wanted}
    close_season()
    assert {digest: (before[digest], Client().get(f"/objects/{digest}").status_code) for digest in wanted} == wanted


def test_all_that_quotes_a_hidden_request_is_withheld_with_its_data():
    quoting = {"request": MARK, "planner_notes": {"prompt": MARK}, "plan_received": MARK}
    record = make_record("0", suite="openagi").model_copy(update=quoting)
    assert MARK not in record.model_copy(update=Withheld(data=True).without()).model_dump_json()
