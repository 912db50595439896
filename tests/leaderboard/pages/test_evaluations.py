"""The evaluation page and what its owner does there."""

import re
from uuid import uuid4

import pytest
from django.test import Client

from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_results, make_suite, make_user
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


def tasks(html: str) -> list[str]:
    return re.findall(r"/tasks/(\w+)/(?:\?[^\"]*)?\" tabindex", html)


def test_page_shows_scores_outcomes_failures_and_provenance(client: Client, evaluation: Evaluation):
    html = client.get(address(evaluation)).content.decode()
    for expected in (
        "0.700",
        "95 % interval 0.650",
        "No task with this metric could run.",
        'data-live-outcome="not_run">155<',
        "Invalid plan",
        "Endpoint unavailable",
        "c0ffee",
        evaluation.profile_digest,
    ):
        assert expected in html, expected


def test_an_evaluation_that_does_not_exist_is_404(client: Client):
    assert client.get(f"/evaluations/{uuid4()}/").status_code == 404


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"outcome": "planner_fault"}, ["3", "9"]),
        ({"outcome": "planner_fault", "degradation": "noise"}, ["9"]),
        ({"outcome": "planner_fault", "q": "grayscale"}, ["3"]),
        ({"reason": "endpoint_unavailable"}, ["5"]),
        ({"metric": "CLIP"}, ["105", "106"]),
        ({"base": "translation"}, ["109", "114"]),
        ({"q": "#12"}, ["12"]),
        ({"q": "zebra"}, []),
        ({"outcome": "no-such-outcome"}, []),
    ],
)
def test_filters_combine(client: Client, evaluation: Evaluation, parameters, expected):
    html = client.get(address(evaluation), parameters).content.decode()
    found = tasks(html)
    if "base" in parameters:
        assert len(found) == 2
    else:
        assert found == expected
    assert f"{len(found)} of 185 shown" in html
    assert ("No task matches." in html) == (not found)


def test_a_filter_value_tells_how_many_it_would_show_under_the_other_filters(client: Client, evaluation: Evaluation):
    html = client.get(address(evaluation), {"metric": "ViT"}).content.decode()
    counts = dict(re.findall(r'id="f-outcome-(\w+)"[^>]*>[^<]*<span class="count">(\d+)<', html))
    assert counts == {"scored": "12", "planner_fault": "2", "infra_fault": "1", "not_run": "0"}


def test_filter_links_keep_the_other_filters_and_leave_the_page_number(client: Client, evaluation: Evaluation):
    html = client.get(address(evaluation), {"metric": "BERT", "page": "2"}).content.decode()
    assert 'href="?metric=BERT&amp;outcome=scored#results"' in html


def test_tasks_sort_and_paginate_in_the_address(client: Client, evaluation: Evaluation):
    worst = client.get(address(evaluation), {"sort": "score"}).content.decode()
    assert tasks(worst)[:2] == ["3", "9"]
    last = client.get(address(evaluation), {"page": "4"}).content.decode()
    assert tasks(last)[-1] == "184"
    assert "Page 4 of 4" in last
    assert tasks(client.get(address(evaluation), {"page": "x"}).content.decode())[0] == "0"


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


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        ("on_hold", {"resume", "accept", "cancel"}),
        ("running", {"cancel"}),
        ("queued", {"cancel"}),
        ("completed", {"rerun"}),
        ("cancelled", {"rerun"}),
        ("failed", {"rerun"}),
    ],
)
def test_only_the_owner_is_offered_what_the_state_allows(client: Client, state: str, offered: set[str]):
    evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite(), state=state)

    def actions() -> set[str]:
        html = client.get(address(evaluation)).content.decode()
        return set(re.findall(rf'action="/evaluations/{evaluation.pk}/(\w+)/"', html))

    assert actions() == set()
    client.force_login(make_user("eve"))
    assert actions() == set()
    client.force_login(evaluation.submission.submitted_by)
    assert actions() == offered | {"visibility"}


