"""One test call of an endpoint, against real servers."""

import json
import time
from dataclasses import replace

import pytest

from evaluator.planners import EndpointSettings
from evaluator.planners.secret_header import SecretHeader
from evaluator.planners.trials import Verdict, small_task, try_endpoint
from evaluator.planners.trials.empty_plans import example_plan
from evaluator.plans import check_plan, plan_to_json, read_plan
from evaluator.records import Reason
from evaluator.suites import suite_of
from tests.evaluator.planners.test_endpoint import endpoint

SUITE = suite_of("openagi")


def trial(url: str, **options):
    settings = EndpointSettings(**{"url": url, "timeout_seconds": 5, "allow_private": True, **options})
    return try_endpoint(suite=SUITE, settings=settings)


def test_a_right_answer_is_shown_with_its_plan():
    gold = plan_to_json(small_task(SUITE).gold)
    with endpoint((200, json.dumps({"plan": gold, "usage": {"prompt_tokens": 7}}).encode())) as (url, seen):
        found = trial(url)
    assert found.passed
    assert found.summary == (
        "Correct: the reference plan of this task. It would be executed, and scored by what it produces."
    )
    assert found.status == 200
    assert found.plan["steps"][0]["tool"] == gold["steps"][0]["tool"]
    assert found.prompt_tokens == 7
    assert seen == [json.loads(found.request.model_dump_json())]
    assert '"gold"' not in found.request.model_dump_json()


@pytest.mark.parametrize(
    ("answer", "reason", "status", "sentence"),
    [
        ((200, b"hello"), Reason.INVALID_RESPONSE, 200, "not JSON"),
        ((200, b"<html>"), Reason.INVALID_RESPONSE, 200, "not JSON"),
        ((200, b'{"plan": "(A,"}'), Reason.UNPARSABLE_PLAN, 200, "cannot be read"),
        ((200, b'{"plan": "Time Travel"}'), Reason.UNPARSABLE_PLAN, 200, "names no tool"),
        ((200, b'{"plan": "Colorization, Time Travel"}'), Reason.INVALID_PLAN, 200, "not valid"),
        ((404, b"nothing here"), Reason.REFUSED_BY_ENDPOINT, 404, "HTTP 404"),
        (
            (302, b"", {"Location": "http://127.0.0.1:1/"}),
            Reason.REFUSED_BY_ENDPOINT,
            302,
            "redirects are not followed",
        ),
        ((503, b"later"), Reason.ENDPOINT_UNAVAILABLE, 503, "HTTP 503"),
        ((200, b"x" * 2_000_000), Reason.RESPONSE_TOO_LARGE, 200, "1024 KiB"),
    ],
)
def test_a_wrong_answer_is_shown_with_what_is_wrong(answer, reason, status, sentence):
    with endpoint(answer) as (url, seen):
        found = trial(url)
    assert (found.reason, found.status) == (reason, status)
    assert sentence in found.problem
    assert len(found.answer) <= 4000
    assert len(seen) == 1, "it is asked once"


def test_a_slow_endpoint_costs_its_timeout_and_no_more():
    with endpoint(lambda handler: time.sleep(1)) as (url, _):
        assert trial(url, timeout_seconds=0.3).reason is Reason.PLANNER_TIMEOUT


def test_an_answer_that_repeats_the_secret_is_shown_without_it():
    def echo(handler):
        body = f"you sent {handler.headers['X-Api-Key']}".encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with endpoint(echo) as (url, _):
        found = trial(url, header=SecretHeader("X-Api-Key", "a-very-secret-value"))
    assert found.answer == "you sent ***"
    assert "a-very-secret-value" not in repr(found)


TURNS = suite_of("openagi-turns")


