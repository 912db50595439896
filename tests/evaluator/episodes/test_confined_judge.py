"""Judges of packages read strangers' plans in a process that has no network, no environment, few files and limits."""

import socket
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
import json, os, socket, subprocess
from dataclasses import replace
from evaluator.episodes.judgement import JudgedPlans
from tests.toy_suite import SUITES as OTHERS, SumJudge, sums

os.write(1, b"a package may print when it is imported")

class Judge(SumJudge):
    """Does what the first text of a plan says, as a careless judge might evaluate it."""

    def __call__(self, *, suite, planned):
        print("a judge may print")
        found = super().__call__(suite=suite, planned=planned)
        said = str(next(iter(planned.plan.plan.steps[0].inputs.values())))
        if said == "environment":
            return replace(found, explanations={{"right": " ".join(os.environ)}})
        if said == "reply":
            return replace(found, explanations={{"right": f"{{planned.reply}} {{planned.record.tolerated}}"}})
        if said:
            eval(compile(said, "plan", "eval"), globals())
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
    """Answers each request with one step, whose first input is the next of these texts."""

    name = "saying"

    def __init__(self, *texts, **facts):
        self.texts, self.facts = texts, facts

    def plan(self, request):
        raise AssertionError("requests come together")

    def plan_all(self, requests):
        for number, (_, text) in enumerate(zip(requests, self.texts, strict=True)):
            step = {"id": "s1", "tool": "Double", "inputs": {"number": text}, "outputs": {"sum": "s1.sum"}}
            plan = {"steps": [step], "answers": ["s1.sum"]}
            yield number, PlannerReply(plan=plan, call=PlannerCall(seconds=0.0), **self.facts)


@pytest.fixture
def evaluator(installed):
    return episode_of(SLUG).evaluator(suite=installed, setting=Setting(split="all"))


def judged(planner, *, evaluator):
    tasks = [task.key for task in suite_of(SLUG).tasks][: len(planner.texts)]
    return list(evaluator.run(planner=planner, tasks=tasks))


def is_without_verdict(record):
    assert record.reason_text.startswith(f"The judge of {SLUG} ")
    return (record.outcome, record.reason, record.score) == (Outcome.INFRA_FAULT, Reason.SCORER_FAILED, None)


def test_verdicts_are_those_of_the_judge(evaluator):
    (record,) = judged(Saying("1"), evaluator=evaluator)
    assert (record.outcome, record.score) == (Outcome.SCORED, 1.0)
    assert record.explanations == {"right": "the plan gives 2, and 2 is wanted"}
    assert evaluator.facts()["judge"] == episode_of(SLUG).judge.digest()


def test_the_judge_reads_the_whole_reply(evaluator, installed):
    planner = Saying(
        "reply", tolerated=("prose before the plan",), notes={"raw": "x"}, responds=True, alternatives=([],)
    )
    (record,) = judged(planner, evaluator=evaluator)
    direct = JudgementEvaluator(suite=installed, judge=episode_of(SLUG).judge)
    assert [record] == judged(planner, evaluator=direct)
    assert "prose before the plan" in record.explanations["right"]
    assert "responds=True" in record.explanations["right"]


def test_the_judge_sees_no_environment_of_the_process(evaluator, monkeypatch):
    monkeypatch.setenv("WORKER_TOKEN", "secret")
    monkeypatch.setenv("PLANARENA_DATA", "/srv/data")
    (record,) = judged(Saying("environment"), evaluator=evaluator)
    assert "PATH" in record.explanations["right"]
    assert "WORKER_TOKEN" not in record.explanations["right"]
    assert "PLANARENA_DATA" not in record.explanations["right"]


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield opened


@pytest.mark.parametrize(
    "said",
    [
        "socket.create_connection(('127.0.0.1', {port}))",
        "open('{folder}/package/written', 'w')",
        "open('{folder}/secret')",
        "os.listdir('{folder}')",
        "open('/proc/' + str(os.getppid()) + '/environ')",
        "subprocess.run(['true'])",
        "bytearray(3 * 2**30)",
    ],
)
def test_a_plan_can_make_the_judge_do_nothing_else(evaluator, tmp_path, listener, said):
    (tmp_path / "secret").write_text("secret")
    said = said.format(folder=tmp_path, port=listener.getsockname()[1])
    (record,) = judged(Saying(said), evaluator=evaluator)
    assert is_without_verdict(record)
    assert not (tmp_path / "package" / "written").exists()


def test_the_judge_reads_its_own_package(evaluator):
    (record,) = judged(Saying("open(__file__).read() and __import__('wave')"), evaluator=evaluator)
    assert record.outcome is Outcome.SCORED


def test_what_a_plan_changes_in_the_judge_does_not_survive_the_run(evaluator):
    said = "setattr(Judge, '__call__', lambda *_, **all: replace(SumJudge()(**all), score=1.0))"
    assert [record.score for record in judged(Saying(said, "3"), evaluator=evaluator)] == [0.0, 1.0]
    (record,) = judged(Saying("3"), evaluator=evaluator)
    assert record.score == 0.0


def test_what_a_plan_writes_to_standard_output_is_no_verdict(evaluator):
    frame = "bytes([0, 0, 0, 0, 0, 0, 0, 2]) + b'[]'"
    other, record = judged(Saying(f"os.write(1, {frame})", "2"), evaluator=evaluator)
    assert (other.outcome, other.score) == (Outcome.SCORED, 0.0)
    assert record.score == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        """'['""",
        """'[' * 100_000""",
        """'null'""",
        """'{"score": 1}'""",
        """'{"score": NaN, "indicators": {}, "explanations": {}, "pairs": [], "arbiter": {}}'""",
        """'{"score": 1, "indicators": {}, "explanations": {"right": 1}, "pairs": [], "arbiter": {}}'""",
    ],
)
def test_after_an_invalid_answer_the_next_plan_is_judged_by_another_process(evaluator, answer):
    # Takes effect on the next answer.
    said = f"setattr(json, 'dumps', lambda _: {answer})"
    _, broken, record = judged(Saying(said, "2", "3"), evaluator=evaluator)
    assert is_without_verdict(broken)
    assert record.score == 1.0


def test_a_judge_that_does_not_end_is_ended_and_the_next_plan_is_judged(installed):
    judge = ConfinedJudge(
        episode_of(SLUG).judge, package=package_with(SLUG), limits=replace(confined_judge.LIMITS, wall_seconds=5)
    )
    evaluator = JudgementEvaluator(suite=installed, judge=judge)
    late, record = judged(Saying("[None for _ in iter(int, 1)]", "2"), evaluator=evaluator)
    assert (late.reason, late.reason_text) == (
        Reason.SCORER_FAILED, f"The judge of {SLUG} needed too much time for this plan.",
    )  # fmt: skip
    assert record.score == 1.0
