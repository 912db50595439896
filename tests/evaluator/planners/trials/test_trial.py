"""One test call of an endpoint, against real servers."""

import json
from dataclasses import replace

import pytest

from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Reason
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.network.secret_header import SecretHeader
from evaluator.planners.endpoint import EndpointSettings
from evaluator.planners.trials.trial import Verdict, example_plan, small_task, try_endpoint
from evaluator.replies.read import read_plan
from tests.evaluator.network.test_secret_header import echo
from tests.evaluator.planners.test_endpoint import endpoint


def gold(slug: str = "openagi"):
    """The plan of the task that is asked."""
    return plan_to_json(small_task(suite_of(slug)).gold)


def trial(url: str, *, suite=None, **options):
    settings = EndpointSettings(**{"url": url, "timeout_seconds": 5, "allow_private": True, **options})
    return try_endpoint(suite=suite or suite_of("openagi"), settings=settings)


def said(**answer: object) -> tuple[int, bytes]:
    return 200, json.dumps(answer).encode()


def test_a_right_answer_is_shown_with_its_plan():
    with endpoint(said(plan=gold(), usage={"prompt_tokens": 7})) as (url, seen):
        result = trial(url)
    assert result.passed
    assert result.summary == (
        "Correct: the reference plan of this task. It would be executed, and scored by what it produces."
    )
    assert result.status == 200
    assert result.plan["steps"][0]["tool"] == gold()["steps"][0]["tool"]
    assert result.prompt_tokens == 7
    assert seen == [json.loads(result.request.model_dump_json())]
    assert '"gold"' not in result.request.model_dump_json()


@pytest.mark.parametrize(
    ("answer", "reason", "status", "sentence"),
    [
        ((200, b"hello"), Reason.INVALID_RESPONSE, 200, "not JSON"),
        ((200, b'{"plan": "(A,"}'), Reason.UNPARSABLE_PLAN, 200, "cannot be read"),
        ((200, b'{"plan": "Time Travel"}'), Reason.UNPARSABLE_PLAN, 200, "no list of the tools"),
        ((200, b'{"plan": "Colorization, Time Travel"}'), Reason.INVALID_PLAN, 200, "not valid"),
        ((404, b"nothing here"), Reason.REFUSED_BY_ENDPOINT, 404, "HTTP 404"),
        ((302, b"", {"Location": "http://a/"}), Reason.REFUSED_BY_ENDPOINT, 302, "redirects are not followed"),
        ((503, b"later"), Reason.ENDPOINT_UNAVAILABLE, 503, "HTTP 503"),
        ((200, b"x" * 2_000_000), Reason.RESPONSE_TOO_LARGE, 200, "1024 KiB"),
    ],
)
def test_a_wrong_answer_is_shown_with_what_is_wrong(answer, reason, status, sentence):
    with endpoint(answer) as (url, seen):
        result = trial(url)
    assert (result.reason, result.status) == (reason, status)
    assert sentence in result.problem
    assert len(result.answer) <= 4000
    assert len(seen) == 1, "it is asked once"


def test_private_addresses_are_not_called_and_secrets_not_shown():
    with endpoint((200, b"{}")) as (url, seen):
        refused = trial(url, allow_private=False)
    assert (refused.reason, refused.status, seen) == (Reason.ADDRESS_REFUSED, None, [])
    with endpoint(echo(200, lambda value: f"you sent {value}")) as (url, _):
        result = trial(url, header=SecretHeader("X-Api-Key", "a-very-secret-value"))
    assert result.answer == "you sent ***"
    assert "a-very-secret-value" not in repr(result)


def test_each_answer_is_judged():
    cases = [
        ("openagi", {"plan": "Time Travel"}, Verdict.UNREADABLE),
        ("openagi", {"plan": "Colorization, Time Travel"}, Verdict.UNKNOWN_TOOL),
        ("openagi", {"plan": {**gold(), "answers": []}}, Verdict.MISSING_ANSWER),
        ("openagi", {"plan": []}, Verdict.EMPTY),
        ("openagi", {"plan": None}, Verdict.ABSTAINED),
        ("openagi", {"plan": gold()}, Verdict.REFERENCE),
        ("openagi-turns", {"plan": []}, Verdict.EMPTY),
        ("openagi-turns", {"plan": {"steps": []}}, Verdict.EMPTY),
        ("openagi-turns", {"actions": ""}, Verdict.EMPTY),
        ("openagi-turns", {"answer": " "}, Verdict.EMPTY),
        ("openagi-turns", {"stop": True}, Verdict.EMPTY),
        ("openagi-turns", {"plan": None, "reason": "No tool is for this."}, Verdict.ABSTAINED),
        ("openagi-turns", {"actions": "R1 = Magic(1)"}, Verdict.UNKNOWN_TOOL),
        ("openagi-turns", {"actions": "Magic"}, Verdict.UNREADABLE),
        ("openagi-turns", {"subgoal": "Look at the picture."}, Verdict.TURN),
        ("toolmini", {"plan": {"steps": gold("toolmini")["steps"], "answers": []}}, Verdict.VALID),
    ]
    with endpoint(*(said(**answer) for _, answer, _ in cases)) as (url, _):
        for slug, answer, verdict in cases:
            result = trial(url, suite=suite_of(slug))
            passes = verdict in {Verdict.REFERENCE, Verdict.VALID, Verdict.TURN}
            assert (result.verdict, result.passed) == (verdict, passes), answer
            assert result.summary.startswith(verdict.label)
    assert result.judgement == "The judge gives it 1.00 for SE."


EMPTY = ["", "  ", "()", "[]", [], {}, {"steps": []}, {"steps": [], "answers": []}, {"steps": [], "answers": ["x"]}]


def test_an_empty_plan_is_not_called_good_and_says_what_it_would_score_and_how_a_plan_looks():
    with endpoint(*(said(plan=plan) for plan in EMPTY)) as (url, _):
        for plan in EMPTY:
            result = trial(url)
            assert not result.passed, plan
            assert result.reason in {Reason.UNPARSABLE_PLAN, Reason.INVALID_PLAN, Reason.ABSTAINED}, plan
            assert result.problem == "The plan has no steps. That is a planner fault: the task would score 0.", plan
            (step,) = result.example["steps"]
            assert step["tool"] in OPENAGI.tools
            assert step["tool"] != gold()["steps"][0]["tool"], "the example is not the answer"


def test_an_empty_plan_that_answers_with_the_input_is_not_called_good():
    """It would be executed, and the input scored as if it were an answer."""
    suite = suite_of("openagi")
    task = next(task for task in suite.tasks if task.resources.get("image") == task.expects)
    suite = replace(suite, tasks=(task,))
    with endpoint((200, b'{"plan": {"steps": [], "answers": ["$image"]}}')) as (url, _):
        result = trial(url, suite=suite)
    assert (result.passed, result.reason) == (False, None)
    assert "No tool would run" in result.problem
    assert result.example is not None


@pytest.mark.parametrize("slug", ["openagi", "toolmini"])
def test_the_example_of_a_plan_can_be_read_for_every_task(slug):
    suite = suite_of(slug)
    for task in suite.tasks:
        context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
        example = example_plan(context=context, without={step.tool for step in task.gold.steps} if task.gold else set())
        parsed = read_plan(value=example, context=context)
        codes = {problem.code for problem in check_plan(plan=parsed.plan, context=context)}
        assert codes <= {"answer_type"}, "its form is right, whatever the request wants"
