"""What the submit form says of suites and strategies, and the plans file to start from."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from evaluator.core.plans_file import read_plans
from evaluator.core.suites.registry import suite_of
from evaluator.planners.plans_template import plans_template_of
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Submission, Visibility
from leaderboard.planners.models import Planner
from leaderboard.submissions.suite_facts import suite_facts
from tests.leaderboard.factories import make_lease, make_submission, make_suite, make_user
from tests.leaderboard.suites import JUDGED

pytestmark = pytest.mark.django_db
LAUNCHING = EvaluationState.LAUNCHING


def done(*, suite: Suite, seconds: float, usage: dict[str, float], visibility: str = Visibility.PUBLIC) -> None:
    """A completed evaluation of an endpoint that took so many seconds since its first lease."""
    evaluation = make_submission(suite=suite).evaluations.get()
    Evaluation.objects.filter(pk=evaluation.pk).update(state=LAUNCHING)
    lease = make_lease(evaluation)
    now = timezone.now()
    Attempt.objects.filter(pk=lease.attempt.pk).update(leased_at=now - timedelta(seconds=seconds))
    summary = {"usage": {name: {"mean": mean, "tasks": 1} for name, mean in usage.items()}}
    Planner.objects.filter(pk=evaluation.submission.planner_id).update(
        kind="endpoint", bundled_name="", endpoint_url="https://example.org/plan"
    )
    Submission.objects.filter(pk=evaluation.submission_id).update(visibility=visibility)
    Evaluation.objects.filter(pk=evaluation.pk).update(state=EvaluationState.COMPLETED, finished=now, summary=summary)


def test_what_was_measured_is_the_median_of_public_evaluations():
    suite = make_suite(slug="judged", runnable=4)
    for seconds, tokens in ((10, 400), (20, 500), (90, 9000)):
        done(suite=suite, seconds=seconds, usage={"seconds": 0.5, "prompt_tokens": tokens, "completion_tokens": 100})
    facts = suite_facts([suite], unit="call")["judged"]
    assert facts.price == "one call per task; planners here took 0.5 s and 600 tokens per task (median)"
    assert facts.time == "took about 20 s here (median of 3)"
    assert facts.size == f"{suite.tasks.count()} tasks"


def test_private_evaluations_tell_nothing():
    suite = make_suite(slug="judged", runnable=4)
    done(suite=suite, seconds=10, usage={"prompt_tokens": 7}, visibility=Visibility.PRIVATE)
    facts = suite_facts([suite])["judged"]
    assert (facts.price, facts.time) == ("one plan per task", "duration not measured yet")


def test_without_evaluations_the_declared_time_is_said(settings):
    settings.SAMPLES = 24
    slugs = "openagi", "toolmini", "lumos-mini"
    for slug in slugs:
        register_suite(suite_of(slug))
    facts = suite_facts(list(Suite.objects.filter(slug__in=slugs)))
    assert facts["openagi"].time == "about 56 s of computing, plus the time of your planner", "twice the samples"
    assert facts["toolmini"].time == "about 1 s of computing, plus the time of your planner"
    assert facts["lumos-mini"].price == "up to 16 turns per task"
    assert [facts[slug].what for slug in slugs] == ["executed", "judged", "in turns"]


class TestTemplate:
    def test_every_task_has_a_readable_plan_that_is_not_made_from_gold(self):
        suite = suite_of("toolmini")
        content = read_plans(plans_template_of("toolmini").encode())
        content.check(tasks={task.key for task in suite.tasks}, suite="toolmini")
        assert content.missing({task.key for task in suite.tasks}) == []
        tools = {step["tool"] for given in content.plans.values() for step in given.plan["steps"]}
        assert len(tools) == 1, "the same whatever the request"

    def test_it_is_a_download_for_suites_that_accept_files_and_404_for_others(self, client: Client):
        client.force_login(make_user("ada"))
        for slug in ("toolmini", "openagi"):
            register_suite(suite_of(slug))
        answer = client.get("/submit/plans/template/toolmini.jsonl")
        assert answer.headers["Content-Disposition"] == 'attachment; filename="toolmini-plans.jsonl"'
        assert json.loads(answer.content.splitlines()[0])["task"] == suite_of("toolmini").tasks[0].key
        for slug in ("openagi", "none"):
            assert client.get(f"/submit/plans/template/{slug}.jsonl").status_code == 404
        page = client.get("/submit/plans/").content.decode()
        assert "/submit/plans/template/toolmini.jsonl" in page
        assert "template/openagi" not in page


def test_the_forms_describe_suites_and_strategies(client: Client):
    client.force_login(make_user("ada"))
    suite = make_suite(slug="judged", runnable=4)
    Suite.objects.filter(slug="judged").update(**JUDGED, description="Requests <about> pictures.")
    chat = client.get("/submit/chat/").content.decode()
    assert "Requests &lt;about&gt; pictures." in chat
    assert f"{suite.tasks.count()} tasks, judged" in chat
    assert "one plan per task" in chat, "a strategy may call its model several times"
    assert "HuggingGPT&#x27;s task planning: one prompt, answered with a list of tasks as JSON." in chat
    assert "one call per task" in client.get("/submit/endpoint/").content.decode()
    assert "What each strategy does" not in client.get("/submit/endpoint/").content.decode()
