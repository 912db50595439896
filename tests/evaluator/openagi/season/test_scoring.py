"""Several answers and abstention, from request to record, with fake experts."""

import re

import pytest
from PIL import Image

from evaluator.core.planner import PlannerReply, request_for
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, PlannerCall, Reason, without_timings
from evaluator.core.suites.base import ABSTENTION
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Image as PillowImage
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import Profile, ScorerSpec
from evaluator.openagi.grammar import Base
from evaluator.openagi.season.samples import season_samples
from evaluator.openagi.season.tasks import SEVERAL
from evaluator.planners.bundled import bundled_planner
from evaluator.planners.strategies.prompting import answer_sentence, context_of
from tests.fakes.experts import FakeExpert, FakePool

SUITE = suite_of("openagi-season")
ABSTAIN = {"steps": [], "answers": []}


def task_with(**wanted):
    return next(task for task in SUITE.tasks if all(getattr(task, name) == value for name, value in wanted.items()))


def several(*bases):
    return next(task for task in SUITE.tasks if [one.base for one in task.spec.stratum.wanted] == list(bases)
                and task.metric == SEVERAL)  # fmt: skip


IMPOSSIBLE = task_with(metric=ABSTENTION)
RESTORATION = next(task for task in SUITE.tasks if task.metric == "ViT" and list(task.resources) == ["image"])
CAPTION = next(task for task in SUITE.tasks if task.wanted.base is Base.CAPTIONING and task.metric == "BERT"
               and "text" not in task.resources)  # fmt: skip
IMAGE_AND_TEXT = several(Base.RESTORATION, Base.CAPTIONING)


class Fixed:
    """Scores by the kind of value: 0.2 for images, 0.8 for texts."""

    def __init__(self, metric):
        self._metric = metric

    def score(self, *, outputs, references):
        kinds = {"ViT": (True, True), "BERT": (False, False), "CLIP": (True, False)}[self._metric]
        for pair in zip(outputs, references, strict=True):
            assert tuple(isinstance(value, PillowImage) for value in pair) == kinds
        return [0.2 if isinstance(output, PillowImage) else 0.8 for output in outputs]


def expert(tool):
    made = next(iter(tool.outputs.items()))
    value = Image.new("RGB", (8, 8)) if made[1] is ResourceType.IMAGE else tool.name
    return FakeExpert(lambda item: {made[0]: value})


class Answers:
    """Gives every task the same answer."""

    name = "answers"

    def __init__(self, answer):
        self._answer = answer

    def plan(self, request):
        return PlannerReply(plan=self._answer, call=PlannerCall(seconds=0.0))


def evaluator(samples=2, table=None):
    pool = FakePool(table or {name: expert(tool) for name, tool in SUITE.catalogue.tools.items()})
    profile = Profile(
        name="fake",
        digest="fake",
        experts={tool: pool.spec(tool) for tool in pool.experts},
        scorers=dict.fromkeys(["ViT", "BERT", "CLIP"], ScorerSpec("x", "x", None, "x", "1")),
    )
    return ExecutionEvaluator(
        suite=SUITE, profile=profile, samples=season_samples(profile="lilliput", split="public", hidden_seed=None),
        count=samples, store=MemoryStore(), experts=pool, scorers=Fixed,
    )  # fmt: skip


def record_of(task, answer):
    (record,) = evaluator().run(planner=Answers(answer), tasks=[task.key])
    return record


def test_abstaining_scores_one_where_no_tool_can_meet_the_request_and_nothing_runs():
    record = record_of(IMPOSSIBLE, ABSTAIN)
    assert (record.outcome, record.score, record.samples) == (Outcome.SCORED, 1.0, [])
    assert record.indicators == {"exact": 1.0, "near": 1.0}


@pytest.mark.parametrize("task", [IMPOSSIBLE, RESTORATION, CAPTION, IMAGE_AND_TEXT], ids=["none", "one", "no", "two"])
@pytest.mark.parametrize("null", [None, {"plan": None, "reason": "There is no such tool."}])
def test_a_null_plan_counts_as_a_plan_without_steps_and_answers(task, null):
    empty, found = record_of(task, ABSTAIN), record_of(task, null)
    assert found.plan_received == null
    update = {"plan_received": empty.plan_received}
    assert without_timings(found.model_copy(update=update)) == without_timings(empty)


def test_a_plan_with_steps_scores_zero_where_no_tool_can_meet_the_request():
    record = record_of(IMPOSSIBLE, plan_to_json(
        next(task for task in SUITE.tasks if task.gold.steps and task.expects is IMPOSSIBLE.expects
             and set(task.resources) <= set(IMPOSSIBLE.resources)).gold))  # fmt: skip
    assert (record.outcome, record.score) == (Outcome.SCORED, 0.0)


@pytest.mark.parametrize("task", [RESTORATION, CAPTION], ids=lambda task: task.key)
def test_abstaining_from_what_tools_can_do_scores_nothing_and_is_not_invalid(task):
    record = record_of(task, ABSTAIN)
    assert (record.outcome, record.reason, record.score) == (Outcome.PLANNER_FAULT, Reason.ABSTAINED, 0.0)
    assert record.reason_text == "The planner abstained, but the tools can meet this request."
    assert record.problems == []


