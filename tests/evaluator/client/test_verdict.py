"""What evaluations mean for a pipeline."""

import xml.etree.ElementTree as ET

import pytest

from evaluator.client.reports import junit
from evaluator.client.shapes import Evaluation, SuiteInfo, TaskRow
from evaluator.client.verdict import Threshold, unknown_thresholds, verdict_of
from evaluator.core.commands.exit_codes import ExitCode

METRICS = {"openagi": ["overall", "ViT"], "toolmini": ["SE"]}


def evaluation(*, suite="openagi", state="completed", reason="published", outcomes=None, **metrics) -> Evaluation:
    means = {key: None if mean is None else {"mean": mean, "tasks": 4} for key, mean in metrics.items()}
    summary = {"metrics": means, "outcomes": outcomes or {"scored": 4}} if state == "completed" else None
    return Evaluation(
        id=f"id of {suite}", submission="s", suite=suite, state=state, reason=reason, reason_text="Because.",
        summary=summary, created="2026-01-01T00:00:00Z",
    )  # fmt: skip


def verdict(*evaluations, fail_under=()):
    thresholds = [Threshold.parse(text) for text in fail_under]
    return verdict_of(evaluations=evaluations, thresholds=thresholds, metrics=METRICS)


@pytest.mark.parametrize(
    ("mean", "code"), [(0.39, ExitCode.BELOW_THRESHOLD), (0.4, ExitCode.PASSED), (0.41, ExitCode.PASSED)]
)
def test_a_threshold_is_passed_at_its_value(mean, code):
    assert verdict(evaluation(overall=mean), fail_under=["overall=0.40"]).code is code


def test_every_threshold_counts_and_each_only_where_it_is_measured():
    both = evaluation(overall=0.5, ViT=0.2), evaluation(suite="toolmini", SE=0.9)
    assert verdict(*both, fail_under=["overall=0.4", "SE=0.8"]).code is ExitCode.PASSED
    assert verdict(*both, fail_under=["overall=0.4", "openagi:ViT=0.3", "SE=0.8"]).code is ExitCode.BELOW_THRESHOLD
    assert len(verdict(*both, fail_under=["overall=0.4", "SE=0.8"]).checks) == 2


def test_what_was_not_measured_has_not_passed():
    found = verdict(evaluation(overall=0.5, ViT=None), fail_under=["ViT=0.1"])
    assert found.code is ExitCode.INFRASTRUCTURE
    assert "was not measured" in found.sentences[0]


@pytest.mark.parametrize(
    ("state", "reason", "code"),
    [
        ("failed", "canary_failed", ExitCode.PLANNER_FAULT),
        ("failed", "no_worker", ExitCode.INFRASTRUCTURE),
        ("on_hold", "infra_faults", ExitCode.INFRASTRUCTURE),
        ("cancelled", "cancelled_by_owner", ExitCode.INFRASTRUCTURE),
    ],
)
def test_what_did_not_complete_never_passes(state, reason, code):
    found = verdict(evaluation(state=state, reason=reason), evaluation(suite="toolmini", SE=0.9))
    assert (found.code, found.sentences) == (code, ["openagi: Because."])


def test_a_planner_none_of_whose_plans_could_be_used_is_at_fault():
    assert verdict(evaluation(overall=0.0, outcomes={"planner_fault": 4})).code is ExitCode.PLANNER_FAULT
    assert verdict(evaluation(overall=0.0, outcomes={"planner_fault": 3, "scored": 1})).code is ExitCode.PASSED


def test_infrastructure_weighs_more_than_the_planner_and_the_planner_more_than_a_threshold():
    low, broken = evaluation(overall=0.1), evaluation(suite="toolmini", state="failed", reason="canary_failed")
    assert verdict(low, broken, fail_under=["overall=0.4"]).code is ExitCode.PLANNER_FAULT
    held = evaluation(suite="toolmini", state="on_hold")
    assert verdict(low, broken, held, fail_under=["overall=0.4"]).code is ExitCode.INFRASTRUCTURE


def test_what_is_no_threshold_or_no_suite_can_check_is_refused_with_what_there_is():
    for text in ("overall", "=0.4", "overall=", "overall=high", "overall=nan", "a b=1", "overall=inf"):
        with pytest.raises(ValueError, match="METRIC=NUMBER"):
            Threshold.parse(text)
    suites = [SuiteInfo(slug="openagi", metrics=[{"key": "overall"}, {"key": "ViT"}])]
    wrong = unknown_thresholds(thresholds=[Threshold.parse("overal=1"), Threshold.parse("overall=1")], suites=suites)
    assert wrong == ["no suite of this submission measures 'overal'; openagi has overall, ViT"]
    assert unknown_thresholds(thresholds=[Threshold.parse("toolmini:overall=1")], suites=suites)


def rows() -> list[TaskRow]:
    return [
        TaskRow(task="0", outcome="scored", score=0.5, metric="vit", seconds=1.5, plan_summary="A, B"),
        TaskRow(
            task="1", outcome="planner_fault", reason="invalid_plan", reason_text="No such <tool>\x00\x1b.", score=0
        ),
        TaskRow(task="2", outcome="infra_fault", reason="worker_lost", reason_text="Lost."),
        TaskRow(task="3", outcome="not_run", reason_text="No expert."),
    ]


def test_junit_has_a_case_for_each_task_with_its_outcome():
    one = evaluation(overall=0.1)
    checks = verdict(one, fail_under=["overall=0.4"]).checks
    tasks, thresholds = ET.fromstring(junit(evaluations=[one], results={one.id: rows()}, checks=checks))
    assert tasks.attrib == {"name": "openagi", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert [[child.tag for child in case] for case in tasks] == [["system-out"], ["failure"], ["error"], ["skipped"]]
    assert tasks[1][0].get("message") == "No such <tool>??."
    assert tasks[0].attrib == {"classname": "openagi", "name": "0", "time": "1.500"}
    assert thresholds[0][0].get("message") == "openagi overall is 0.1000, below 0.4"


def test_junit_marks_scored_tasks_below_a_threshold_as_failures():
    one = evaluation(overall=0.1)
    scored = [TaskRow(task="0", outcome="scored", score=0.5), TaskRow(task="1", outcome="scored", score=0.6)]
    (tasks,) = ET.fromstring(junit(evaluations=[one], results={one.id: scored}, checks=[], task_threshold=0.6))
    assert tasks.get("failures") == "1"
    assert tasks[0].find("failure").attrib == {"type": "below_task_threshold", "message": "score 0.5000, below 0.6"}
    assert tasks[1].find("failure") is None
