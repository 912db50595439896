"""Which records have causes, and what is compared with where requests are hidden."""

import json
from itertools import product

import pytest
from typer.testing import CliRunner

from evaluator.causes import Cause, CauseContext, causes_of
from evaluator.causes.plan_differences import differences
from evaluator.cli.main import app
from evaluator.plans import plan_to_json
from evaluator.records import Outcome, Reason, ResultRecord
from evaluator.suites.hidden import HIDDEN, suite_on_split
from evaluator.suites.registry import suite_of
from evaluator.suites.right_plans import right_plans_of

EXECUTED, JUDGED = "openagi", "toolmini"


def record_of(suite, key, **fields):
    task = suite.task(key)
    known = {"suite": suite.slug, "task": key, "request": task.text, "metric": task.metric, "outcome": Outcome.SCORED}
    return ResultRecord(**{**known, **fields})


def one_step(suite, key, *, tool, inputs):
    outputs = {name: f"s1.{name}" for name in suite.catalogue[tool].outputs}
    step = {"id": "s1", "tool": tool, "inputs": inputs, "outputs": outputs}
    return record_of(suite, key, score=0.3, plan={"steps": [step], "answers": list(outputs.values())})


@pytest.mark.parametrize(
    "fields",
    [
        {"score": 1.0},
        {"score": 0.4, "indicators": {"exact": 1.0}},
        {"outcome": Outcome.NOT_RUN, "reason": Reason.NO_EXPERT},
        {"outcome": Outcome.CANCELLED},
    ],
)
def test_tasks_at_the_gold_score_and_those_that_did_not_run_have_no_cause(fields):
    suite = suite_of(EXECUTED)
    assert causes_of(record_of(suite, "87", **fields), context=CauseContext(suite=suite)) == ()


def test_a_score_of_gold_decides_where_it_was_measured():
    suite = suite_of(EXECUTED)
    record = one_step(suite, "115", tool="Text Generation", inputs={"text": "$text"})
    assert causes_of(record, context=CauseContext(suite=suite, gold_scores={"115": 0.3})) == ()
    (found,) = causes_of(record, context=CauseContext(suite=suite, gold_scores={"115": 0.5}))
    assert (found.cause, found.wanted) == (Cause.WRONG_TOOL, "Text Summarization")


def test_every_fault_has_a_cause():
    suite = suite_of(EXECUTED)
    for outcome, reason in product((Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT), Reason):
        record = record_of(suite, "87", outcome=outcome, reason=reason, reason_text="What happened.")
        assert causes_of(record, context=CauseContext(suite=suite)), (outcome, reason)


def test_an_unknown_task_is_refused():
    suite = suite_of(EXECUTED)
    record = record_of(suite, "87", score=0.0).model_copy(update={"task": "none"})
    with pytest.raises(LookupError, match="none"):
        causes_of(record, context=CauseContext(suite=suite))


def test_hidden_requests_are_compared_with_their_own_files():
    public = suite_of(JUDGED)
    hidden = suite_on_split(suite=public, split=HIDDEN, hidden_seed="seed")
    key = next(task.key for task in hidden.tasks if set(task.resources) - set(public.task(task.key).resources))
    task = hidden.task(key)
    record = record_of(hidden, key, score=0.0, plan=plan_to_json(task.gold))
    right = right_plans_of(suite=hidden, record=record, plan=task.gold)
    resources = task.resources
    assert differences(plan=task.gold, right=right, catalogue=hidden.catalogue, resources=resources) == ()
    # Compared with the public request it would name a file that does not exist.
    assert causes_of(record, context=CauseContext(suite=public))


@pytest.mark.parametrize("slug", ["toolmini", "toolmini-abstain", "toolworld"])
def test_every_gold_plan_is_nearest_to_itself(slug):
    suite = suite_of(slug)
    for task in suite.tasks:
        if not task.gold.steps:
            continue
        record = record_of(suite, task.key)
        right = right_plans_of(suite=suite, record=record, plan=task.gold)
        found = differences(plan=task.gold, right=right, catalogue=suite.catalogue, resources=task.resources)
        assert found == (), (task.key, [one.text for one in found])


def evaluate(*arguments):
    found = CliRunner().invoke(app, ["evaluate", *arguments])
    assert found.exit_code == 0, found.output
    return found.output


def test_causes_are_printed_below_the_scores_and_written(tmp_path):
    file = tmp_path / "out.json"
    tasks = "QA/0,QA/1,image_QA/0"
    text = evaluate("--suite", "toolmini", "--planner", "gold-minus-one", "--tasks", tasks, "--output", str(file))
    found = json.loads(file.read_text())["causes"]
    assert found["version"] == "causes/1"
    # Each gold plan has one step, so that nothing is left without it.
    assert found["tasks_by_cause"] == {"abstained": 3}
    assert found["findings"] == {key: [{"cause": "abstained"}] for key in tasks.split(",")}
    assert "Why 3 of 3 tasks are below the gold score" in text
    assert text.index("SE") < text.index("abstained")


def test_nothing_is_said_where_all_tasks_are_at_the_gold_score(tmp_path):
    file = tmp_path / "out.json"
    text = evaluate("--suite", "toolmini", "--planner", "gold", "--tasks", "QA/0", "--output", str(file))
    assert "below the gold score" not in text
    assert json.loads(file.read_text())["causes"]["below"] == 0
