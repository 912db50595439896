"""The commands tell how the episodes of a suite in turns went."""

import json
from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.client import cli as commands
from evaluator.client.shapes import CauseCount, Causes, Evaluation, SuiteInfo, TaskRow
from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suites import registry
from evaluator.core.transcripts import EpisodeEnd, EpisodeSummary, ProblemCount, StopReason

EVALUATION = Evaluation.model_validate(
    {"id": "e", "submission": "s", "suite": "toy", "state": "completed", "created": "2026-01-01T00:00:00Z",
     "planner": "p", "profile": "", "split": "", "samples": 1, "conditions": ""}
)  # fmt: skip


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setenv(SUITES_VARIABLE, "tests.evaluator.episodes.turns.toy")
    registry.forget()
    yield
    registry.forget()


def test_the_json_document_has_the_same_figures(toy):
    found = CliRunner().invoke(app, ["evaluate", "--suite", "toy-turns", "--planner", "gold", "--json"])
    episodes = json.loads(found.stdout)["summary"]["episodes"]
    assert episodes == {"episodes": 8, "mean_turns": 1.0, "stops": {"completed": 8}, "problems": []}


class Site:
    """A site with one evaluation in turns."""

    def suites(self) -> list[SuiteInfo]:
        return []

    def find(self, _: str) -> list[Evaluation]:
        return [EVALUATION]

    def causes(self, _: str) -> Causes:
        wrong = CauseCount(cause="wrong_answer", label="wrong final answer", definition="", tasks=1, share=1.0)
        explanation = ["SE 0.0 is 1.0 below gold.", "Wrong final answer costs 1.0."]
        return Causes(ran=1, below=1, at_gold=0, unknown=0, causes=[wrong], explanation=explanation)

    def results(self, _: str) -> list[TaskRow]:
        problem = ProblemCount(tool="Add", problem="bad_arguments", count=3)
        summary = EpisodeSummary(ends=[EpisodeEnd(stop=StopReason.STOPPED, turns=4)], problems=[problem])
        return [TaskRow(task="1", outcome="scored", score=1.0, episodes=summary), TaskRow(task="2", outcome="not_run")]


def test_results_of_a_site_end_with_how_the_episodes_went(monkeypatch):
    monkeypatch.setattr(commands, "client_of", lambda **_: nullcontext(Site()))
    found = CliRunner().invoke(app, ["results", "e", "--url", "https://example.org"])
    assert found.exit_code == 0, found.output
    assert "task  outcome   score\n   1  scored   1.0000\n   2  not_run\n" in found.stdout
    assert "2 tasks: 1 scored, 1 not_run\n" in found.stdout
    assert "toy: 1 episode, 4.00 turns in the mean" in found.stderr
    assert "toy: Action errors: 3 Add bad arguments" in found.stderr
    assert "toy: Wrong final answer costs 1.0." in found.stderr
