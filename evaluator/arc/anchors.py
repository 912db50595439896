"""Planners without a model for tasks with demonstrations: `identity` and `arc-search`."""

from collections.abc import Mapping
from typing import Any

from evaluator.arc.grids import grid_of, letters_of
from evaluator.arc.search.functions import Grid
from evaluator.arc.search.searching import WORK, search
from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.plans.abstaining import abstention
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.planners.anchors import BundledEntry

_NO_TIME = PlannerCall(seconds=0.0)
_NOTHING_FITS = "No program within the budget fits all demonstrations."


class IdentityPlanner:
    """Answers with the test inputs, as a baseline."""

    name = "identity"

    def __init__(self, suite: Suite) -> None:
        del suite

    def plan(self, request: PlannerRequest) -> PlannerReply:
        grids = [pair["input"] for pair in _pairs(request, part="test")]
        return PlannerReply(plan={"grids": grids}, call=_NO_TIME)


class SearchPlanner:
    """Enumerates programs over the helpers and answers with up to three that fit all demonstrations.

    The budget counts work and not time, so the same task has the same answer everywhere.
    """

    name = "arc-search"

    def __init__(self, suite: Suite, *, budget: int = WORK) -> None:
        del suite
        self._budget = budget

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The programs, the simplest first; an abstention if none fits."""
        demonstrations = [(_letters(pair["input"]), _letters(pair["output"])) for pair in _pairs(request, part="train")]
        tests = [_letters(pair["input"]) for pair in _pairs(request, part="test")]
        programs = search(demonstrations=demonstrations, tests=tests, budget=self._budget)
        if not programs:
            return PlannerReply(plan=abstention(_NOTHING_FITS), call=_NO_TIME)
        first, *others = ({"program": program} for program in programs)
        return PlannerReply(plan=first, alternatives=tuple(others), call=_NO_TIME)


def _pairs(request: PlannerRequest, *, part: str) -> list[Mapping[str, Any]]:
    pairs = request.task.given.get(part)
    assert isinstance(pairs, list)
    return [dict(pair) for pair in pairs if isinstance(pair, Mapping)]


def _letters(value: object) -> Grid:
    return letters_of(grid_of(value))


BUNDLED = (
    BundledEntry(
        name="identity",
        description="The test inputs as outputs: what changing nothing is worth.",
        make=IdentityPlanner,
        is_floor=True,
        is_named_by_suites=True,
    ),
    BundledEntry(
        name="arc-search",
        description="Enumerates programs over the helpers, without a model: up to three that fit all demonstrations.",
        make=SearchPlanner,
        is_named_by_suites=True,
    ),
)
