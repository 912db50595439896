"""Which records have causes, and what is compared with where requests are hidden."""

import json
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites import registry
from evaluator.core.suites.base import right_plans_of
from evaluator.core.suites.hidden import HIDDEN, suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.scoring.causes.of_records import CauseContext, causes_of
from evaluator.scoring.causes.plan_differences import differences
from evaluator.scoring.causes.sentences import sentence_of
from evaluator.scoring.causes.taxonomy import LONGEST, Cause, Finding, shortened
from tests.evaluator.scoring.causes.labelled import cases

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
        assert found == (), (task.key, list(map(sentence_of, found)))


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
    assert "3 of 3 tasks are below the gold score, which costs 1.000" in text
    assert text.index("SE") < text.index("Abstained: 3 tasks, costs 1.000")


DOCUMENT = Path(__file__).parents[4] / "docs" / "scoring.md"


def test_the_documentation_has_a_row_for_each_cause_in_order():
    section = DOCUMENT.read_text(encoding="utf-8").partition("\n### The causes\n")[2].partition("\n### ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{cause}` | {cause.label} | {cause.definition} |" for cause in Cause]


def test_a_finding_is_read_back_from_its_json():
    finding = Finding(cause=Cause.WRONG_INPUT, step="s2", tool="Image Denoising", input="image", wanted="$image")
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding
    with pytest.raises(ValueError, match="bad_luck"):
        Finding.from_json({"cause": "bad_luck"})


def test_without_the_reference_only_the_planners_part_is_left():
    wrong = Finding(cause=Cause.WRONG_TOOL, step="s1", tool="Deblurring", wanted="Denoising", given="Deblurring")
    assert "Denoising" not in sentence_of(wrong.without_reference())
    assert Finding(cause=Cause.MISSING_STEP, tool="Denoising").without_reference().tool is None


def test_texts_of_strangers_are_cut_to_one_line():
    assert shortened("a\n b") == "a b"
    assert len(shortened("word " * 10_000)) <= LONGEST
    assert shortened("x" * LONGEST) == "x" * LONGEST


LEAST = 0.95


@pytest.fixture(scope="module")
def labelled():
    registry.forget()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PLANARENA_SEASON_TASKS", "60")
        yield list(cases())
    registry.forget()


def test_there_are_enough_of_every_family(labelled):
    assert len(labelled) >= 120
    assert {case.suite.slug for case in labelled} >= {
        "openagi", "openagi-season", "toolmini", "toolmini-abstain", "toolworld", "lumos-mini", "arc-mini",
    }  # fmt: skip


def test_every_failure_has_a_cause(labelled):
    assert [case.name for case in labelled if not case.findings()] == []


def test_the_weightiest_cause_is_one_that_people_name(labelled):
    others = {
        case.name: (case.findings()[0].cause.value, case.labels)
        for case in labelled
        if case.findings()[0].cause.value not in case.labels
    }
    assert 1 - len(others) / len(labelled) >= LEAST, others


def test_the_causes_are_those_that_people_name(labelled):
    others = {
        case.name: (sorted({one.cause.value for one in case.findings()}), case.labels)
        for case in labelled
        if {one.cause.value for one in case.findings()} != set(case.labels)
    }
    assert 1 - len(others) / len(labelled) >= LEAST, others
