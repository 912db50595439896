"""What the docs page shows is what the evaluator and the API really take."""

import html
import json
import re

import pytest
from django.test import Client

from evaluator.controlllm.toolbench.judging import judge
from evaluator.core.planner import PlannerResponse, request_for
from evaluator.core.plans.abstaining import reason_received
from evaluator.core.plans.checks import check_plan
from evaluator.core.suites.registry import suite_of
from evaluator.replies.read import read_plan
from leaderboard.people.services import create_token
from tests.leaderboard.evaluations.web.factories import make_suite, make_user

OFFERED = frozenset({"Image Denoising", "Image Classification"})


def example(client: Client, name: str) -> str:
    found = re.search(rf'id="{name}-example">(.*?)</pre>', client.get("/docs/endpoint/").content.decode(), re.S)
    assert found is not None
    return html.unescape(found[1])


def test_the_request_is_what_an_endpoint_receives(client: Client):
    shown = json.loads(example(client, "request"))
    suite = suite_of("openagi")
    task = suite.task(shown["task"]["id"])
    sent = request_for(suite=suite, task=task, context=suite.context(task=task, offered=OFFERED)).model_dump()
    assert {**sent, "tools": sorted(sent["tools"], key=str)} == {**shown, "tools": sorted(shown["tools"], key=str)}


@pytest.mark.parametrize("name", ["plan", "sequence"])
def test_the_answers_are_right_plans_for_that_request(client: Client, name: str):
    response = PlannerResponse.model_validate_json(example(client, name))
    suite = suite_of("openagi")
    task = suite.task(json.loads(example(client, "request"))["task"]["id"])
    context = suite.context(task=task, offered=OFFERED)
    parsed = read_plan(value=response.plan, context=context)
    assert parsed.plan == task.gold
    assert not check_plan(plan=parsed.plan, context=context)


def test_the_null_plan_is_read_as_an_abstention(client: Client):
    response = PlannerResponse.model_validate_json(example(client, "abstention"))
    assert reason_received(response.answer()) == "No tool sends an email."


def test_both_examples_of_a_judged_plan_solve_a_request_of_their_suite(client: Client):
    suite = suite_of("toolmini")
    task = next(task for task in suite.tasks if list(task.gold.tools()) == ["object_detection", "select_bbox"])
    wanted = task.gold.steps[1].inputs["condition"]
    for name in ("judged", "actions"):
        shown = example(client, name).replace("yard_001.png", next(iter(task.resources))).replace("train", wanted)
        response = PlannerResponse.model_validate_json(shown)
        assert judge(suite=suite, task=task, value=response.plan).judgement.SE == 1


@pytest.mark.django_db
def test_the_curl_call_submits(client: Client):
    make_suite()
    command = example(client, "curl")
    address = re.search(r"POST (\S+)", command)[1].removeprefix("http://testserver")
    body = re.search(r"-d '(.*)'", command, re.S)[1]
    token = create_token(user=make_user()).token
    bearer = {"Authorization": f"Bearer {token}"}
    answer = client.post(address, data=body, content_type="application/json", headers=bearer)
    assert answer.status_code == 201, answer.content
    evaluation = answer.json()["evaluations"][0]["id"]
    assert client.get(f"/api/v1/evaluations/{evaluation}/").status_code == 200
