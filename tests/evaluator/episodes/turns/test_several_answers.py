"""Requests for several answers, and requests that no tool can meet, step by step."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.engine import LocalStore
from evaluator.episodes.base import Evaluator, Setting
from evaluator.episodes.turns.step_by_step import step_by_step
from evaluator.planners.bundled import bundled_planner
from evaluator.planners.given import GivenPlans
from evaluator.plans_file import GivenPlan
from evaluator.records import Outcome
from evaluator.suites.base import ABSTENTION
from evaluator.suites.openagi_season.entry import SUITES as SEASON
from tests.evaluator.episodes.turns.stepping import run, script
from tests.rings import usual


def season(folder: Path, *, in_turns: bool, keys: list[str], samples: int = 2) -> Evaluator:
    """Some of the generated requests in one of two forms; some want several answers, and some cannot be met."""
    (whole,) = SEASON
    entry = step_by_step(whole, caption="Image Captioning") if in_turns else whole
    built = entry.build()
    suite = replace(built, tasks=tuple(task for task in built.tasks if task.key in keys))
    setting = Setting(profile="lilliput", split="public", samples=samples, open_store=lambda: LocalStore(folder))
    return entry.episode.evaluator(suite=suite, setting=setting)


class TestOtherRequests:
    @pytest.fixture(scope="class")
    def keys(self) -> dict[str, list[str]]:
        tasks = SEASON[0].build().tasks
        return {
            "several": [task.key for task in tasks if len(task.answers) > 1][:3],
            "impossible": [task.key for task in tasks if task.metric == ABSTENTION][:2],
            "same type": [
                task.key for task in tasks
                if task.metric != ABSTENTION and task.expects in task.resources.values() and len(task.answers) == 1
            ][:2],
        }  # fmt: skip

    @pytest.mark.parametrize("plans", usual(["gold", "none"], of=["none"]))
    def test_several_answers_and_abstentions_score_what_they_score_as_whole_plans(self, folder, keys, plans):
        wanted = [key for found in keys.values() for key in found]
        assert len(wanted) == 7
        scores, outcomes = [], []
        for in_turns in (False, True):
            found = season(folder, in_turns=in_turns, keys=wanted)
            nothing = {"steps": [], "answers": []}
            abstaining = GivenPlans({key: GivenPlan(nothing) for key in wanted}, name="abstains")
            planner = bundled_planner(name="gold", suite=found.suite) if plans == "gold" else abstaining
            records = {record.task: record for record in found.run(planner=planner, tasks=wanted)}
            scores.append({key: record.score for key, record in records.items()})
            outcomes.append({record.outcome for record in records.values()})
        assert scores[0] == pytest.approx(scores[1], abs=1e-9, rel=0)
        assert [scores[1][key] for key in keys["impossible"]] == [1.0, 1.0]
        assert outcomes[1] == {Outcome.SCORED}

    def test_a_planner_that_stops_at_once_abstains(self, folder, keys):
        wanted = [*keys["impossible"], *keys["same type"]]
        records = run(season(folder, in_turns=True, keys=wanted), script(), *wanted)
        assert [record.score for record in records[:2]] == [1.0, 1.0]
        assert [record.score for record in records[2:]] == [0.0] * len(keys["same type"])

    def test_several_answers_are_the_results_that_nothing_took_or_those_that_are_named(self, folder, keys):
        (key, *_) = keys["several"]
        found = season(folder, in_turns=True, keys=[key])
        gold = found.suite.task(key).gold
        steps = [{"id": one.id, "tool": one.tool, "inputs": dict(one.inputs), "outputs": dict(one.outputs)}
                 for one in gold.steps]  # fmt: skip
        named, stopped, short = (
            run(found, script({"steps": steps}, last), key)[0]
            for last in ({"answer": ", ".join(gold.answers)}, {"stop": True}, {"answer": gold.answers[0]})
        )
        assert named.score == stopped.score
        assert named.score
        assert [one.answer for one in named.samples] == [one.answer for one in stopped.samples]
        assert "The answer is 2 results" in short.transcripts[0].turns[1].error
