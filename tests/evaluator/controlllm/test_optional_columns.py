"""DeAcc as an optional column: measured where a strategy decomposes, absent elsewhere, outside the suite's digest."""

from dataclasses import replace

import pytest

from evaluator.controlllm.benchmarks import decompose_by_rules, measure_decompositions
from evaluator.controlllm.entry import SOUND, SUITES
from evaluator.controlllm.noted_decomposition import decomposition_in
from evaluator.controlllm.optional_columns import DEACC
from evaluator.controlllm.strategies.subtasks import protocol_text, typed_subtasks
from evaluator.controlllm.toolbench.suite import toolmini_suite
from evaluator.core.suites.base import Column
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.planners.named import planner_named
from evaluator.scoring.metrics.aggregate import TaskScore, summarise

SUITE = suite_of("toolmini")
KEYS = [task.key for task in SUITE.tasks[:12]]


def evaluated(name, *, keys=KEYS, slug="toolmini"):
    suite = suite_of(slug)
    evaluator = episode_of(slug).evaluator(suite=suite, setting=Setting())
    return list(evaluator.run(planner=planner_named(name=name, suite=suite), tasks=keys))


def summary_of(records):
    return summarise(suite=SUITE, results=map(TaskScore.of, records))["metrics"]


def test_a_strategy_that_decomposes_has_the_column():
    records = evaluated("controlllm/greedy")
    assert {record.indicators[DEACC.key] for record in records} <= {0.0, 1.0}
    assert summary_of(records)[DEACC.key]["tasks"] == len(KEYS)


def test_it_equals_the_figure_of_the_command():
    records = evaluated("controlllm/greedy")
    few = replace(SUITE, tasks=SUITE.tasks[: len(KEYS)])
    report = measure_decompositions(suite=few, name="rules", decompose=decompose_by_rules)
    assert summary_of(records)[DEACC.key]["mean"] == report.deacc.mean


def test_a_planner_without_decompositions_lacks_the_column_and_has_no_zero():
    assert DEACC.key not in summary_of(evaluated("gold"))
    assert DEACC.key not in summary_of(evaluated("no-op"))


def notes(*, answer="", subtasks=None, tries=0):
    return {"decomposition": {"answer": answer, "subtasks": subtasks, "tries": tries}}


def test_gold_in_the_notes_is_right_and_another_argument_is_wrong_without_quoting_the_gold():
    task = SUITE.tasks[0]
    record = evaluated("gold", keys=[task.key])[0]
    gold = protocol_text(typed_subtasks(task.decomposition))

    def measured(text):
        return SUITE.measures(task, record.model_copy(update={"planner_notes": notes(answer=text, tries=1)}))["DeAcc"]

    assert measured(gold).value == 1
    changed = gold.replace('"value": "', '"value": "other-')
    assert measured(changed).value == 0
    assert "args" in measured(changed).why
    assert task.decomposition.subtasks[0].args[0].value not in measured(changed).why


@pytest.mark.parametrize("noted", [notes(answer="I cannot", tries=2), notes(tries=2), notes(subtasks=[{"id": "x"}])])
def test_an_unreadable_decomposition_is_wrong_although_its_plan_is_a_fault(noted):
    task = SUITE.tasks[0]
    record = evaluated("gold", keys=[task.key])[0].model_copy(update={"planner_notes": noted})
    assert SUITE.measures(task, record)["DeAcc"].value == 0


def test_no_notes_are_no_decomposition():
    assert decomposition_in({}) is None
    assert decomposition_in({"decomposition": "text"}) is None


def test_faults_count_only_where_they_are_measured():
    record = evaluated("no-op", keys=KEYS[:1])[0].model_copy(update={"outcome": "planner_fault", "indicators": {}})
    assert DEACC.key not in summary_of([record])
    wrong = record.model_copy(update={"indicators": {DEACC.key: 0.0}})
    assert summary_of([wrong])[DEACC.key]["mean"] == 0


def test_optional_columns_leave_the_digest_of_the_suite_unchanged():
    assert DEACC in SUITE.metrics
    assert toolmini_suite().digest == SUITE.digest


def test_all_suites_of_whole_plans_with_gold_decompositions_have_it_and_no_suite_in_turns():
    for entry in SUITES:
        if entry.is_available():
            keys = {column.key for column in entry.build().metrics}
            has_decompositions = not entry.whole_plans and entry.slug not in {SOUND, "pointmini"}
            assert (DEACC.key in keys) == has_decompositions, entry.slug


def test_optional_columns_are_neither_ranked_nor_marks():
    for forbidden in ({"primary": True}, {"is_default": True}, {"good": "yes"}, {"indicator": False}):
        with pytest.raises(ValueError, match="optional column"):
            replace(DEACC, **forbidden)
    assert Column.from_json(DEACC.to_json()) == DEACC
