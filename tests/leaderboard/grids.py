"""A suite with grids, and an evaluation on it with every kind of candidate, run for real."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import environ

from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.suite import arc_suite, environment_of
from evaluator.arc.tasks import ArcTask, arc_task
from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import ResultRecord
from evaluator.core.suites import registry
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import Entry
from evaluator.core.turns import TurnResponse
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.episodes.turns.interactive import InteractiveEpisodes
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from leaderboard.catalog.models import Suite as SuiteRow
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.people.models import User
from tests.evaluator.arc.small import INPUTS, MIRROR, TEST, mirrored
from tests.evaluator.episodes.turns.toy import Answers
from tests.leaderboard.evaluations.web.factories import keep_result, make_evaluation, make_planner
from tests.leaderboard.factories import closed_season

SLUG = "grids-small"
EPISODE, THIRD, FAILING, WRONG_SIZE, STEPS, GRIDS, LARGE, REFUSED = (
    "episode", "third", "failing", "wrong-size", "steps", "grids", "large", "refused",
)  # fmt: skip
SAME = "def transform_grid(grid):\n    return grid"
FAILS = "def transform_grid(grid):\n    new = horizontal_flip(grid)\n    new[99][0] = 'a'\n    return new"
SMALLER = "def transform_grid(grid):\n    return horizontal_flip(crop_grid(grid, (0, 0), (0, 1)))"
_RAINBOW: Grid = tuple(tuple((row * 7 + column * 3 + row * column) % 10 for column in range(30)) for row in range(30))


def _task(key: str) -> ArcTask:
    inputs, test = (INPUTS, TEST) if key != LARGE else ((_RAINBOW,), _RAINBOW)
    pairs = tuple(Demonstration(input=grid, output=mirrored(grid)) for grid in inputs)
    return arc_task(key=key, demonstrations=pairs, test_inputs=(test,))


TASKS = tuple(map(_task, (EPISODE, THIRD, FAILING, WRONG_SIZE, STEPS, GRIDS, LARGE, REFUSED)))


def _suite() -> Suite:
    return arc_suite(slug=SLUG, title="Small grids", description="Mirrors.", tasks=TASKS)


def _environment(_: object = None):
    right = {task.key: tuple(map(mirrored, task.test_inputs)) for task in TASKS}
    return environment_of(tasks=TASKS, expected=right.__getitem__, data="small")


SUITES = (Entry(slug=SLUG, build=_suite, episode=InteractiveEpisodes(environment=_environment, bounds=Bounds())),)


@contextmanager
def registered() -> Iterator[None]:
    """The suite in the registry."""
    before = environ.get(SUITES_VARIABLE)
    environ[SUITES_VARIABLE] = ",".join(filter(None, (before, __name__)))
    registry.forget()
    try:
        yield
    finally:
        del environ[SUITES_VARIABLE]
        if before is not None:
            environ[SUITES_VARIABLE] = before
        registry.forget()


def records(*, tries: Sequence[str] = (FAILS, SAME, MIRROR)) -> list[ResultRecord]:
    """A record of each task: whole plans, and one episode with two looks at the task and some tries, at least two."""
    mirror, grids = {"program": MIRROR}, {"grids": [[list(row) for row in mirrored(TEST)]]}
    plans = {
        THIRD: GivenPlan({"program": SAME}, alternatives=("R1 = vertical_flip(INPUT)", mirror)),
        FAILING: GivenPlan({"program": FAILS}),
        WRONG_SIZE: GivenPlan({"program": SMALLER}),
        STEPS: GivenPlan("R1 = horizontal_flip(INPUT); R2 = vertical_flip(R1)"),
        GRIDS: GivenPlan(grids),
        LARGE: GivenPlan({"program": SAME}, alternatives=(mirror,)),
        REFUSED: GivenPlan({"program": "import os\n" + MIRROR}),
    }
    steps = iter([
        _step("View", "view", "grid", name="R1"), _step("View", "view", "objects_diag, more_info", name="R2"),
        *(_step("Program", "program", text, name=f"R{number}") for number, text in enumerate(tries, start=3)),
        TurnResponse(answer=f"R{len(tries) + 2}, R{len(tries) + 1}"),
    ])  # fmt: skip
    environment = _environment()
    try:
        evaluator = TurnEvaluator(suite=_suite(), environment=environment, bounds=Bounds())
        episode = evaluator.run(planner=Answers(lambda _: next(steps)), tasks=[EPISODE])
        return [*episode, *evaluator.run(planner=GivenPlans(plans, name="given"), tasks=list(plans))]
    finally:
        environment.close()


def make_grids_evaluation(
    *, user: User, split: str = "public", name: str = "grids by hand", tries: Sequence[str] = (FAILS, SAME, MIRROR)
) -> Evaluation:
    """Not yet on a board."""
    register_suite(_suite())
    suite = SuiteRow.objects.get(slug=SLUG, current=True)
    made = records(tries=tries)
    found = make_evaluation(
        planner=make_planner(owner=user, name=name, bundled_name="no-op"), suite=suite, split=split,
        season=closed_season() if split == "hidden" else None,
        summary=summarise(suite=_suite(), results=map(TaskScore.of, made), samples=1), tasks_total=len(made), samples=1,
        tasks_not_run=0,
    )  # fmt: skip
    for record in made:
        keep_result(record, evaluation=found)
    return found


def _step(tool: str, name_of_input: str, value: str, *, name: str) -> TurnResponse:
    return TurnResponse(steps=[{"id": "s1", "tool": tool, "inputs": {name_of_input: value}, "outputs": {"x": name}}])
