"""A published evaluation on `toolworld`: real plans, real experts, and what they found."""

from collections.abc import Iterable
from functools import cache

from evaluator.core.plans.model import plan_to_json
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import Artefact
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.models import User
from tests.leaderboard.evaluations.web.factories import keep_result, make_evaluation, make_planner

SLUG = "toolworld"
SUITE = suite_of(SLUG)
BOXES, MASK, MOTION, LINES, REMOVAL = (
    "image_detection/0", "image_segmentation/0", "video_classification/0", "image_processing/0", "image_editing/0",
)  # fmt: skip
WRONG_SIZE, COUNT = "image_detection/1", "count_object/0"


def records() -> list[ResultRecord]:
    """Gold plans of a few requests, and two bad ones, with what they made in the store of the site."""
    made, memory = _executed()
    server_store(split="public").put_all(list(memory.artefacts()))
    return [record.model_copy(deep=True) for record in made]


class _Memory(MemoryStore):
    def artefacts(self) -> Iterable[Artefact]:
        return self._objects.values()


@cache
def _executed() -> tuple[list[ResultRecord], _Memory]:
    """The experts run once in a process."""
    plans = {key: GivenPlan(plan_to_json(SUITE.task(key).gold)) for key in (BOXES, MASK, MOTION, LINES, REMOVAL)}
    name = next(iter(SUITE.task(COUNT).resources))
    detect = {
        "id": "s1",
        "tool": "object_detection",
        "inputs": {"image": f"${name}"},
        "outputs": {"object": "s1.object"},
    }
    # Everything that is there is counted, not what was asked for.
    count = {
        "id": "s2", "tool": "count_objects", "inputs": {"bbox_list": "s1.object"}, "outputs": {"length": "s2.length"}
    }  # fmt: skip
    plans[COUNT] = GivenPlan({"steps": [detect, count], "answers": ["s2.length"]})
    image = f"${next(iter(SUITE.task(WRONG_SIZE).resources))}"
    # Boxes of the picture are drawn on a crop of it.
    crop = {
        "id": "s2", "tool": "image_cropping", "inputs": {"image": image, "object": "s1.object"},
        "outputs": {"image": "s2.image"},
    }  # fmt: skip
    highlight = {
        "id": "s3", "tool": "highlight_object_on_image", "inputs": {"image": "s2.image", "bbox": "s1.object"},
        "outputs": {"result": "s3.result"},
    }  # fmt: skip
    plans[WRONG_SIZE] = GivenPlan(
        {"steps": [detect | {"inputs": {"image": image}}, crop, highlight], "answers": ["s3.result"]}
    )
    store = _Memory()
    setting = Setting(profile="lilliput", samples=2, open_store=lambda: store)
    evaluator = episode_of(SLUG).evaluator(suite=SUITE, setting=setting)
    return list(evaluator.run(planner=GivenPlans(plans, name="a few"), tasks=list(plans))), store


def make_executed_evaluation(*, user: User) -> Evaluation:
    """Not yet on a board."""
    register_suite(SUITE)
    suite = Suite.objects.get(slug=SLUG, current=True)
    made = records()
    summary = summarise(suite=SUITE, results=map(TaskScore.of, made), samples=2)
    planner = make_planner(owner=user, name="a few", bundled_name="random-valid")
    found = make_evaluation(
        planner=planner, suite=suite, summary=summary, tasks_total=len(made), samples=2, tasks_not_run=0
    )
    for record in made:
        keep_result(record, evaluation=found)
    return found