@pytest.mark.parametrize(
    ("action", "state"), [("resume", "queued"), ("accept", "aggregating"), ("cancel", "cancelled")]
)
def test_the_owner_acts_on_an_evaluation_on_hold(client: Client, action: str, state: str):
    evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite(), state="on_hold")
    make_results(evaluation, samples=0)
    client.force_login(evaluation.submission.submitted_by)
    page = client.post(address(evaluation, f"{action}/"), follow=True)
    assert page.redirect_chain == [(address(evaluation), 302)]
    evaluation.refresh_from_db()
    assert evaluation.state == state
    assert b'class="messages"' in page.content


@pytest.mark.parametrize("action", ["resume", "accept", "cancel", "rerun"])
def test_nobody_else_acts_on_it(client: Client, action: str):
    evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite(), state="on_hold")
    assert client.get(address(evaluation, f"{action}/")).status_code == 405
    assert client.post(address(evaluation, f"{action}/")).headers["Location"].startswith("/accounts/login/")
    client.force_login(make_user("eve"))
    assert client.post(address(evaluation, f"{action}/")).status_code == 403
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(evaluation.submission.submitted_by)
    assert strict.post(address(evaluation, f"{action}/")).status_code == 403
    evaluation.refresh_from_db()
    assert evaluation.state == "on_hold"


def test_an_action_that_came_too_late_is_explained(client: Client, evaluation: Evaluation):
    client.force_login(evaluation.submission.submitted_by)
    page = client.post(address(evaluation, "cancel/"), follow=True)
    assert "can be cancelled" in page.content.decode()


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


def test_text_from_users_is_never_markup(client: Client):
    planner = make_planner(owner=make_user(), name="<script>alert(1)</script>", description="<img src=x>")
    evaluation = make_evaluation(planner=planner, suite=make_suite())
    html = client.get(address(evaluation)).content.decode()
    assert "<script>alert" not in html
    assert "<img src=x>" not in html


def test_the_number_of_queries_is_constant(client: Client, evaluation: Evaluation, django_assert_max_num_queries):
    assert TaskResult.objects.filter(evaluation=evaluation).count() == 185
    # Evaluation, its re-runs, the board that ranks it; and once the suite's tasks and the results.
    for most in (5, 3):
        with django_assert_max_num_queries(most):
            client.get(address(evaluation))
    client.force_login(evaluation.submission.submitted_by)
    # Session, user, evaluation, re-runs, the board, and the log, which only its owner and staff see.
    with django_assert_max_num_queries(6):
        client.get(address(evaluation), {"outcome": "scored"})


def test_scores_are_broken_down_by_kind_of_task_with_links_that_filter(client: Client, evaluation: Evaluation):
    html = client.get(address(evaluation)).content.decode()
    part = html[html.index("By kind of task") :]
    for label in (
        "Scores by group: base task",
        "Scores by degradation",
        "Scores by modality",
        "Scores by difficulty",
    ):
        assert label in part
    assert "Scores by structure" not in part, "all tasks that have a score are linear"
    assert "Scores by language" not in part, "and in English"
    assert 'href="?degradation=noise#results"' in part
    noisy = client.get(address(evaluation), {"degradation": "noise", "steps": "2"}).content.decode()
    assert tasks(noisy)
    assert len(tasks(noisy)) < len(tasks(client.get(address(evaluation), {"degradation": "noise"}).content.decode()))


def test_it_can_be_compared_with_the_best_of_its_board(client: Client):
    suite = make_suite()
    one = make_evaluation(planner=make_planner(owner=make_user("ada"), name="one"), suite=suite)
    assert 'id="compare-with"' not in client.get(address(one)).content.decode()
    two = make_evaluation(planner=make_planner(owner=make_user("bea"), name="two"), suite=suite)
    publish(two)
    html = client.get(address(one)).content.decode()
    assert f'<option value="{two.pk}">' in html
    assert f'<option value="{one.pk}">' not in html


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
