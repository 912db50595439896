"""The evaluation page and what its owner does there."""

import re

import pytest
from django.test import Client

from evaluator.core.records import PlannerCall
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.planners.models import Planner, PlannerKind
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_summary,
    make_user,
    tasks,
)
from tests.memory import forget_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation() -> Evaluation:
    """A completed evaluation of `ada`: 27 scored, 2 planner faults, 1 infrastructure fault, 155 not run."""
    made = make_evaluation(planner=make_planner(owner=make_user(), name="mine"), suite=make_suite())
    make_results(made, samples=0)
    return made


def address(evaluation: Evaluation, rest: str = "") -> str:
    return f"/evaluations/{evaluation.pk}/{rest}"


def test_the_address_filters_sorts_and_paginates_tasks(client: Client, evaluation: Evaluation):
    for parameters, expected in (
        ({"outcome": "planner_fault", "degradation": "noise"}, ["9"]),
        ({"reason": "endpoint_unavailable"}, ["5"]),
        ({"metric": "CLIP"}, ["105", "106"]),
        ({"q": "#12"}, ["12"]),
        ({"outcome": "no-such-outcome"}, []),
    ):
        html = client.get(address(evaluation), parameters).content.decode()
        assert tasks(html) == expected
        assert f"{len(expected)} of 185 shown" in html
        assert ("No task matches." in html) == (not expected)
    worst = client.get(address(evaluation), {"sort": "score"}).content.decode()
    assert tasks(worst)[:2] == ["3", "9"]
    assert tasks(client.get(address(evaluation), {"page": "4"}).content.decode())[-1] == "184"
    assert tasks(client.get(address(evaluation), {"page": "x"}).content.decode())[0] == "0"


def test_a_line_says_how_many_replies_could_be_read_and_what_was_tolerated(client: Client, evaluation: Evaluation):
    assert "29 of 30 replies could be read. Tolerated: code fence 30, prose 30." in (
        client.get(address(evaluation)).content.decode()
    )
    reading = {"replies": 29, "unreadable": 2, "tolerated": {"envelope: fence": 12, "dialect: <b>": 1}}
    evaluation.summary = {**evaluation.summary, "reading": reading}
    evaluation.save()
    forget_everything()
    html = client.get(address(evaluation)).content.decode()
    assert "27 of 29 replies could be read. Tolerated: code fence 12, dialect: &lt;b&gt; 1." in html
    del evaluation.summary["reading"]
    evaluation.save()
    forget_everything()
    assert "could be read" not in client.get(address(evaluation)).content.decode()


def test_pages_show_the_reported_tokens_and_the_declared_model_of_a_chat_planner(client: Client):
    planner = Planner.objects.create(
        owner=make_user(), name="mine", kind=PlannerKind.CHAT, endpoint_url="https://example.org/v1",
        strategy="json-plan", model_id="vendor/m", model_name="m", parameters=8_000, prompt_price=2.5,
        completion_price=10, cached_price=0.125,
    )  # fmt: skip
    call = PlannerCall(seconds=2.5, prompt_tokens=1200, completion_tokens=34, cached_tokens=900, reasoning_tokens=20)
    usage = {"seconds": 2.5, "prompt_tokens": 1200, "completion_tokens": 34, "cached_tokens": 900}
    summary = make_summary() | {"usage": {name: {"mean": mean, "tasks": 30} for name, mean in usage.items()}}
    made = make_evaluation(planner=planner, suite=make_suite(), summary=summary)
    make_results(made, samples=0, call=call)
    html = " ".join(client.get(address(made)).content.decode().split())
    assert "Mean per task: planner latency 2.5 s, tokens 1,200 in (900 cached), 34 out." in html
    assert '<code class="break">vendor/m</code>, 8,000 parameters <span class="soft">(as declared)</span>' in html
    html = client.get(address(made, "tasks/0/")).content.decode()
    assert "<dt>Tokens</dt><dd>1,200 in (900 cached), 34 out (20 reasoning)</dd>" in html
    publish(made)
    html = client.get("/boards/openagi/", {"column": ["cost", "tokens"]}).content.decode()
    assert [
        re.search(rf">{figure}<span\s+class=.range-text.>([^<]*)<", html)[1] for figure in ("1,234", "\\$0.0012")
    ] == [
        "1,200 in (900 cached), 34 out",
        "$2.50 in, $0.125 cached, $10.00 out per million, as declared",
    ]


