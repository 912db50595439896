"""Reading plans files: every accepted shape, and errors that say where."""

import json

import pytest

from evaluator.core.planner import PlannerError, request_for
from evaluator.core.plans_file import MAX_BYTES, MAX_PLANS, GivenPlan, GivenPlans, PlansFileError, plans_of, read_plans
from evaluator.core.records import Reason
from evaluator.core.suites.registry import suite_of

PLAN = {"steps": [], "answers": []}


def problems(data: bytes | str) -> str:
    with pytest.raises(PlansFileError) as refused:
        read_plans(data if isinstance(data, bytes) else data.encode())
    return str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"a": PLAN, "b": {"plan": "Colorization", "alternatives": ["Image Denoising"]}}),
        json.dumps({"a": PLAN, "b": {"plan": "Colorization", "alternatives": ["Image Denoising"]}}, indent=2),
        json.dumps({"task": "a", "plan": PLAN})
        + "\n\n"
        + json.dumps({"task": "b", "plan": "Colorization", "alternatives": ["Image Denoising"]})
        + "\n",
        json.dumps(
            [{"task": "a", "plan": PLAN}, {"task": "b", "plan": "Colorization", "alternatives": ["Image Denoising"]}]
        ),
    ],
)
def test_all_shapes_of_the_file_say_the_same(text: str):
    found = read_plans(b"\xef\xbb\xbf" + text.encode())
    assert found.plans == {"a": GivenPlan(PLAN), "b": GivenPlan("Colorization", ("Image Denoising",))}
    b = {"plan": "Colorization", "alternatives": ["Image Denoising"]}
    assert found.digest() == plans_of({"b": b, "a": PLAN}).digest()
    assert found.digest() != plans_of({"b": "Colorization", "a": PLAN}).digest()


@pytest.mark.parametrize("plan", [{"solution": []}, {"tool_calls": []}, PLAN, [], "A, B"])
def test_a_plan_itself_is_not_taken_for_its_wrapping(plan):
    assert read_plans(json.dumps({"a": plan}).encode()).plans["a"].plan == plan


@pytest.mark.parametrize(
    "text",
    [
        '{"a": null, "b": {"plan": null, "reason": "No tool."}}',
        '{"a": {"plan": null}, "b": {"plan": {"plan": null, "reason": "No tool."}, "alternatives": []}}',
        '{"task": "a", "plan": null, "reason": ""}\n{"task": "b", "plan": null, "reason": "No tool."}',
    ],
)
def test_a_null_plan_abstains_with_its_reason(text):
    found = read_plans(text.encode())
    assert found.plans == {"a": GivenPlan(None), "b": GivenPlan({"plan": None, "reason": "No tool."})}
    suite = suite_of("toolmini")
    request = request_for(suite=suite, task=suite.tasks[0], context=suite.context(task=suite.tasks[0], offered=set()))
    reply = GivenPlans({suite.tasks[0].key: found.plans["b"]}).plan(request)
    assert reply.plan == {"plan": None, "reason": "No tool."}


