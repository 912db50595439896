"""A perturbed evaluation needs nothing but a perturbation's name, and leaves out what it cannot perturb."""

import pytest

from evaluator.episodes.base import Setting
from evaluator.planners.named import planner_named
from evaluator.records import Outcome, Reason
from evaluator.reliability import PerturbedEvaluator, not_perturbed
from evaluator.suites.registry import episode_of, suite_of

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


def test_the_facts_name_the_perturbation_and_its_version():
    evaluator, _ = evaluated("framed", tasks=[SUITE.tasks[0].key])
    assert evaluator.facts()["perturbation"] == {"name": "framed", "version": 1}
    assert evaluator.suite is SUITE


def test_a_perturbation_that_the_suite_does_not_have_is_refused():
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
