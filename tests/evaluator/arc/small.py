"""A small task of ARC's kind, and its environment."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.suite import arc_suite, environment_of
from evaluator.arc.tasks import ArcTask, arc_task
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.evaluator import TurnEvaluator


def mirrored(grid: Grid) -> Grid:
    """The task's transformation: columns in reverse order."""
    return tuple(row[::-1] for row in grid)


INPUTS: Sequence[Grid] = (((1, 0, 0), (2, 2, 0)), ((0, 3, 4), (0, 0, 5)))
TEST: Grid = ((7, 0, 8), (0, 9, 9))
MIRROR = "def transform_grid(grid):\n    return horizontal_flip(grid)"
TASK: ArcTask = arc_task(
    key="mirror",
    demonstrations=tuple(Demonstration(input=grid, output=mirrored(grid)) for grid in INPUTS),
    test_inputs=(TEST,),
)


def suite(*tasks: ArcTask) -> Suite:
    """A suite of the small task, or of others."""
    return arc_suite(slug="arc-small", title="Small", description="Mirrors.", tasks=tasks or (TASK,))


@contextmanager
def evaluator(*tasks: ArcTask, expected: dict[str, tuple[Grid, ...]] | None = None) -> Iterator[TurnEvaluator]:
    """An evaluator of the suite of these tasks."""
    right = expected or {TASK.key: (mirrored(TEST),)}
    environment = environment_of(tasks=tasks or (TASK,), expected=right.__getitem__, data="small")
    try:
        yield TurnEvaluator(suite=suite(*tasks), environment=environment, bounds=Bounds())
    finally:
        environment.close()


def judged(plan: JsonValue, *alternatives: JsonValue) -> ResultRecord:
    """The record of the small task for a planner that gives this plan."""
    planner = GivenPlans({TASK.key: GivenPlan(plan=plan, alternatives=alternatives)})
    with evaluator() as made:
        (record,) = made.run(planner=planner, tasks=[TASK.key])
    return record