@pytest.mark.parametrize(
    ("suite", "answer", "verdict"),
    [
        (SUITE, {"plan": "Time Travel"}, Verdict.UNREADABLE),
        (SUITE, {"plan": "Colorization, Time Travel"}, Verdict.UNKNOWN_TOOL),
        (SUITE, {"plan": {**plan_to_json(small_task(SUITE).gold), "answers": []}}, Verdict.MISSING_ANSWER),
        (SUITE, {"plan": "(A,"}, Verdict.UNREADABLE),
        (SUITE, {"plan": []}, Verdict.EMPTY),
        (SUITE, {"plan": None}, Verdict.ABSTAINED),
        (SUITE, {"plan": plan_to_json(small_task(SUITE).gold)}, Verdict.REFERENCE),
        (TURNS, {"plan": []}, Verdict.EMPTY),
        (TURNS, {"plan": {"steps": []}}, Verdict.EMPTY),
        (TURNS, {"actions": ""}, Verdict.EMPTY),
        (TURNS, {"answer": " "}, Verdict.EMPTY),
        (TURNS, {"stop": True}, Verdict.EMPTY),
        (TURNS, {"actions": "R1 = Magic(1)"}, Verdict.UNKNOWN_TOOL),
        (TURNS, {"actions": "Magic"}, Verdict.UNREADABLE),
        (TURNS, {"subgoal": "Look at the picture."}, Verdict.TURN),
    ],
)
def test_each_answer_is_judged(suite, answer, verdict):
    with endpoint((200, json.dumps(answer).encode())) as (url, _):
        found = try_endpoint(suite=suite, settings=EndpointSettings(url=url, timeout_seconds=5, allow_private=True))
    assert found.verdict is verdict
    assert found.passed == verdict.passes
    assert found.summary.startswith(verdict.label)


def test_a_plan_of_a_judged_suite_is_shown_with_its_score():
    gold = plan_to_json(small_task(MINI).gold)
    half = {"steps": gold["steps"], "answers": []}
    with endpoint((200, json.dumps({"plan": half}).encode())) as (url, _):
        found = try_endpoint(suite=MINI, settings=EndpointSettings(url=url, timeout_seconds=5, allow_private=True))
    assert found.verdict is Verdict.VALID
    assert found.judgement == "The judge gives it 1.00 for SE."


MINI = suite_of("toolmini")
SOUND = plan_to_json(small_task(SUITE).gold)["steps"][0]["tool"]


@pytest.mark.parametrize(
    "plan", ["", "  ", "()", "[]", [], {}, {"steps": []}, {"steps": [], "answers": []}, {"steps": [], "answers": ["x"]}]
)
def test_an_empty_plan_is_not_called_good_and_says_what_it_would_score_and_how_a_plan_looks(plan):
    with endpoint((200, json.dumps({"plan": plan}).encode())) as (url, _):
        found = trial(url)
    assert not found.passed
    assert found.reason in {Reason.UNPARSABLE_PLAN, Reason.INVALID_PLAN, Reason.ABSTAINED}
    assert found.problem == "The plan has no steps. That is a planner fault: the task would score 0."
    (step,) = found.example["steps"]
    assert step["tool"] in SUITE.catalogue.tools
    assert step["tool"] != SOUND, "the example is not the answer"


def test_an_empty_plan_that_answers_with_the_input_is_not_called_good():
    """It would be executed, and the input scored as if it were an answer."""
    task = next(task for task in SUITE.tasks if task.resources.get("image") == task.expects)
    suite = replace(SUITE, tasks=(task,))
    with endpoint((200, b'{"plan": {"steps": [], "answers": ["$image"]}}')) as (url, _):
        found = try_endpoint(suite=suite, settings=EndpointSettings(url=url, timeout_seconds=5, allow_private=True))
    assert (found.passed, found.reason) == (False, None)
    assert "No tool would run" in found.problem
    assert found.example is not None


@pytest.mark.parametrize("suite", [SUITE, MINI])
def test_the_example_of_a_plan_can_be_read_for_every_task(suite):
    for task in suite.tasks:
        context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
        example = example_plan(context=context, without={step.tool for step in task.gold.steps} if task.gold else set())
        parsed = read_plan(value=example, context=context)
        codes = {problem.code for problem in check_plan(plan=parsed.plan, context=context)}
        assert codes <= {"answer_type"}, "its form is right, whatever the request wants"
