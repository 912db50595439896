"""Judges of packages read strangers' plans in a process that has no network, no environment and limits."""

from dataclasses import replace

import pytest

from evaluator.core.planner import PlannerReply
from evaluator.core.records import Outcome, PlannerCall, Reason
from evaluator.core.suites import registry
from evaluator.core.suites.registry import package_with, suite_of
from evaluator.episodes import confined_judge
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.confined_judge import ConfinedJudge
from evaluator.episodes.judgement import JudgementEvaluator
from tests.evaluator.core.suites.test_plug_ins import install

SLUG = "strange-sums"
CODE = f'''
import os, socket, subprocess
from dataclasses import replace
from evaluator.episodes.judgement import JudgedPlans
from tests.toy_suite import SUITES as OTHERS, SumJudge, sums

class Judge(SumJudge):
    """Does what the first text of a plan says, as a careless judge might evaluate it."""

    def __call__(self, *, suite, planned):
        print("a judge may print")
        found = super().__call__(suite=suite, planned=planned)
        said = str(next(iter(planned.plan.plan.steps[0].inputs.values())))
        if said == "environment":
            return replace(found, explanations={{"right": " ".join(os.environ)}})
        if said:
            eval(compile(said, "plan", "eval"), {{"os": os, "socket": socket, "subprocess": subprocess}})
        return found

SUITES = (replace(OTHERS[0], slug="{SLUG}", build=lambda: replace(sums(), slug="{SLUG}"),
                  episode=JudgedPlans(judge=Judge())),)
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    install(tmp_path / "package", monkeypatch=monkeypatch, name="strange", module="strange_suite", code=CODE)
    yield suite_of(SLUG)
    monkeypatch.undo()
    registry.forget()


class Saying:
    """Answers every request with one step, whose first input is a text."""

    name = "saying"

    def __init__(self, text):
        self.text = text

    def plan(self, request):
        del request
        step = {"id": "s1", "tool": "Double", "inputs": {"number": self.text}, "outputs": {"sum": "s1.sum"}}
        return PlannerReply(plan={"steps": [step], "answers": ["s1.sum"]}, call=PlannerCall(seconds=0.0))


def judged(planner):
    suite = suite_of(SLUG)
    evaluator = episode_of(SLUG).evaluator(suite=suite, setting=Setting(split="all"))
    return list(evaluator.run(planner=planner, tasks=[suite.tasks[0].key]))


def test_verdicts_are_those_of_the_judge(installed):
    suite, judge = installed, episode_of(SLUG).judge
    (record,) = judged(Saying("1"))
    assert (record.outcome, record.score) == (Outcome.SCORED, 1.0)
    assert record.explanations == {"right": "the plan gives 2, and 2 is wanted"}
    evaluator = episode_of(SLUG).evaluator(suite=suite, setting=Setting(split="all"))
    assert evaluator.facts()["judge"] == judge.digest()


def test_the_judge_sees_no_environment_of_the_process(installed, monkeypatch):
    monkeypatch.setenv("WORKER_TOKEN", "secret")
    (record,) = judged(Saying("environment"))
    assert "PATH" in record.explanations["right"]
    assert "WORKER_TOKEN" not in record.explanations["right"]


@pytest.mark.parametrize(
    "said",
    [
        "socket.socket().connect(('127.0.0.1', 9))",
        "open('{folder}/written', 'w')",
        "subprocess.run(['true'])",
        "bytearray(3 * 2**30)",
    ],
)
def test_a_plan_can_make_the_judge_do_nothing_else(installed, tmp_path, said):
    (record,) = judged(Saying(said.format(folder=tmp_path)))
    assert (record.outcome, record.reason, record.score) == (Outcome.INFRA_FAULT, Reason.SCORER_FAILED, None)
    assert record.reason_text.startswith(f"The judge of {SLUG} ")
    assert not (tmp_path / "written").exists()


def test_a_judge_that_does_not_end_is_ended_and_the_next_plan_is_judged(installed):
    judge = ConfinedJudge(
        episode_of(SLUG).judge, package=package_with(SLUG), limits=replace(confined_judge.LIMITS, wall_seconds=5)
    )
    evaluator = JudgementEvaluator(suite=installed, judge=judge)
    task = [installed.tasks[0].key]
    (record,) = evaluator.run(planner=Saying("[None for _ in iter(int, 1)]"), tasks=task)
    assert (record.reason, record.reason_text) == (
        Reason.SCORER_FAILED, f"The judge of {SLUG} needed too much time for this plan.",
    )  # fmt: skip
    (record,) = evaluator.run(planner=Saying("1"), tasks=task)
    assert record.score == 1.0
