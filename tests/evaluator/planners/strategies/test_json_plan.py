"""A plan as JSON: the schema admits every gold plan and nothing with another tool or argument."""

import json

import jsonschema
import pytest

from evaluator.controlllm.baselines.hugginggpt import HuggingGPT, tasks_schema
from evaluator.core.plans.abstaining import reason_received
from evaluator.core.suites.registry import suite_of
from evaluator.planners.strategies.json_plan import JsonPlan, plan_schema
from evaluator.scoring.metrics.plan_equality import is_same_plan
from tests.evaluator.controlllm.baselines.test_hugginggpt import TASKS
from tests.evaluator.planners.strategies.conversing import REMOVE_KEYBOARD, held, is_solved, read, request_of, validate


def written(plan):
    """A plan as the prompt asks for it."""
    places = {
        reference: f"s{number}.{output}"
        for number, step in enumerate(plan.steps, start=1)
        for output, reference in step.outputs.items()
    }
    steps = [
        {
            "id": f"s{number}",
            "tool": step.tool,
            "inputs": {name: places.get(value, value) for name, value in step.inputs.items()},
        }
        for number, step in enumerate(plan.steps, start=1)
    ]
    return {"steps": steps, "answers": [places[answer] for answer in plan.answers]}


@pytest.mark.parametrize("slug", ["toolmini", "openagi", "toolworld"])
def test_gold_plans_keep_to_the_schema_and_are_read_as_they_are(slug):
    suite = suite_of(slug)
    for task in suite.tasks[::7]:
        request = request_of(slug, task.key)
        plan = written(task.gold)
        validate(plan, plan_schema(request.tools))
        draft, (call,) = held(JsonPlan(), request, [json.dumps(plan)])
        assert call.schema == plan_schema(request.tools)
        parsed, problems = read(draft, slug, task.key)
        assert problems == ()
        assert is_same_plan(plan=parsed.plan, other=task.gold)


def invalid(**change):
    step = {"id": "s1", "tool": "image_captioning", "inputs": {"image": "station_000.png"}, **change}
    return {"steps": [step], "answers": ["s1.text"]}


@pytest.mark.parametrize(
    "plan",
    [
        invalid(tool="teleport"),
        invalid(inputs={}),
        invalid(inputs={"image": "station_000.png", "text": "x"}),
        invalid(inputs={"image": 3}),
        invalid(extra=1),
        {"steps": []},
        [],
    ],
)
def test_the_schema_refuses_other_tools_arguments_and_keys(plan):
    schema = plan_schema(request_of(*REMOVE_KEYBOARD).tools)
    validate(invalid(), schema)
    with pytest.raises(jsonschema.ValidationError):
        validate(plan, schema)


def closed(schema):
    """All objects in a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from closed(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from closed(value)


@pytest.mark.parametrize("make", [plan_schema, tasks_schema])
def test_schemas_are_in_the_subset_that_services_accept(make):
    schema = make(request_of(*REMOVE_KEYBOARD).tools)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    for each in closed(schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    assert make([]) is None


def test_an_empty_plan_and_a_null_plan_are_abstentions():
    for text in ('{"steps": [], "answers": []}', '{"plan": null, "reason": "Nothing fits."}'):
        draft, _ = held(JsonPlan(), request_of("toolmini-abstain", "000"), [text])
        parsed, _ = read(draft, "toolmini-abstain", "000")
        assert (draft.unreadable, parsed.plan.steps, parsed.plan.answers) == ("", (), ())
    assert reason_received(draft.plan) == "Nothing fits."


@pytest.mark.parametrize("text", ["", "I cannot do that.", '{"steps": [{"id": "s1"'])
def test_what_is_no_plan_is_unreadable(text):
    assert held(JsonPlan(), request_of(*REMOVE_KEYBOARD), [text])[0].unreadable


def test_a_list_of_tasks_in_the_object_of_its_schema_is_the_bare_list():
    request = request_of(*REMOVE_KEYBOARD)
    tasks = {"tasks": TASKS}
    validate({"tasks": [{**task, "dep": task["dep"]} for task in TASKS]}, tasks_schema(request.tools))
    draft, (call,) = held(HuggingGPT(), request, [json.dumps(tasks, indent=1)])
    assert call.schema == tasks_schema(request.tools)
    assert is_solved(draft, REMOVE_KEYBOARD[1])
    assert not any("left out" in note for note in draft.tolerated)
