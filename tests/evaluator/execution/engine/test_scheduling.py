"""Order and independence: branches go on, results leave early, results do not depend on who shares a batch."""

import random

import pytest
from PIL import Image

from evaluator.core.plans.model import Plan, Step
from evaluator.execution.engine.jobs import Job
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore
from tests.fakes.experts import FakeExpert, FakePool, describe, invert, mirror


def picture(level):
    return Image.new("RGB", (4, 4), (level, 0, 0))


def one_step(tool):
    return Plan(steps=(Step("s1", tool, {"image": "$image"}, {"image": "s1.image"}),), answers=("s1.image",))


def job(engine, plan, *, level=1, sample=0, task="t"):
    return Job(task=task, sample=sample, plan=plan, resources={"image": engine.keep(picture(level))})


def pool(batch_size=4, **functions):
    return FakePool({name: FakeExpert(function) for name, function in functions.items()}, batch_size=batch_size)


def test_results_leave_after_the_batch_that_completes_them():
    expert = FakeExpert(invert)
    engine = Engine(pool=FakePool({"invert": expert}, batch_size=2), store=MemoryStore())
    results = engine.run([job(engine, one_step("invert"), level=n, sample=n) for n in range(6)])
    next(results)
    assert len(expert.batches) == 1
    assert len(list(results)) == 5


@pytest.mark.parametrize(("resizes", "batches"), [(False, [4, 4]), (True, [4])])
def test_pictures_of_several_sizes_share_batches_of_experts_that_resize_them(resizes, batches):
    expert = FakeExpert(describe)
    engine = Engine(pool=FakePool({"describe": expert}, resizes=resizes), store=MemoryStore())
    plan = Plan(steps=(Step("s1", "describe", {"image": "$image"}, {"text": "s1.text"}),), answers=("s1.text",))
    pictures = [Image.new("RGB", (width, 4), (width, 0, 0)) for width in (4, 5, 4, 5)]
    jobs = [
        Job(task="t", sample=n, plan=plan, resources={"image": engine.keep(image)}) for n, image in enumerate(pictures)
    ]
    answers = {result.job.sample: engine.value(result.answer) for result in engine.run(jobs)}
    assert expert.batches == batches
    assert answers == {n: f"{image.width}x4 ({image.width}, 0, 0)" for n, image in enumerate(pictures)}


def test_a_run_that_is_left_early_has_kept_what_it_did():
    store = MemoryStore()
    first = Engine(pool=pool(2, invert=invert), store=store)
    results = first.run([job(first, one_step("invert"), level=n, sample=n) for n in range(6)])
    next(results)
    results.close()
    second = Engine(pool=pool(2, invert=invert), store=store)
    assert len(list(second.run([job(second, one_step("invert"), level=n, sample=n) for n in range(6)]))) == 6
    assert second.calls == {"invert": 4}


def test_a_plan_with_a_cycle_is_refused_and_not_waited_for():
    plan = Plan(
        steps=(
            Step("a", "invert", {"image": "b.image"}, {"image": "a.image"}),
            Step("b", "invert", {"image": "a.image"}, {"image": "b.image"}),
        ),
        answers=("b.image",),
    )
    engine = Engine(pool=pool(invert=invert), store=MemoryStore())
    with pytest.raises(ValueError, match="cycle"):
        list(engine.run([job(engine, plan)]))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda item: {}, "fake/invert gave no image"),
        (lambda item: {"image": 7}, "a value is a picture, a text, a clip, a sound or findings"),
        (lambda item: item["nothing"], "nothing"),
        (lambda item: 1 / 0, "division by zero"),
    ],
)
def test_whatever_an_expert_does_wrong_fails_its_step_only(function, says):
    engine = Engine(pool=pool(invert=function, mirror=mirror), store=MemoryStore())
    results = list(engine.run([job(engine, one_step("invert")), job(engine, one_step("mirror"), task="u")]))
    answers = {result.job.task: result for result in results}
    assert says in answers["t"].failure.message
    assert answers["u"].answer is not None


def test_an_expert_that_gives_too_few_results_fails():
    class Short(FakeExpert):
        def run(self, batch):
            return super().run(batch)[:-1]

    engine = Engine(pool=FakePool({"invert": Short(invert)}), store=MemoryStore())
    (result,) = engine.run([job(engine, one_step("invert"))])
    assert "gave 3 results for 4 items" in result.failure.message


def sensitive(batch_size):
    """An expert whose results would differ with the size of a batch, as a GPU's do in the last bit."""

    class Sensitive(FakeExpert):
        def run(self, batch):
            return [{"text": f"{item['text']}/{len(batch)}"} for item in batch]

    return FakePool({"write": Sensitive(describe)}, batch_size=batch_size)


def test_answers_are_equal_whatever_else_is_in_the_batch():
    texts = ["a", "a much longer text " * 9, "b", "middling text", "ü" * 300, ""]

    def answers(chosen):
        engine = Engine(pool=sensitive(4), store=MemoryStore())
        plan = Plan(steps=(Step("s1", "write", {"text": "$text"}, {"text": "s1.text"}),), answers=("s1.text",))
        made = [Job(task=text, sample=0, plan=plan, resources={"text": engine.keep(text)}) for text in chosen]
        return {result.job.task: engine.value(result.answer) for result in engine.run(made)}

    together = answers(texts)
    for seed in range(5):
        some = random.Random(seed).sample(texts, 3)
        assert answers(some) == {text: together[text] for text in some}


def test_progress_tells_counts_rate_and_time_left():
    told = []
    experts = pool(2, invert=invert, mirror=mirror)
    engine = Engine(pool=experts, store=MemoryStore(), listener=told.append)
    plan = Plan(
        steps=(
            Step("a", "invert", {"image": "$image"}, {"image": "a.image"}),
            Step("b", "mirror", {"image": "a.image"}, {"image": "b.image"}),
        ),
        answers=("b.image",),
    )
    list(engine.run([job(engine, plan, level=n % 4, sample=n) for n in range(8)]))
    first, last = told[0], told[-1]
    assert (first.steps, first.steps_total, first.jobs, first.jobs_total) == (0, 16, 0, 8)
    assert first.eta_seconds is None
    # Four distinct calls can be made now; half of the eight to come will be new if sharing goes on as it began.
    assert first.calls_left == 8
    assert (last.steps, last.jobs, last.calls, last.calls_left) == (16, 8, 8, 0)
    assert last.eta_seconds == 0
    assert last.rate > 0
    assert [progress.steps for progress in told] == sorted(progress.steps for progress in told)
    assert {progress.tool for progress in told} == {"invert", "mirror"}