def test_a_running_evaluation_is_followed_live_and_works_without_javascript(client: Client):
    suite = make_suite()
    planner = make_planner(owner=make_user())
    running = make_evaluation(planner=planner, suite=suite, state="running", reason_text="Workers are running.")
    make_results(running, samples=0, upto=20)
    html = client.get(address(running)).content.decode()
    assert f'data-events="/evaluations/{running.pk}/events/"' in html
    assert '<noscript><meta http-equiv="refresh"' in html
    assert '<progress max="185" value="20"' in html
    assert "Workers are running." in html
    assert "Waiting" in html, "tasks without a result are listed, too"
    done = client.get(address(make_evaluation(planner=planner, suite=suite))).content.decode()
    assert "data-events" not in done


def test_only_the_owner_is_offered_what_the_state_allows():
    stranger, owner, suite = make_user("eve"), make_user(), make_suite()
    readers = [Client(), Client(), Client()]
    readers[1].force_login(stranger)
    readers[2].force_login(owner)
    for state, offered in (
        ("on_hold", {"resume", "accept", "cancel"}),
        ("running", {"cancel"}),
        ("queued", {"cancel"}),
        ("completed", {"rerun"}),
        ("cancelled", {"rerun"}),
        ("failed", {"rerun"}),
    ):
        evaluation = make_evaluation(planner=make_planner(owner=owner, name=state), suite=suite, state=state)
        pages = [reader.get(address(evaluation)).content.decode() for reader in readers]
        found = [set(re.findall(rf'action="/evaluations/{evaluation.pk}/(\w+)/"', html)) for html in pages]
        assert found == [set(), set(), offered | {"visibility"}], state


def test_the_owner_acts_on_an_evaluation_on_hold(client: Client):
    owner, suite = make_user(), make_suite()
    client.force_login(owner)
    for action, state in (("resume", "queued"), ("accept", "aggregating"), ("cancel", "cancelled")):
        evaluation = make_evaluation(planner=make_planner(owner=owner, name=action), suite=suite, state="on_hold")
        make_results(evaluation, samples=0, upto=6)
        page = client.post(address(evaluation, f"{action}/"), follow=True)
        assert page.redirect_chain == [(address(evaluation), 302)]
        evaluation.refresh_from_db()
        assert evaluation.state == state
        assert b'class="messages"' in page.content


def test_an_endpoint_address_is_shown_to_its_owner_only(client: Client):
    owner = make_user()
    planner = make_planner(owner=owner, name="remote", endpoint_url="https://secret.example.org/plan")
    evaluation = make_evaluation(planner=planner, suite=make_suite())
    make_results(evaluation, samples=0, upto=3)
    pages = (address(evaluation), address(evaluation, "tasks/0/"), "/boards/openagi/", "/")
    for reader in (None, make_user("eve")):
        if reader:
            client.force_login(reader)
        for page in pages:
            assert b"secret.example.org" not in client.get(page).content
    client.force_login(owner)
    assert b"https://secret.example.org/plan" in client.get(address(evaluation)).content


def test_scores_are_broken_down_by_kind_of_task_with_links_that_filter(client: Client, evaluation: Evaluation):
    html = client.get(address(evaluation)).content.decode()
    part = html[html.index("By kind of task") :]
    assert "<caption>Overall by degradation" in part
    assert 'href="?degradation=noise#results"' in part
    assert "Overall by structure" not in part, "all tasks that have a score are linear"


def test_what_is_kept_of_a_page_is_neither_of_other_filters_nor_from_before_a_result(
    client: Client, evaluation: Evaluation
):
    whole = client.get(address(evaluation)).content.decode()
    faulty = client.get(address(evaluation), {"outcome": "planner_fault"}).content.decode()
    assert tasks(faulty) == ["3", "9"] != tasks(whole)
    moving = make_evaluation(planner=make_planner(owner=make_user("bob")), suite=evaluation.suite, state="running")
    make_results(moving, samples=0)
    before = client.get(address(moving)).content.decode()
    TaskResult.objects.filter(evaluation=moving, outcome="planner_fault").update(outcome="scored", score=0.123)
    after = client.get(address(moving)).content.decode()
    assert ("0.123" in before, "0.123" in after) == (False, True)
    forget_everything()
    assert client.get(address(moving)).content.decode() == after
