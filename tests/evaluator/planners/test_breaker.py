"""A planner that cannot be reached is not called for each task that is left."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.turns import Formulation, TurnReply, TurnResponse
from evaluator.planners.breaker import CircuitBreaker
from tests.evaluator.planners.test_endpoint import REQUEST, endpoint, planner

CALL = PlannerCall(seconds=0.0)


class Scripted:
    """Answers, or fails for the given reasons, in turn; the last one for ever."""

    name = "scripted"
    formulation = Formulation.INTEGRATED

    def __init__(self, *ends: Reason | None) -> None:
        self.ends = ends
        self.asked = 0

    def plan(self, request: object) -> PlannerReply:
        end = self.ends[min(self.asked, len(self.ends) - 1)]
        self.asked += 1
        if end is not None:
            raise PlannerError(reason=end, message=f"It said no, {self.asked}.", call=CALL)
        return PlannerReply(plan="Image Denoising", call=CALL)

    def turn(self, request: object) -> TurnReply:
        return TurnReply(response=TurnResponse(plan=self.plan(request).plan), call=CALL)


def ends(breaker: CircuitBreaker, *, tasks: int) -> list[str]:
    """What each task comes to: nothing for a plan, else the sentence."""
    results = []
    for _ in range(tasks):
        try:
            breaker.plan(REQUEST)
            results.append("")
        except PlannerError as error:
            results.append(str(error))
    return results


def test_after_some_tasks_in_a_row_nobody_asks_any_more():
    behind = Scripted(Reason.ENDPOINT_UNAVAILABLE)
    breaker = CircuitBreaker(behind, after=3)
    result = ends(breaker, tasks=20)
    with pytest.raises(PlannerError) as not_asked:
        breaker.plan(REQUEST)
    assert not_asked.value.reason is Reason.ENDPOINT_UNAVAILABLE, "no fault of the planner"
    assert behind.asked == 3
    assert result[2:4] == [
        "It said no, 3.",
        "Not asked: the planner could not be reached for 3 tasks in a row. It said no, 3.",
    ]


@pytest.mark.parametrize("between", [None, Reason.PLANNER_TIMEOUT, Reason.INVALID_RESPONSE])
def test_any_answer_in_between_begins_the_count_again(between):
    away = Reason.ENDPOINT_UNAVAILABLE
    behind = Scripted(away, away, between, away, away, between, away, away, away)
    ends(CircuitBreaker(behind, after=3), tasks=20)
    assert behind.asked == 9


def test_an_endpoint_that_is_dead_at_preflight_is_called_for_the_first_task_only():
    with endpoint((503, b"")) as (url, seen):
        breaker = CircuitBreaker(planner(url), has_preflight=True)
        with ThreadPoolExecutor(max_workers=8) as pool:
            results = list(pool.map(lambda _: ends(breaker, tasks=1), range(20)))
    assert len(seen) == 4, "one task, with its tries"
    not_asked = [
        text for (text,) in results if text.startswith("Not asked: the planner could not be reached for the first")
    ]
    assert len(not_asked) == 19


def test_a_planner_that_answers_the_preflight_may_be_away_as_often_as_others():
    away = Reason.ENDPOINT_UNAVAILABLE
    behind = Scripted(Reason.INVALID_RESPONSE, away)
    ends(CircuitBreaker(behind, after=3, has_preflight=True), tasks=20)
    assert behind.asked == 1 + 3
