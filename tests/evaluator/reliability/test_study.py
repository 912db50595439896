"""Further runs ask each planner once, execute their plans together, and have the records that they have one by one."""

import pytest

from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.records import Outcome, PlannerCall, Reason, without_timings
from evaluator.episodes.base import episode_of
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.planners.bundled import bundled_planner
from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator
from evaluator.reliability.study import Replayed, executed_together
from tests.evaluator.test_evaluation import GRAY_ONLY, LABEL, SUITE, evaluator

TASKS = [GRAY_ONLY, LABEL]
GOLD = bundled_planner(name="gold", suite=SUITE)


class Counting:
    """Answers with gold plans, but for one task with an error, and counts."""

    name = "counting"

    def __init__(self):
        self.asked = []

    def plan(self, request):
        self.asked.append(request.task.id)
        if request.task.id == LABEL:
            raise PlannerError(reason=Reason.PLANNER_TIMEOUT, message="late", call=PlannerCall(seconds=2.0))
        return PlannerReply(plan=GOLD.plan(request).plan, call=PlannerCall(seconds=1.0, confidence=0.5))


class CountingTogether(Counting):
    """The same for many requests at once."""

    def plan_all(self, requests):
        for index, request in enumerate(requests):
            try:
                yield index, self.plan(request)
            except PlannerError as error:
                yield index, error


def framed(made: ExecutionEvaluator) -> PerturbedEvaluator:
    return PerturbedEvaluator(made, perturbation="framed", episode=episode_of("openagi"), profile="lilliput")


def records(made, planner):
    return {one.task: without_timings(one) for one in made.run(planner=planner, tasks=TASKS)}


@pytest.mark.parametrize("kind", [Counting, CountingTogether])
def test_each_planner_is_asked_once_and_everything_is_executed_before_the_runs(kind):
    shared, planners = evaluator(), [kind(), kind()]
    runs = [(lambda made: made, planners[0]), (framed, planners[1])]
    replayed = executed_together(shared, runs=runs, tasks=TASKS)
    called = dict(shared.engine.calls)
    assert called
    results = [records(form(shared), planner) for (form, _), planner in zip(runs, replayed, strict=True)]
    assert dict(shared.engine.calls) == called, "the runs find everything in the store"
    assert [sorted(one.asked) for one in planners] == [sorted(TASKS)] * 2
    assert results == [records(form(evaluator()), kind()) for form, _ in runs]
    assert results[0][GRAY_ONLY].planner.confidence == 0.5
    assert (results[1][LABEL].outcome, results[1][LABEL].reason) == (Outcome.PLANNER_FAULT, Reason.PLANNER_TIMEOUT)


def test_planners_of_evaluators_that_execute_no_plans_are_left_as_they_are():
    planner = Counting()
    made = episode_of("toolmini")
    assert executed_together(made, runs=[(lambda one: one, planner)], tasks=[]) == [planner]
    assert not isinstance(planner, Replayed)
