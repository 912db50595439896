"""Corrections at run time against plans as they are."""

import pytest
from typer.testing import CliRunner

from evaluator.benchmarks.chain import measure_chain
from evaluator.cli.main import app
from evaluator.engine import MemoryStore
from evaluator.episodes.base import Setting
from evaluator.planners.named import planner_named
from evaluator.suites.registry import episode_of, suite_of

TASKS = ("count_object/9", "image_segmentation/3", "video_classification/0", "compound_instructions/5")
"""One that a correction makes right, one that needs none, one whose answers are not as expected, one of two parts."""


@pytest.fixture(scope="module")
def setting():
    return Setting(split="validation", profile="lilliput", samples=2, open_store=MemoryStore)


@pytest.fixture(scope="module")
def report(setting):
    prepared = episode_of("toolworld").prepared(suite=suite_of("toolworld"), setting=setting)
    return measure_chain(prepared=prepared, planner="controlllm/adaptive", tasks=TASKS)


@pytest.mark.full
def test_as_planned_the_score_is_that_of_an_evaluation(report, setting):
    suite = suite_of("toolworld")
    evaluator = episode_of("toolworld").evaluator(suite=suite, setting=setting)
    records = evaluator.run(planner=planner_named(name="controlllm/adaptive", suite=suite), tasks=TASKS)
    scores = [record.score for record in records]
    assert report.ways["as planned"].score == pytest.approx(sum(scores) / len(scores), abs=1e-6)


@pytest.mark.full
def test_a_correction_makes_one_request_better_and_none_worse(report):
    assert report.better == ("count_object/9",)
    assert report.worse == ()
    # One of the two samples shows blue squares, of which the plan as it is counts none.
    assert report.corrections == {
        "found nothing, arguments: helped": 1,
        "found nothing, next solution: did not help": 2,
        "found nothing, back to the solution that ran": 1,
    }
    planned, corrected = report.ways.values()
    assert corrected.score == pytest.approx(planned.score + 1 / 8)
    assert (planned.every_subtask_made, corrected.every_subtask_made) == (1, 1)


@pytest.mark.full
def test_answers_that_are_not_expected_score_0_either_way(report):
    assert [way.answers_as_expected for way in report.ways.values()] == [0.75, 0.75]


@pytest.mark.full
def test_the_second_way_runs_only_what_changed(report):
    planned, corrected = report.ways.values()
    assert corrected.calls < planned.calls / 2


def test_the_command_refuses_a_planner_without_a_chain():
    found = CliRunner().invoke(app, ["bench", "chain", "--suite", "toolworld", "--planner", "controlllm/none"])
    assert found.exit_code == 2
    assert "there is no strategy 'controlllm/none'" in found.stderr
