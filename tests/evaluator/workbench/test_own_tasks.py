"""Runs as tasks of one's own suite: downloaded, checked, and read again."""

import json

import pytest

from evaluator.core.suites.registry import suite_of
from evaluator.workbench.own_tasks import OwnTaskError, checked_task, suite_of_tasks, task_of_run

PLAN = {
    "steps": [
        {"id": "s1", "tool": "image_captioning", "inputs": {"image": "$a.png"}, "outputs": {"text": "s1.text"}},
        {"id": "s2", "tool": "title_generation", "inputs": {"text": "s1.text"}, "outputs": {"title": "s2.title"}},
    ],
    "answers": ["s2.title"],
}
TEXT = {"digest": "a" * 64, "media_type": "text/plain"}
EVENTS = [
    {"kind": "given", "files": {"a.png": {"type": "image", "digest": "b" * 64, "media_type": "image/png"}}},
    {"kind": "plan", "plan": PLAN, "edited": False},
    {"kind": "ended", "ending": "made", "answers": [TEXT]},
]


def made(**changes: object) -> str:
    task = task_of_run(suite="toolworld", request="Title a.png", events=EVENTS)
    assert task is not None
    return json.dumps({**task, **changes})


def test_a_run_becomes_a_task_with_its_plan_as_the_accepted_one():
    suite = suite_of_tasks("mine", text=f"{made()}\n\n{made(request='Another title for a.png')}\n")
    first = suite.task("1")
    assert (first.text, dict(first.resources), first.expects) == ("Title a.png", {"a.png": "image"}, "title")
    assert [step.tool for step in first.gold.steps] == ["image_captioning", "title_generation"]
    assert (first.structure, len(suite.tasks)) == ("linear", 2)
    assert suite.catalogue.tools == suite_of("toolworld").catalogue.tools


@pytest.mark.parametrize(
    "events",
    [EVENTS[:2], [EVENTS[0], EVENTS[2]], [*EVENTS[:2], {"kind": "ended", "ending": "partly", "answers": []}],
     [EVENTS[0], {"kind": "plan", "is_too_long": True}, EVENTS[2]]],
)  # fmt: skip
def test_a_run_whose_plan_did_not_run_to_the_end_is_none(events):
    assert task_of_run(suite="toolworld", request="Title a.png", events=events) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "own.json is no JSON"),
        ("[]", "own.json is no task of the workbench: it must be an object with format, suite"),
        (made(format="other/1"), "and the format 'planarena-task/1'"),
        (made(more=1), "it must be an object with"),
        (made(suite="no-such"), "there is no suite 'no-such' here"),
        (made(suite=["toolworld"]), "there is no suite"),
        (made(request=" "), "request must be a text"),
        (made(resources={"a.png": "gold"}), "resources must give each input one of the types"),
        (made(resources={}), "its plan cannot"),
        (made(plan={"steps": 1}), "its plan cannot be read"),
    ],
)
def test_what_is_no_task_is_refused_with_its_place(text, why):
    with pytest.raises(OwnTaskError, match=r"own\.json") as error:
        checked_task(text, where="own.json")
    assert why in str(error.value)


def test_tasks_with_tools_of_two_suites_are_refused():
    other = json.loads(made(suite="toolworld"))
    other |= {"suite": "openagi", "plan": {"steps": [
        {"id": "s1", "tool": "Image Captioning", "inputs": {"image": "$a.png"}, "outputs": {"text": "s1.text"}}
    ], "answers": ["s1.text"]}}  # fmt: skip
    with pytest.raises(OwnTaskError, match="make a suite for each"):
        suite_of_tasks("mine", text=f"{made()}\n{json.dumps(other)}")
    with pytest.raises(OwnTaskError, match="it has no task"):
        suite_of_tasks("mine", text="\n")
