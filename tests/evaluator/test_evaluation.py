"""The pipeline from request to record, with fake experts: whose fault it is, and that one bad task stops no other."""

import pytest
from PIL import Image

from evaluator.core.expert import ExpertError
from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.records import Outcome, PlannerCall, Reason, without_timings
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import encode
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.episodes.parts import not_run_reasons
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import Profile, ScorerSpec
from evaluator.planners.bundled import bundled_planner
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from tests.fakes.experts import FakeExpert, FakePool, double, mirror

SUITE = suite_of("openagi")
GRAY_ONLY, LOW_ONLY, LABEL, CAPTION = "7", "14", "61", "18"
RESTORERS = ("Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization")


class Samples:
    """Small pictures whose colour tells the sample's index; the right answer is their mirror image."""

    digest = "samples"

    def missing(self, *, task):
        return None if task.base in {"restoration", "image_classification"} else "no such data"

    def inputs(self, *, task, index):
        return {"image": Image.new("RGB", (4, 4), (index, 0, 0))}

    def reference(self, *, task, index):
        return Image.new("RGB", (4, 4), (index, 0, 0)) if task.metric == "ViT" else f"{index}"


class Equality:
    """Scores 1 for equal values, else 0.5."""

    def score(self, *, outputs, references):
        return [
            1.0 if encode(output).digest == encode(reference).digest else 0.5
            for output, reference in zip(outputs, references, strict=True)
        ]


class Answers:
    """A planner that answers from a table; what is callable is called."""

    name = "table"

    def __init__(self, table):
        self._table = table

    def plan(self, request):
        answer = self._table[request.task.id]
        if callable(answer):
            answer = answer()
        return PlannerReply(plan=answer, call=PlannerCall(seconds=0.0))


def classify(item):
    return {"text": str(item["image"].getpixel((0, 0))[0])}


def experts(**changes):
    table = dict.fromkeys(RESTORERS, mirror) | {"Image Classification": classify, "Image Super Resolution": double}
    return FakePool({tool: FakeExpert(function) for tool, function in (table | changes).items()})


def evaluator(*, pool=None, scorer=None, count=2):
    pool = pool or experts()
    profile = Profile(
        name="fake",
        digest="fake",
        experts={tool: pool.spec(tool) for tool in pool.experts},
        scorers=dict.fromkeys(["ViT", "BERT"], ScorerSpec("x", "x", None, "x", "1")),
    )
    return ExecutionEvaluator(
        suite=SUITE, profile=profile, samples=Samples(), count=count, store=MemoryStore(), experts=pool,
        scorers=lambda metric: scorer or Equality(),
    )  # fmt: skip


def run(table, **options):
    made = evaluator(**options)
    return {record.task: record for record in made.run(planner=Answers(table), tasks=list(table))}


class Wavering:
    """A scorer whose last bits differ from call to call, as with another number of threads."""

    def __init__(self):
        self.calls = 0

    def score(self, *, outputs, references):
        self.calls += 1
        return [0.25 + self.calls * 1e-9 for _ in outputs]


def test_equal_plans_tie_whatever_the_last_bits_of_their_scores_are():
    scorer = Wavering()
    gold = bundled_planner(name="gold", suite=SUITE)
    scores = [
        sample.score
        for _ in range(2)
        for record in evaluator(scorer=scorer).run(planner=gold, tasks=[LOW_ONLY])
        for sample in record.samples
    ]
    assert scorer.calls == 2
    assert scores == [0.25] * 4


def test_the_gold_plan_is_executed_and_scored():
    made = evaluator()
    gold = bundled_planner(name="gold", suite=SUITE)
    records = {record.task: record for record in made.run(planner=gold, tasks=[GRAY_ONLY, LOW_ONLY, LABEL])}
    assert [records[key].outcome for key in (GRAY_ONLY, LOW_ONLY, LABEL)] == [Outcome.SCORED] * 3
    assert records[GRAY_ONLY].score == 1.0
    assert records[LOW_ONLY].score == 0.5
    assert [step.tool for step in records[LABEL].samples[0].steps] == list(SUITE.task(LABEL).gold.tools())
    assert len(records[LABEL].samples) == 2


def test_tasks_without_expert_or_data_are_not_run_and_never_asked():
    def never():
        raise AssertionError("asked for a task that cannot run")

    record = run({CAPTION: never})[CAPTION]
    assert (record.outcome, record.reason, record.score) == (Outcome.NOT_RUN, Reason.NO_EXPERT, None)
    assert "Image Captioning" in record.reason_text


