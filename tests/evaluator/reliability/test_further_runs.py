"""Drawing tasks for further runs, comparing answers, and what is said about the runs."""

import random

import pytest

from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.planners.named import samples_replies
from evaluator.reliability.further_runs import (
    Claim,
    RunsReport,
    Verdict,
    check_size,
    drawn,
    is_same_answer,
    report_of,
    sample_size,
)


def step(name, tool, **inputs):
    return {"id": name, "tool": tool, "inputs": inputs, "outputs": {"image": f"{name}.image"}}


def record(task="0", *, tools=("A", "B"), outcome=Outcome.SCORED, reason=None, received=None, names="s"):
    steps = [step(f"{names}{number}", tool) for number, tool in enumerate(tools)]
    plan = {"steps": steps, "answers": [f"{names}{len(steps) - 1}.image"] if steps else [], "subgoals": None}
    return ResultRecord(
        suite="toy", task=task, request="?", metric="vit", outcome=outcome, reason=reason, score=0.5,
        plan=plan if received is None else None, plan_received=received,
    )  # fmt: skip


def run(**tools):
    return {task: record(task, tools=own) for task, own in tools.items()}


@pytest.mark.parametrize(("possible", "size"), [(0, 0), (5, 5), (60, 8), (185, 19), (2000, 200)])
def test_a_tenth_of_the_tasks_is_drawn_and_at_least_a_few(possible, size):
    assert sample_size(possible) == size


@pytest.mark.parametrize(("possible", "size"), [(3, 3), (185, 8), (2000, 40)])
def test_a_claim_is_checked_on_fewer_tasks(possible, size):
    assert check_size(possible) == size


def test_drawn_tasks_are_distinct_and_in_the_order_of_the_suite():
    tasks = [str(number) for number in range(50)]
    sample = drawn(tasks, size=9, rng=random.Random(4))
    assert len(set(sample)) == 9
    assert sample == sorted(sample, key=tasks.index)


def test_names_of_steps_do_not_make_another_answer_but_tools_and_outcomes_do():
    assert is_same_answer(record(), record(names="step"))
    assert not is_same_answer(record(), record(tools=("A", "C")))
    assert not is_same_answer(record(), record(outcome=Outcome.PLANNER_FAULT, reason=Reason.PLANNER_TIMEOUT))


def test_unreadable_answers_are_compared_as_received():
    fault = {"outcome": Outcome.PLANNER_FAULT, "reason": Reason.INVALID_PLAN}
    assert is_same_answer(record(received="no plan", **fault), record(received="no plan", **fault))
    assert not is_same_answer(record(received="no plan", **fault), record(received="sorry", **fault))


def test_a_planner_without_claim_varies_whether_or_not_its_answers_differ():
    first, again = run(a=("A",), b=("B",)), run(a=("A",), b=("B",))
    report = report_of(claim=Claim.NONE, runs=[first, again, run(a=("C",), b=("B",))])
    assert (report.verdict, report.runs, report.tasks, report.differing, report.asked) == (Verdict.VARIES, 3, 2, 1, 4)
    assert report_of(claim=Claim.NONE, runs=[first, again]).verdict is Verdict.VARIES


@pytest.mark.parametrize(
    ("again", "verdict"), [({"a": ("A",)}, Verdict.DETERMINISTIC), ({"a": ("B",)}, Verdict.CONTRADICTED)]
)
def test_one_differing_answer_contradicts_a_claim(again, verdict):
    assert report_of(claim=Claim.DECLARED, runs=[run(a=("A",), b=("A",)), run(**again)]).verdict is verdict


def test_infrastructure_faults_say_nothing_about_the_planner():
    again = {"a": record("a", outcome=Outcome.INFRA_FAULT, reason=Reason.ENDPOINT_UNAVAILABLE)}
    report = report_of(claim=Claim.DECLARED, runs=[run(a=("A",)), again])
    assert (report.verdict, report.runs, report.tasks) == (Verdict.ONE_RUN, 1, 0)


def test_a_report_survives_json():
    report = report_of(claim=Claim.FIXED, runs=[])
    assert (report.verdict, report.runs) == (Verdict.FIXED, 1)
    assert RunsReport.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    ("name", "samples"),
    [
        ("gold", False),
        ("random-valid", True),
        ("random-valid/2", True),
        ("controlllm/adaptive", False),
        ("hugginggpt:chat:http://127.0.0.1:9/v1#model", False),
        ("arc-experts", True),
        ("arc-experts@temperature=0:model", False),
        ("nobody", False),
    ],
)
def test_planners_that_sample_are_known_by_their_names(name, samples):
    assert samples_replies(name) is samples
