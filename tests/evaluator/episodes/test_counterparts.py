"""The drop from counterparts: one plan on two inputs of a sample, against one reference."""

import pytest
from PIL import Image

from evaluator.core.planner import PlannerReply
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, PlannerCall
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.counterparts import DROP, with_drop
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import Profile, ScorerSpec
from tests.fakes.experts import FakeExpert, FakePool, broken_on_black

SUITE = suite_of("openagi-shifted")
TASK = next(task for task in SUITE.tasks if task.degradations == ("noise",) and task.base == "restoration")
LIGHT, DARK = 200, 50


class Grey:
    """Pictures of one brightness in every sample, with a white reference."""

    digest = "grey"

    def __init__(self, brightness):
        self._brightness = brightness

    def missing(self, *, task):
        return None

    def inputs(self, *, task, index):
        return {"image": Image.new("RGB", (4, 4), (self._brightness + index,) * 3)}

    def reference(self, *, task, index):
        return Image.new("RGB", (4, 4), "white")


class Brightness:
    """Scores a picture by how bright it is."""

    def __init__(self, metric):
        del metric

    def score(self, *, outputs, references):
        return [output.getpixel((0, 0))[0] / 1000 for output in outputs]


class Gold:
    name = "gold"

    def plan(self, request):
        return PlannerReply(plan=plan_to_json(TASK.gold), call=PlannerCall(seconds=0.0))


def record(*, here, there, function=lambda item: {"image": item["image"]}):
    pool = FakePool({tool: FakeExpert(function) for tool in SUITE.catalogue.tools})
    profile = Profile(
        name="fake", digest="fake", experts={tool: pool.spec(tool) for tool in pool.experts},
        scorers=dict.fromkeys(["ViT"], ScorerSpec("x", "x", None, "x", "1")),
    )  # fmt: skip
    evaluator = ExecutionEvaluator(
        suite=SUITE, profile=profile, samples=here, count=2, store=MemoryStore(), experts=pool, scorers=Brightness,
        counterparts=there,
    )  # fmt: skip
    (made,) = evaluator.run(planner=Gold(), tasks=[TASK.key])
    return made


def test_the_drop_is_the_score_on_the_counterpart_less_the_own_score():
    made = record(here=Grey(DARK), there=Grey(LIGHT))
    assert made.outcome is Outcome.SCORED
    assert made.score == pytest.approx((DARK + 0.5) / 1000)
    assert [sample.indicators[DROP] for sample in made.samples] == pytest.approx([0.15, 0.15])
    assert made.indicators[DROP] == pytest.approx(0.15)
    assert [sample.score for sample in made.samples] == pytest.approx([0.05, 0.051])


def test_without_counterparts_there_is_no_drop():
    assert DROP not in record(here=Grey(DARK), there=None).indicators


def test_a_plan_that_fails_on_counterparts_is_scored_without_a_drop():
    made = record(here=Grey(DARK), there=Grey(0), function=broken_on_black)
    assert made.outcome is Outcome.SCORED
    assert DROP not in made.indicators


def test_indicators_without_a_comparison_stay_as_they_are():
    assert with_drop([{"closed": 1.0}], own=[0.5], counterparts=[]) == ([{"closed": 1.0}], {})
