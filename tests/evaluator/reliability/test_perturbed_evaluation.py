"""A perturbed evaluation needs nothing but a perturbation's name, and leaves out what it cannot perturb."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.records import Outcome, Reason
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.planners.named import planner_named
from evaluator.reliability.perturbations import PERTURBATIONS, perturbations_of, unavailable
from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator, not_perturbed

SUITE = suite_of("toolmini")
EPISODE = episode_of("toolmini")
ALL = frozenset(SUITE.catalogue.tools)


def evaluated(name, *, planner="gold", tasks):
    plain = EPISODE.evaluator(suite=SUITE, setting=Setting())
    evaluator = PerturbedEvaluator(plain, perturbation=name, episode=EPISODE, profile="")
    chosen = planner_named(name=planner, suite=SUITE)
    return evaluator, {record.task: record for record in evaluator.run(planner=chosen, tasks=tasks)}


def test_tasks_that_cannot_be_perturbed_are_known_beforehand_and_not_asked_for():
    tasks = [task.key for task in SUITE.tasks[:40]]
    left_out = not_perturbed(perturbation="irrelevant-input", suite=SUITE, offered=ALL)
    _, records = evaluated("irrelevant-input", tasks=tasks)
    assert {key for key, one in records.items() if one.outcome is Outcome.NOT_RUN} == left_out.keys() & set(tasks)
    assert set(records) == set(tasks)
    for key, record in records.items():
        if record.outcome is Outcome.NOT_RUN:
            assert (record.reason, record.reason_text) == left_out[key]
            assert record.reason is Reason.NOT_PERTURBED
        else:
            assert record.outcome is Outcome.SCORED


def test_the_facts_name_the_perturbation_which_must_apply_to_the_suite():
    evaluator, _ = evaluated("framed", tasks=[SUITE.tasks[0].key])
    assert evaluator.facts()["perturbation"] == {"name": "framed", "version": 1}
    assert evaluator.suite is SUITE
    with pytest.raises(ValueError, match="fault-once does not apply to toolmini"):
        evaluated("fault-once", tasks=[])


def test_faults_disturb_planners_in_turns_on_every_task():
    suite, episode = suite_of("arc-mini"), episode_of("arc-mini")
    plain = episode.evaluator(suite=suite, setting=Setting())
    planner, tasks = planner_named(name="gold", suite=suite), [task.key for task in suite.tasks[:3]]
    assert not not_perturbed(perturbation="fault-once", suite=suite, offered=frozenset(suite.catalogue.tools))
    disturbed = PerturbedEvaluator(plain, perturbation="fault-once", episode=episode, profile="")
    # Gold plans are whole: nobody repeats their action.
    assert [one.score for one in plain.run(planner=planner, tasks=tasks)] == [1.0] * 3
    assert [one.score for one in disturbed.run(planner=planner, tasks=tasks)] == [0.0] * 3
    assert [one.score for one in plain.run(planner=planner, tasks=tasks)] == [1.0] * 3


def evaluate(*arguments):
    result = CliRunner().invoke(app, ["evaluate", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_profile_of_a_judged_suite_is_printed_and_written(tmp_path):
    file = tmp_path / "out.json"
    text = evaluate(
        "--suite", "toolmini", "--planner", "random-valid", "--tasks", "QA/0,QA/1,image_QA/0", "--reliability",
        "--runs", "2", "--output", str(file),
    )  # fmt: skip
    assert "Reliability, 2 runs" in text
    assert "No answer came with a confidence." in text
    result = json.loads(file.read_text())["reliability"]
    assert (result["version"], result["runs"], result["tasks"]) == ("reliability/5", 2, 3)
    # The second run draws other plans.
    assert result["equal_plans"]["mean"] < 1.0
    assert [one["name"] for one in result["robustness"]] == [
        one.name for one in perturbations_of(suite=suite_of("toolmini"), in_turns=False)
    ]
    assert all(one["left_out"] == 0 for one in result["robustness"])


def test_planners_in_turns_are_run_again_and_perturbed(tmp_path):
    file = tmp_path / "out.json"
    text = evaluate(
        "--suite", "arc-mini", "--planner", "identity", "--tasks", "crop/0,crop/1", "--reliability", "--runs", "2",
        "--output", str(file),
    )  # fmt: skip
    assert "shuffled-tools" in text
    result = json.loads(file.read_text())["reliability"]["robustness"]
    assert [one["name"] for one in result] == [
        one.name for one in perturbations_of(suite=suite_of("arc-mini"), in_turns=True)
    ]


def why(**options):
    return {one.name: one.why for one in unavailable(**options)}


def test_every_perturbation_is_applied_or_has_a_reason():
    for slug, in_turns in (("toolmini", False), ("arc-mini", True)):
        applied = {one.name for one in perturbations_of(suite=suite_of(slug), in_turns=in_turns)}
        result = why(in_turns=in_turns, applied=applied)
        assert applied.isdisjoint(result)
        assert applied | result.keys() == PERTURBATIONS.keys()
    assert "over MCP" in why(in_turns=True, applied=(), lists_tools_itself=True)["shuffled-tools"]