def test_a_reason_of_a_plans_file_is_cut():
    found = read_plans(json.dumps({"a": {"plan": None, "reason": "x" * 5000}}).encode())
    assert found.plans["a"].plan == {"plan": None, "reason": "x" * 1000}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b'{\n "a": "x",\n "b": nothing\n}', "Line 3, column 7 is not JSON"),
        (b'{"task": "a", "plan": "x"}\n{"task": "b", "plan": }\n', "Line 2, column 23 is not JSON"),
        (b"", "The file is empty."),
        (b"{}", "The file holds no plan."),
        (b"3", "neither"),
        (b"x" * (MAX_BYTES + 1), "at most 8,388,608 are read"),
        (b'{"a": "x"}\n\xff', "Line 2 is no UTF-8"),
        (b'{"a": "x", "a": "y"}', "two plans for 'a'"),
        (b'{"task": "a", "plan": "x"}\n\n{"task": "a", "plan": "y"}', "Line 3 has a second plan for 'a'; line 1 has"),
        (b'[{"task": "a", "plan": "x"}, {"task": "a", "plan": "y"}]', "Entry 2 has a second plan for 'a'"),
        (b'{"task": "a", "plan": "x", "plan": "y"}\n', "Line 1 has 'plan' twice."),
        (b'{"task": "b", "plan": "x"}\n{"task": "a", "task": "b", "plan": "y"}\n', "Line 2 has 'task' twice."),
        (b'{"task": 3, "plan": "x"}\n{"task": "b", "plan": "x"}', 'Line 1 has a "task" that is no text'),
        (b'{"task": "a", "plan": "x"}\n7', "Line 2 lacks 'task'"),
        (b'{"a": 3}', "task 'a' has a plan that is neither"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": "\\u0000"}', "NUL"),
        (b'[{"task": "a"}]', "Entry 1 lacks 'plan'"),
        (b'{"a": {"plan": "x", "alternatives": ["1", "2", "3", "4", "5"]}}', "at most 4 plans"),
        (b'{"a": {"plan": "x", "notes": 1}}', "'notes'"),
        (b'{"a": {"plan": "x", "reason": "why"}}', "'reason'"),
        (b'{"a": {"plan": null, "reason": 1}}', "a reason that is no text"),
        (b'{"a": {"plan": "x", "alternatives": [null]}}', "neither an object"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (json.dumps({"a": "x" * (1024 * 1024 + 1)}).encode(), "at most 1,048,576 are read"),
        (b'{"a": [1' + b"0" * 10_000 + b"]}", "a number with too many digits"),
        (b'{"a\\u0000b": "x"}', "holds a NUL character"),
        (b'{"\\ud800": "x"}', "half of a surrogate pair"),
        (json.dumps({str(at): "x" for at in range(MAX_PLANS + 1)}).encode(), "20,001 plans; at most 20,000"),
        (b'{"task": "a", "plan": "x"}\n' * (MAX_PLANS + 1), "more than 20,000 lines"),
    ],
    ids=lambda given: given[:40],
)
def test_what_is_wrong_is_said(data: bytes, sentence: str):
    assert sentence in problems(data)


def test_a_single_line_is_a_file():
    line = b'{"task": "a", "plan": "x", "alternatives": ["y"]}'
    for data in (line, line + b"\r\n", b"\xef\xbb\xbf" + line):
        assert read_plans(data).plans == {"a": GivenPlan("x", ("y",))}
    assert "Line 1 lacks 'plan'" in problems('{"task": "a"}')


def test_unknown_tasks_of_lines_are_named_with_their_lines():
    found = read_plans(b'{"task": "QA/0", "plan": "x"}\r\n\r\n{"task": "QA/00", "plan": "x"}\r\n')
    with pytest.raises(PlansFileError, match=r"'QA/00' \(line 3\)\. Did you mean 'QA/0'\?"):
        found.check(tasks={"QA/0", "QA/1"}, suite="toolmini")


def test_many_problems_are_cut():
    text = problems(json.dumps({str(number): 3 for number in range(40)}))
    assert text.endswith("And 35 more.")


def test_unknown_tasks_are_refused_with_what_the_suites_tasks_are_called():
    found = plans_of({"QA/0": "x", "nothing/1": "x"})
    with pytest.raises(PlansFileError, match=r"1 key of the file is no task of toolmini: 'nothing/1'.*'QA/0'"):
        found.check(tasks={"QA/0", "QA/1"}, suite="toolmini")
    assert plans_of({"QA/0": "x"}).missing({"QA/0", "QA/1"}) == ["QA/1"]


def test_the_planner_answers_from_the_file_and_a_missing_task_is_its_fault():
    suite = suite_of("toolmini")
    first, second = suite.tasks[:2]
    planner = GivenPlans({first.key: GivenPlan(PLAN, ("x",))})
    asked = [
        request_for(suite=suite, task=task, context=suite.context(task=task, offered=frozenset()))
        for task in (first, second)
    ]
    assert planner.plan(asked[0]).plan == PLAN
    assert planner.plan(asked[0]).alternatives == ("x",)
    with pytest.raises(PlannerError) as fault:
        planner.plan(asked[1])
    assert fault.value.reason is Reason.NO_PLAN
