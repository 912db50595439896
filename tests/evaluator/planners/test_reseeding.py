"""Runs of a planner that draws differ in what they draw, and in nothing else."""

from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.named import planner_named
from evaluator.planners.protocol import ReseedablePlanner, reseeded
from evaluator.planners.strategies.protocol import Draft
from evaluator.planners.turns.protocol import BatchTurnPlanner, first_turn
from evaluator.planners.turns.strategies import StrategyTurnPlanner
from evaluator.suites.registry import suite_of
from tests.fakes.strategies import FakeStrategy, generate, request


def sampling(asked):
    first, second = yield [generate(asked.task.request, temperature=0.7, seed=5), generate(asked.task.request)]
    return Draft(plan=[first.text, second.text])


def seeds_of(*, run):
    model = ScriptedModel(lambda call: str(call.seed))
    planner = reseeded(StrategyPlanner(strategy=FakeStrategy(sampling), model=model), run=run)
    return planner.plan(request(1)).plan


def test_each_run_draws_with_seeds_of_its_own_and_repeats_them():
    runs = [seeds_of(run=run)[0] for run in range(5)]
    assert len(set(runs)) == 5
    assert runs[0] == "5"
    assert [seeds_of(run=run)[0] for run in range(5)] == runs


def test_calls_that_draw_nothing_stay_as_they_are():
    assert {seeds_of(run=run)[1] for run in range(3)} == {"0"}


def test_a_planner_in_turns_stays_one():
    class Stopping(FakeStrategy):
        formulation = "integrated"

    def converse(asked):
        (answer,) = yield [generate("x", temperature=1.0)]
        return Draft(plan={"answer": answer.text})

    planner = StrategyTurnPlanner(
        strategy=Stopping(converse), model=ScriptedModel(lambda call: str(call.seed)), name="turns"
    )
    again = reseeded(planner, run=1)
    assert isinstance(again, BatchTurnPlanner)
    assert again.formulation == planner.formulation
    suite = suite_of("arc-mini")
    context = suite.context(task=suite.tasks[0], offered=frozenset(suite.catalogue.tools))
    asked = first_turn(suite=suite, task=suite.tasks[0], context=context)
    assert again.turn(asked).response.answer != planner.turn(asked).response.answer


def test_planners_without_seeds_are_returned_as_they_are():
    gold = planner_named(name="gold", suite=suite_of("openagi"))
    assert not isinstance(gold, ReseedablePlanner)
    assert reseeded(gold, run=3) is gold
