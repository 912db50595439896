"""Asking a planner again in one process, and `evaluate --runs`."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.planner import PlannerCall, PlannerReply
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.reliability.asking_again import further_runs, known_claim
from evaluator.reliability.further_runs import Claim, Verdict, report_of, scores_of_runs

TASKS = 40


class Alternating:
    """Gold plans; from the second run on, an empty plan for every task that `forgets`."""

    def __init__(self, suite, *, forgets=lambda task: False, run=0):
        self.name, self.suite, self.forgets, self.run = "alternating", suite, forgets, run

    def reseeded(self, run):
        return Alternating(self.suite, forgets=self.forgets, run=run)

    def plan(self, request):
        task = self.suite.task(request.task.id)
        gold = plan_to_json(task.gold)
        plan = {**gold, "steps": [], "answers": []} if self.run and self.forgets(task.key) else gold
        return PlannerReply(plan=plan, call=PlannerCall(seconds=0.0))


@pytest.fixture(scope="module")
def suite():
    return suite_of("toolmini")


@pytest.fixture(scope="module")
def evaluator(suite):
    return episode_of(suite.slug).evaluator(suite=suite, setting=Setting(profile="lilliput"))


@pytest.fixture(scope="module")
def first(suite, evaluator):
    tasks = [task.key for task in suite.tasks][:TASKS]
    return {record.task: record for record in evaluator.run(planner=Alternating(suite), tasks=tasks)}


def asked(evaluator, first, *, claim, forgets=lambda task: False, share=0.1):
    planner = Alternating(evaluator.suite, forgets=forgets)
    return further_runs(evaluator=evaluator, planner=planner, claim=claim, first=first, runs=3, share=share)


def test_a_planner_is_asked_again_for_the_same_tasks_in_each_run(evaluator, first):
    runs = asked(evaluator, first, claim=Claim.NONE, share=0.5)
    assert [len(run) for run in runs] == [TASKS // 2] * 2
    assert runs[0].keys() == runs[1].keys() <= first.keys()


def test_a_kept_claim_needs_one_small_run_and_a_broken_one_all(evaluator, first):
    kept = asked(evaluator, first, claim=Claim.DECLARED)
    assert [len(run) for run in kept] == [8]
    assert report_of(claim=Claim.DECLARED, runs=[first, *kept]).verdict is Verdict.DETERMINISTIC
    broken = asked(evaluator, first, claim=Claim.DECLARED, forgets=lambda task: True)
    assert [len(run) for run in broken] == [8, 8, 8]
    assert report_of(claim=Claim.DECLARED, runs=[first, *broken]).verdict is Verdict.CONTRADICTED


def test_scores_have_those_of_further_runs(evaluator, first):
    runs = asked(evaluator, first, claim=Claim.NONE, forgets=lambda task: True)
    scores = scores_of_runs([first, *runs])
    again = [score for score in scores if score.further]
    assert len(scores) == TASKS
    assert {score.task for score in again} == set(runs[0])
    assert all(len(score.further) == 2 and score.further[0].score != score.score for score in again)


def test_claims_are_known_of_planners_that_come_with_planarena():
    assert known_claim("gold") is Claim.KNOWN
    assert known_claim("random-valid") is Claim.NONE
    assert known_claim("https://example.org/plan") is Claim.NONE


def evaluated(*arguments, file):
    run = CliRunner().invoke(app, ["evaluate", "--suite", "toolmini", "--output", str(file), *arguments])
    assert run.exit_code == 0, run.output
    return json.loads(file.read_text()), " ".join(run.output.split())


def test_the_command_asks_a_sampling_planner_again_and_keeps_the_runs(tmp_path):
    document, output = evaluated("--planner", "random-valid", "--runs", "3", file=tmp_path / "r.json")
    assert [len(run) for run in document["runs"]["further"]] == [12, 12]
    assert document["runs"]["report"]["verdict"] == "varies"
    assert "12 tasks, drawn at random, ran up to 3 times" in output


def test_the_command_checks_that_a_bundled_planner_is_deterministic(tmp_path):
    document, output = evaluated("--planner", "controlllm/adaptive", "--runs", "3", file=tmp_path / "r.json")
    assert document["runs"]["report"]["verdict"] == "deterministic"
    assert "Does not sample. 8 tasks, drawn at random, ran up to 2 times: all answers are equal." in output


def test_a_compared_report_may_have_further_runs(tmp_path):
    evaluated("--planner", "random-valid", "--runs", "2", file=tmp_path / "first.json")
    _, output = evaluated("--planner", "gold", "--against", str(tmp_path / "first.json"), file=tmp_path / "second.json")
    assert "random-valid" in output
