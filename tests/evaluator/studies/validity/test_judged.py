"""`planarena validity` where plans are judged: what is compared, and when gold is not above."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.planner import request_for
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.plan_equality import canonical_form
from evaluator.studies.validity.damages import DAMAGES
from evaluator.studies.validity.judged import INDICATORS, NotComparableError, measure_judged
from tests.toy_suite import sums

SUITE = suite_of("toolmini")
KEYS = [task.key for task in SUITE.tasks]
BEST = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
WORST = {key: 1 - value for key, value in BEST.items()}


def judged_by(verdict):
    """An evaluator whose indicators `verdict` gives for a task and its plan; None: a planner's fault."""

    def evaluate(planner, keys):
        for key in keys:
            task = SUITE.task(key)
            context = SUITE.context(task=task, offered=frozenset(SUITE.catalogue.tools))
            reply = planner.plan(request_for(suite=SUITE, task=task, context=context))
            found = verdict(task, read_plan(value=reply.plan, context=context).plan)
            outcome = Outcome.PLANNER_FAULT if found is None else Outcome.SCORED
            yield ResultRecord(
                suite=SUITE.slug, task=key, request=task.text, metric="SE", outcome=outcome, score=0.0,
                indicators=found or {},
            )  # fmt: skip

    return evaluate


def strict(task, plan):
    """Perfect for plans written as gold is, the worst otherwise."""
    same = canonical_form(plan) == canonical_form(task.gold) and plan.tools() == task.gold.tools()
    return BEST if same else WORST


def blind_to(indicator):
    """Perfect in one indicator for every plan."""
    return lambda task, plan: {**strict(task, plan), indicator: BEST[indicator]}


def test_gold_is_above_every_damage_by_a_judge_that_sees_it():
    report = measure_judged(suite=SUITE, evaluate=judged_by(strict), tasks=KEYS)
    assert report.failures == ()
    assert [kind.name for kind in report.damages] == [damage.name for damage in DAMAGES]
    assert all(kind.gold == BEST and kind.damaged == WORST for kind in report.damages)
    assert {kind.gain.mean for kind in report.damages} == {1.0}
    assert report.judged == 120
    assert [row.name for row in report.anchors] == [
        "gold", "random-valid", "no-op", "gold-minus-one", "parrot", "ask-everything",
    ]  # fmt: skip
    shares = report.anchors[0].shares
    assert {key: one.mean for key, one in shares.items()} == BEST


@pytest.mark.parametrize("indicator", ["SE", "IR", "CR", "HR"])
def test_a_judge_that_is_blind_in_an_indicator_fails_for_the_damage_that_must_worsen_it(indicator):
    report = measure_judged(suite=SUITE, evaluate=judged_by(blind_to(indicator)), tasks=KEYS[::2])
    expected = {damage.name for damage in DAMAGES if damage.indicator == indicator}
    assert set(report.failures) == expected
    assert expected


def test_a_plan_that_cannot_be_read_counts_as_the_worst():
    report = measure_judged(
        suite=SUITE,
        evaluate=judged_by(lambda task, plan: strict(task, plan) if plan == task.gold else None),
        tasks=KEYS,
    )
    assert {kind.gain.mean for kind in report.damages if kind.indicator in {"SE", "IR", "HR"}} == {1.0}
    assert report.failures == ()


def test_damage_that_fits_no_task_is_neither_above_nor_below():
    report = measure_judged(suite=SUITE, evaluate=judged_by(strict), tasks=["QA/0"])
    empty = next(kind for kind in report.damages if kind.name == "swapped files")
    assert (empty.tasks, empty.gain, empty.is_gold_above) == (0, None, True)
    few = next(kind for kind in report.damages if kind.name == "extra step")
    assert few.gain.ends[0] < 0 < few.gain.mean
    assert few.is_gold_above


def test_one_task_in_many_does_not_put_gold_above():
    first = next(task.key for task in SUITE.tasks)

    def verdict(task, plan):
        return strict(task, plan) if task.key == first else BEST

    report = measure_judged(suite=SUITE, evaluate=judged_by(verdict), tasks=KEYS)
    extra = next(kind for kind in report.damages if kind.name == "extra step")
    assert extra.gain.mean == pytest.approx(1 / 120)
    assert "extra step" in report.failures


def test_a_suite_without_these_indicators_or_without_gold_is_refused():
    with pytest.raises(NotComparableError, match="sums has no columns SE, IR, NR, HR, CR"):
        measure_judged(suite=sums(), evaluate=judged_by(strict), tasks=["1"])
    without = replace(SUITE.task("QA/0"), gold=None)
    with pytest.raises(NotComparableError, match="no plan for these tasks of toolmini can be judged"):
        measure_judged(suite=replace(SUITE, tasks=(without,)), evaluate=lambda planner, keys: iter(()), tasks=["QA/0"])


def test_the_command_prints_tables_markdown_and_json_and_fails_as_the_report_does(tmp_path):
    file = tmp_path / "report.json"
    done = CliRunner().invoke(app, ["validity", "--suite", "toolmini", "--markdown", "--output", str(file)])
    report = json.loads(file.read_text())
    assert done.exit_code == int(bool(report["failures"]))
    assert "| planner | SE | IR | NR | HR | CR |" in done.stdout
    for kind in report["damages"]:
        assert f"| {kind['name']} | {kind['tasks']} |" in done.stdout
        assert set(kind["gold"]) == set(INDICATORS)
    gold = report["anchors"][0]
    assert {key: share["mean"] for key, share in gold["shares"].items()} == BEST
    assert {damage.name for damage in DAMAGES if damage.indicator == "IR"}.isdisjoint(report["failures"])