def test_several_answers_score_their_mean_and_are_all_in_the_record():
    record = record_of(IMAGE_AND_TEXT, plan_to_json(IMAGE_AND_TEXT.gold))
    assert (record.outcome, record.score) == (Outcome.SCORED, 0.5)
    for sample in record.samples:
        (further,) = sample.further
        assert (sample.score, further.score, further.metric) == (0.5, 0.8, "BERT")
        assert {sample.answer.digest, further.answer.digest, further.reference.digest} <= {
            artefact.digest for artefact in record.artefacts()
        }


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (lambda answers: answers[:1], r"1 answer; this request expects 2 \(image, text\)"),
        (lambda answers: answers[::-1], "is text; this request expects image"),
        (lambda answers: [*answers, answers[0]], "3 answers"),
        (lambda answers: [answers[0], "s99.text"], "no step makes"),
    ],
)
def test_several_answers_must_be_those_that_are_wanted_in_their_order(answers, says):
    plan = plan_to_json(IMAGE_AND_TEXT.gold)
    record = record_of(IMAGE_AND_TEXT, plan | {"answers": answers(plan["answers"])})
    assert (record.outcome, record.score) == (Outcome.PLANNER_FAULT, 0.0)
    assert re.search(says, record.reason_text)


def test_every_gold_plan_of_a_block_runs_with_the_inputs_that_the_request_gives():
    keys = [task.key for task in SUITE.tasks[:100]]
    records = list(evaluator(samples=1).run(planner=bundled_planner(name="gold", suite=SUITE), tasks=keys))
    assert {record.outcome for record in records} == {Outcome.SCORED}
    for record in records:
        for sample in record.samples:
            assert list(sample.inputs) == list(SUITE.task(record.task).resources)


def test_inputs_that_are_not_needed_are_from_another_sample():
    task = next(task for task in SUITE.tasks if {"image_1", "image_2"} <= set(task.resources)
                and not any(given.degradations for given in task.spec.given))  # fmt: skip
    samples = season_samples(profile="lilliput", split="public", hidden_seed=None)
    needed = task.spec.input_of("image").name
    inputs = samples.inputs(task=task, index=3)
    assert inputs["image_1"] != inputs["image_2"]
    assert inputs[needed] == samples.inputs(task=CLEAN, index=3)["image"]


CLEAN = next(task for task in SUITE.tasks if list(task.resources) == ["image"]
             and not task.spec.input_of("image").degradations)  # fmt: skip


def test_requests_with_equal_inputs_share_them_and_no_others():
    samples = season_samples(profile="lilliput", split="public", hidden_seed=None)
    keys = {}
    for task in SUITE.tasks[:300]:
        inputs = {name: value if isinstance(value, str) else value.tobytes()
                  for name, value in samples.inputs(task=task, index=0).items()}  # fmt: skip
        assert keys.setdefault(samples.inputs_key(task=task), inputs) == inputs


def test_there_are_no_data_under_the_profile_of_the_papers():
    with pytest.raises(LookupError, match="only under lilliput"):
        season_samples(profile="paper", split="public", hidden_seed=None)
    with pytest.raises(ValueError, match="no split"):
        season_samples(profile="lilliput", split="train", hidden_seed=None)


def test_a_record_says_whether_the_plan_is_the_gold_plan_and_how_near_it_is():
    gold = record_of(IMAGE_AND_TEXT, plan_to_json(IMAGE_AND_TEXT.gold))
    assert (gold.indicators["exact"], gold.indicators["near"]) == (1.0, 1.0)
    image = next(name for name, kind in RESTORATION.resources.items() if kind is ResourceType.IMAGE)
    handed_back = record_of(RESTORATION, {"steps": [], "answers": [f"${image}"]})
    assert handed_back.outcome is Outcome.SCORED
    assert (handed_back.indicators["exact"], handed_back.indicators["near"]) == (0.0, 0.0)


def test_a_label_that_equals_its_reference_is_right_and_another_answer_of_the_request_does_not_matter():
    task = several(Base.CAPTIONING, Base.CLASSIFICATION)
    world = season_samples(profile="lilliput", split="public", hidden_seed=None)
    right = str(world.reference(task=task.answers[1], index=0))
    assert right != world.reference(task=task.answers[1], index=1)
    table = {name: expert(tool) for name, tool in SUITE.catalogue.tools.items()}
    for tool in ("Image Classification", "Machine Translation"):
        table[tool] = FakeExpert(lambda item: {"text": f" The {right.upper()}."})
    made = evaluator(table=table)
    (record,) = made.run(planner=bundled_planner(name="gold", suite=SUITE), tasks=[task.key])
    assert [sample.indicators for sample in record.samples] == [{"closed": 1.0}, {"closed": 0.0}]
    assert record.indicators == {"exact": 1.0, "near": 1.0, "closed": 0.5}


def test_planners_are_told_the_type_of_each_of_several_answers():
    def asked(task):
        return request_for(suite=SUITE, task=task, context=SUITE.context(task=task, offered=frozenset()))

    request = asked(IMAGE_AND_TEXT)
    assert (request.expects.type, request.expects.types) == (None, ["image", "text"])
    assert answer_sentence(request) == "The plan must have 2 answers, in the order of the request: image, text."
    assert context_of(request).several == (ResourceType.IMAGE, ResourceType.TEXT)
    one = asked(CAPTION)
    assert (one.expects.type, one.expects.types) == ("text", [])
    assert answer_sentence(one) == "The answer must be one result of the type text."