def raise_error(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize(
    ("answer", "reason", "says"),
    [
        ("", Reason.UNPARSABLE_PLAN, "The plan cannot be read: the plan is empty"),
        ([1, 2], Reason.UNPARSABLE_PLAN, "The plan cannot be read: "),
        ("Magic", Reason.UNPARSABLE_PLAN, "The plan cannot be read: "),
        ("Image Denoising, Magic", Reason.INVALID_PLAN, 'Plan step 2 ("Magic"): there is no such tool'),
        ("Image Captioning", Reason.INVALID_PLAN, "this profile has no expert for it"),
        ("Image Classification", Reason.INVALID_PLAN, "The answer s1.text is text"),
        (
            raise_error(PlannerError(reason=Reason.PLANNER_TIMEOUT, message="Too late.", call=PlannerCall(seconds=1))),
            Reason.PLANNER_TIMEOUT,
            "Too late.",
        ),
    ],
)
def test_what_the_planner_got_wrong_scores_0_with_a_sentence_and_stops_no_other_task(answer, reason, says):
    records = run({GRAY_ONLY: answer, LOW_ONLY: "Image Denoising"})
    record = records[GRAY_ONLY]
    assert (record.outcome, record.reason, record.score) == (Outcome.PLANNER_FAULT, reason, 0.0)
    assert says in record.reason_text
    assert records[LOW_ONLY].outcome is Outcome.SCORED


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            raise_error(PlannerError(reason=Reason.ENDPOINT_UNAVAILABLE, message="x", call=PlannerCall(seconds=1))),
            Reason.ENDPOINT_UNAVAILABLE,
        ),
        (raise_error(ZeroDivisionError("oops")), Reason.INTERNAL_ERROR),
    ],
)
def test_what_is_not_the_planners_fault_has_no_score(answer, reason):
    records = run({GRAY_ONLY: answer, LOW_ONLY: "Image Denoising"})
    record = records[GRAY_ONLY]
    assert (record.outcome, record.reason, record.score) == (Outcome.INFRA_FAULT, reason, None)
    assert records[LOW_ONLY].outcome is Outcome.SCORED


def test_an_expert_that_crashes_is_an_infra_fault_of_the_tasks_that_need_it():
    def crash(item):
        raise ExpertError("out of luck")

    records = run({GRAY_ONLY: "Colorization", LOW_ONLY: "Image Denoising"}, pool=experts(Colorization=crash))
    record = records[GRAY_ONLY]
    assert (record.outcome, record.reason, record.score) == (Outcome.INFRA_FAULT, Reason.EXPERT_FAILED, None)
    assert record.reason_text == "Colorization failed: out of luck."
    assert record.samples[0].steps[0].error is not None
    assert records[LOW_ONLY].outcome is Outcome.SCORED


@pytest.mark.parametrize("part", ["inputs", "reference"])
def test_data_that_cannot_be_read_cost_their_own_task_only(monkeypatch, part):
    read = getattr(Samples, part)

    def damaged(self, *, task, index):
        if task.key == GRAY_ONLY and index == 1:
            raise OSError("cannot identify image file")
        return read(self, task=task, index=index)

    monkeypatch.setattr(Samples, part, damaged)
    records = run({GRAY_ONLY: "Colorization", LOW_ONLY: "Image Super Resolution"})
    assert records[GRAY_ONLY].outcome is Outcome.INFRA_FAULT
    assert (
        records[GRAY_ONLY].reason_text == "The data of this task cannot be read: OSError: cannot identify image file."
    )
    assert records[LOW_ONLY].outcome is Outcome.SCORED


def test_equal_sub_plans_of_different_tasks_are_executed_once():
    made = evaluator(count=3)
    table = {"3": "Image Deblurring, Colorization", "7": "Image Deblurring", "1": "Image Deblurring, Image Denoising"}
    list(made.run(planner=Answers(table), tasks=list(table)))
    assert made.engine.calls == {"Image Deblurring": 3, "Colorization": 3, "Image Denoising": 3}


def test_running_again_gives_equal_records_timings_aside():
    def records(made):
        gold = bundled_planner(name="gold", suite=SUITE)
        found = made.run(planner=gold, tasks=[GRAY_ONLY, LABEL])
        return sorted(without_timings(record).model_dump_json() for record in found)

    made = evaluator()
    cold, warm = records(made), records(made)
    assert cold == warm == records(evaluator())


