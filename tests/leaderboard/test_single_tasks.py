"""Scores of single tasks of an open season are for operators: asked at every address of the site, so that a new one is
asked, too.

Every task has a score of its own that no mean equals. Everybody who is no operator, the owner included, reads every
address, and none of the answers may hold one of these scores. When the season is closed, the same walk finds them.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import reverse

from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.hidden import HIDDEN, asked_name
from leaderboard.catalog.hidden_data import seed_of
from leaderboard.catalog.models import Season, Suite, Task
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.evaluations.web.gathering import progress as progress_of
from leaderboard.operations.leaving.export import export
from leaderboard.people.models import Team, User
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue import further_runs
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.quotas.models import QuotaEntry
from leaderboard.rewards.services import accept_rewards
from leaderboard.submissions.actions import rerun
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.factories import make_regraded, make_season, make_submission, make_suite
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
from tests.leaderboard.test_hidden_gold import OWN
from tests.memory import forget_everything

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]
SCORES = {"0": 0.7913, "1": 0.6377, "2": 0.5881, "3": 0.9173}
"""By task: no mean, difference or rounding of others equals one of them."""
OTHERS = {"0": 0.7247, "1": 0.6679, "2": 0.5573, "3": 0.9439}
WORDS = re.compile(
    # Not the fraction of a second, as in 12:00:10.791.
    r"(?<!\d)(" + "|".join(re.escape(f"{score:.3f}") for score in (*SCORES.values(), *OTHERS.values())) + ")"
    r"|(?<!\d)(" + "|".join(re.escape(f"{score:.4f}") for score in (*SCORES.values(), *OTHERS.values())) + ")"
)
CLOSES = "2099-03-01T00:00Z"


def record(task: str, *, scores: dict[str, float], faulty: str = "") -> ResultRecord:
    found = ResultRecord(
        suite="openagi", task=task, request=f"Request {task}", metric="vit", outcome=Outcome.SCORED,
        score=scores[task], plan=OWN,
    )  # fmt: skip
    fault = {"outcome": Outcome.PLANNER_FAULT, "reason": Reason.PLANNER_TIMEOUT, "reason_text": "No answer in time."}
    return found.model_copy(update={**fault, "score": 0.0}) if task == faulty else found


@pytest.fixture(scope="module")
def made(module_rows, tmp_path_factory) -> Iterator[list[dict[str, Any]]]:
    """Two completed evaluations of an open season, one with a fault, one that goes on, and a further run of a task."""
    reset_launcher()
    with override_settings(STORE_DIR=tmp_path_factory.mktemp("single") / "store", SPLIT=HIDDEN):
        yield make_things()


@pytest.fixture
def things(made) -> list[dict[str, Any]]:
    """What can be asked for, by processes that have just been started."""
    forget_everything()
    return made


def make_things() -> list[dict[str, Any]]:
    owner, lab = make_readers()
    suite = make_suite(slug="openagi")
    Task.objects.filter(suite=suite).update(gold=OWN)
    make_season()
    Season.objects.update(closes=CLOSES)
    first, second, faulty, moving = (
        make_submission(user=owner, team=lab, suite=suite, bundled_name="no-op", name=name).evaluations.get()
        for name in ("first", "second", "faulty", "moving")
    )
    complete(first, record=partial(record, scores=SCORES))
    complete(second, record=partial(record, scores=OTHERS))
    complete(faulty, record=partial(record, scores=SCORES, faulty="2"))
    deliver_some(moving, record=partial(record, scores=SCORES))
    shared = {
        "compared": first.pk, "other": second.pk, "profiled": first.pk, "regraded": make_regraded(first).pk,
        "digest": record_of(first), "hidden_digest": record_of(first),
    }  # fmt: skip
    again = make_further_run(owner, lab=lab, suite=suite)
    return [things_of(one, **shared) for one in (first, second, faulty, moving, again)]


def make_further_run(owner: User, *, lab: Team, suite: Suite) -> Evaluation:
    """A completed further run of a single task."""
    first = make_submission(user=owner, team=lab, suite=suite, bundled_name="no-op", name="again").evaluations.get()
    with override_settings(FURTHER_RUNS=1), mock.patch.object(further_runs, "check_size", return_value=1):
        leases.complete(deliver_some(first, record=partial(record, scores=SCORES)).attempt.pk)
        sweep()
        again: Evaluation = first.further_runs.get()
        sweep()
        complete(again, record=partial(record, scores=SCORES))
        sweep()
    assert Evaluation.objects.get(pk=first.pk).state == "completed"
    return again


def telling(name: str, things: list[dict[str, Any]], *, full: bool) -> dict[str, str]:
    """The routes, by address, at which a reader finds the score of a single task."""
    found = {}
    for address, client in asking(name, (address for address, _ in addresses_of(things)), full=full):
        body = answer(client, address.path)[1]
        if WORDS.search(body):
            found[address.path] = address.route
    return found


def close(things: list[dict[str, Any]]) -> None:
    Evaluation.objects.filter(pk=things[3]["evaluation"]).update(state="cancelled")
    call_command("season", "close", "1", verbosity=0)
    forget_everything()


def test_nobody_but_operators_reads_the_score_of_a_single_task_of_an_open_season(things, full):
    # Operators come first, so that what a process keeps would reach the others.
    by_staff = set(telling("staff", things[:1], full=full).values())
    readers = EVERYBODY if full else LEAST_AND_MOST
    # The evaluation with a fault goes through the same pages as the first.
    read = things if full else [things[0], things[3], things[4]]
    told = {name: telling(name, read, full=full) for name in readers}
    assert told == {name: {} for name in readers}
    assert {"api:results", "api:record", "evaluations:task"} <= by_staff


def test_everybody_reads_them_when_the_season_is_closed(things, full):
    close(things)
    shown = set(telling("anonymous", things[:1], full=full).values())
    assert {
        "api:results", "api:record", "evaluations:task", "evaluations:detail", "evaluations:task-across",
        "api:board-tasks", "boards:tasks-file", "api:compare", "compare:compare", "api:evaluation-proof",
        "sharing:results-csv", "sharing:results-json",
    } <= shown, shown  # fmt: skip
    # No part of the walk: a stream that is read a page at a time. `test_refusals_say_until_when` asks for it before.
    archive = answer(Client(), reverse("sharing:archive", args=[things[0]["evaluation"]]))[1]
    assert WORDS.search(archive)


def test_refusals_say_until_when(things):
    client = clients("owner")[0]
    evaluation = things[0]["evaluation"]
    sentence = "Scores of single tasks are shown when season 1 closes, which is planned for 2099-03-01."
    refused = client.get(reverse("api:results", args=[evaluation]))
    assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (403, "season_open", sentence)
    for route, arguments in [
        ("evaluations:task", [evaluation, "0"]),
        ("sharing:results-csv", [evaluation]),
        ("sharing:archive", [evaluation]),
    ]:
        response = client.get(reverse(route, args=arguments))
        assert response.status_code == 403, route
        assert sentence in response.content.decode(), route
    assert sentence in client.get(reverse("evaluations:detail", args=[evaluation])).content.decode()
    assert sentence in client.get(reverse("boards:tasks", args=["openagi"])).content.decode()


def test_filters_do_not_tell_which_tasks_they_keep(things):
    page = reverse("evaluations:detail", args=[things[0]["evaluation"]])
    bodies = {
        answer(Client(), f"{page}{query}")[1] for query in ("", "?outcome=scored", "?q=Request+0", "?sort=-score")
    }
    shown = {body[body.index('id="results"') : body.index("</section>", body.index('id="results"'))] for body in bodies}
    assert len(shown) == 1


def test_the_owner_finds_faults_by_the_ids_of_requests(things):
    evaluation = Evaluation.objects.get(pk=things[2]["evaluation"])
    name = asked_name("2", suite="openagi", seed=seed_of(evaluation))
    client = clients("owner")[0]
    (group,) = client.get(reverse("api:failures", args=[evaluation.pk])).json()
    assert (group["reason"], group["count"]) == ("planner_timeout", 1)
    assert group["causes"][0]["examples"] == [name]
    page = answer(client, reverse("evaluations:detail", args=[evaluation.pk]))[1]
    assert "No answer in time." in page
    assert name in page


def test_what_runs_tells_neither_scores_nor_causes_of_what_has_ended(things):
    moving = Evaluation.objects.get(pk=things[3]["evaluation"])
    assert progress_of(moving)["results"] == []
    assert states.snapshot(moving.pk)["results"], "what is kept for closed seasons"
    for name in EVERYBODY:
        client = clients(name)[0]
        for route in ("api:breakdowns", "api:causes"):
            found = client.get(reverse(route, args=[moving.pk])).json()
            assert not any(found.values()), (name, route)
        compared = client.get(reverse("api:compare"), {"e": [str(things[0]["evaluation"]), str(moving.pk)]})
        assert compared.status_code == 400


def test_means_over_all_tasks_are_shown_and_groups_of_few_tasks_are_not(things):
    whole = Client().get(reverse("api:evaluation", args=[things[0]["evaluation"]])).json()
    assert whole["summary"]["metrics"]["overall"]["mean"] == pytest.approx(sum(SCORES.values()) / 4)
    found = Client().get(reverse("api:breakdowns", args=[things[0]["evaluation"]])).json()
    assert found == {"scores": [], "indicators": []}
    compared = (
        Client().get(reverse("api:compare"), {"e": [str(things[0]["evaluation"]), str(things[1]["evaluation"])]}).json()
    )
    assert compared["tasks"] == []
    assert compared["comparisons"][0]["groups"] == []
    assert compared["differing"] == 4


def test_the_means_of_a_further_run_are_withheld_and_it_counts_as_no_evaluation_of_the_planner(things):
    again = Evaluation.runs.get(pk=things[4]["evaluation"])
    assert (again.split, again.season_id, again.tasks_total) == (HIDDEN, "1", 1)
    assert again.summary == {"metrics": {}, "outcomes": {}}
    assert not QuotaEntry.objects.filter(evaluation=again).exists()
    with pytest.raises(NotPossibleError, match="run that one again"):
        rerun(again, by=User.objects.get(username="owner"))


def test_an_export_of_the_owner_s_account_has_none(things):
    text = "".join(export(User.objects.get(username="owner")))
    assert "when season 1 closes" in text
    assert not WORDS.search(text)


def test_plans_for_a_hidden_suite_get_no_rewards(things):
    with pytest.raises(FieldErrors, match="on hidden data, whose gold plans are withheld"):
        accept_rewards(user=User.objects.get(username="owner"), suite="openagi", proposals=[("0", "Colorization")])