def test_an_infra_fault_counts_nowhere_and_a_planner_fault_counts_as_0():
    scores = [
        TaskScore(task="0", metric="ViT", outcome=Outcome.SCORED, score=0.8),
        TaskScore(task="1", metric="ViT", outcome=Outcome.PLANNER_FAULT, score=0.0),
        TaskScore(task="2", metric="BERT", outcome=Outcome.INFRA_FAULT, score=None),
        TaskScore(task="3", metric="CLIP", outcome=Outcome.NOT_RUN, score=None),
    ]
    summary = summarise(suite=SUITE, results=scores)
    assert set(summary["metrics"]) == {"overall", "ViT", "exact", "near"}
    assert summary["metrics"]["overall"]["mean"] == pytest.approx(0.4)
    assert summary["metrics"]["ViT"]["tasks"] == 2
    assert summary["outcomes"] == {"infra_fault": 1, "not_run": 1, "planner_fault": 1, "scored": 1}


def test_fewer_data_points_are_the_first_ones_with_the_same_scores_and_no_further_calls():
    whole = evaluator(count=4)
    gold, tasks = bundled_planner(name="gold", suite=SUITE), [GRAY_ONLY, LABEL]
    all_four = {one.task: one for one in whole.run(planner=gold, tasks=tasks)}
    called = dict(whole.engine.calls)
    first = {one.task: one for one in whole.with_samples(1).run(planner=gold, tasks=tasks)}
    for task, record in first.items():
        assert record.outcome is Outcome.SCORED
        assert [one.score for one in record.samples] == [one.score for one in all_four[task].samples[:1]]
    assert (whole.count, dict(whole.engine.calls)) == (4, called)


class Counting(Equality):
    """Notes how many pairs it compares at once. Crashes on white pictures, if it is to."""

    def __init__(self, *, crashes=False):
        self.pairs = []
        self._crashes = crashes

    def score(self, *, outputs, references):
        self.pairs.append(len(outputs))
        if self._crashes and any(isinstance(one, Image.Image) and one.size == (8, 8) for one in outputs):
            raise RuntimeError("too large")
        return super().score(outputs=outputs, references=references)


@pytest.mark.parametrize("crashes", [False, True])
def test_tasks_that_finish_together_are_scored_together(crashes, monkeypatch):
    """A pair that crashes the scorer costs its own task only."""
    scorer, alone = Counting(crashes=crashes), Counting(crashes=crashes)
    gold, tasks = bundled_planner(name="gold", suite=SUITE), [GRAY_ONLY, LOW_ONLY, LABEL]
    made, jobs = evaluator(scorer=scorer), []
    list(made.collecting(jobs).run(planner=gold, tasks=tasks))
    made.execute(jobs)
    records = {record.task: without_timings(record) for record in made.run(planner=gold, tasks=tasks)}
    by_task = evaluator(scorer=alone)
    for task in tasks:
        (record,) = by_task.run(planner=gold, tasks=[task])
        assert records[task].outcome is record.outcome
        assert records[task].score == record.score
    assert alone.pairs == [2, 2, 2]
    # Two metrics: pictures of two tasks, and texts of one.
    assert scorer.pairs == ([4, 2, 2, 2] if crashes else [4, 2])
    assert records[LOW_ONLY].outcome is (Outcome.INFRA_FAULT if crashes else Outcome.SCORED)


def test_a_scorer_that_crashes_is_an_infra_fault():
    class Crash:
        def score(self, *, outputs, references):
            raise RuntimeError("no memory")

    record = run({GRAY_ONLY: "Colorization"}, scorer=Crash())[GRAY_ONLY]
    assert (record.outcome, record.reason, record.score) == (Outcome.INFRA_FAULT, Reason.SCORER_FAILED, None)


def test_coverage_follows_from_suite_and_profile_alone():
    reasons = not_run_reasons(suite=SUITE, profile=evaluator().profile, samples=Samples())
    images = [task for task in SUITE.tasks if task.base == "restoration"]
    labels = [task for task in SUITE.tasks if task.base == "image_classification" and task.language == "en"]
    assert {task.key for task in SUITE.tasks} - set(reasons) == {task.key for task in [*images, *labels]}
