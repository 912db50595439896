"""The engine: every distinct call once, in batches; one failure costs only what depends on it."""

import threading
from collections import Counter

import pytest
from PIL import Image

from evaluator.core.plans.model import Plan, Step
from evaluator.execution.engine.jobs import FailureKind, Job
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import LocalStore, MemoryStore
from tests.fakes.experts import FakeExpert, FakePool, broken_on_black, describe, double, invert, mirror


def pool(**functions):
    return FakePool({name: FakeExpert(function) for name, function in functions.items()})


def chain(*tools):
    steps, value = [], "$image"
    for number, tool in enumerate(tools, start=1):
        output = "text" if tool == "describe" else "image"
        steps.append(Step(f"s{number}", tool, {"image": value}, {output: f"s{number}.{output}"}))
        value = f"s{number}.{output}"
    return Plan(steps=tuple(steps), answers=(value,))


def picture(level=200, size=(8, 8)):
    return Image.new("RGB", size, (level, 40, 90))


def job(engine, plan, *, task="t", sample=0, image=None):
    resources = {"image": engine.keep(image or picture())}
    return Job(task=task, sample=sample, plan=plan, resources=resources)


def test_an_answer_is_what_the_experts_make_of_the_input():
    experts = pool(invert=invert, describe=describe)
    engine = Engine(pool=experts, store=MemoryStore())
    (result,) = engine.run([job(engine, chain("invert", "describe"))])
    assert engine.value(result.answer) == "8x8 (55, 215, 165)"
    assert [(run.step, run.tool, run.cached) for run in result.steps] == [
        ("s1", "invert", False),
        ("s2", "describe", False),
    ]


def test_a_resource_named_without_a_dollar_is_that_resource_and_no_literal():
    engine = Engine(pool=pool(invert=invert), store=MemoryStore())
    steps = [Step(f"s{number}", "invert", {"image": name}, {"image": f"s{number}.image"})
             for number, name in enumerate(("$image", "image"))]  # fmt: skip
    plans = [Plan(steps=(step,), answers=(step.outputs["image"],)) for step in steps]
    first, second = engine.run([job(engine, plan, task=str(number)) for number, plan in enumerate(plans)])
    assert first.answer == second.answer
    assert engine.calls == Counter(invert=1)


def compared(item):
    return {"text": str(item["image"].size == item["other"].size), "boxes": "none"}


def test_a_step_is_recorded_the_same_whoever_asks_first_and_whether_it_was_stored(tmp_path):
    """To the byte: an expert's own order of its outputs and a plan's order of its inputs are not in the record."""

    def plan(*names):
        step = Step("s1", "compare", dict.fromkeys(names, "$image"), {"text": "s1.text"})
        return Plan(steps=(step,), answers=("s1.text",))

    def recorded(plans):
        engine = Engine(pool=pool(compare=compared), store=LocalStore(tmp_path / "store"))
        results = engine.run([job(engine, one, task=str(number)) for number, one in enumerate(plans)])
        return {
            run.model_copy(update={"cached": False, "seconds": 0.0}).model_dump_json()
            for result in results
            for run in result.steps
        }

    plans = [plan("image", "other"), plan("other", "image")]
    (executed,) = recorded(plans)
    assert recorded(plans[::-1]) == {executed}


def test_each_distinct_call_is_executed_once_across_tasks():
    experts = pool(invert=invert, mirror=mirror, describe=describe)
    engine = Engine(pool=experts, store=MemoryStore())
    jobs = [
        job(engine, plan, task=str(number), sample=sample, image=picture(level))
        for number, plan in enumerate([chain("invert"), chain("invert", "describe"), chain("invert", "mirror")])
        for sample, level in enumerate([10, 20])
    ]
    results = list(engine.run(jobs))
    assert len(results) == 6
    assert engine.calls == Counter(invert=2, describe=2, mirror=2)
    assert sum(not run.cached for result in results for run in result.steps) == 6


def test_an_expert_gets_one_call_for_all_that_is_ready_padded_to_its_batch_size():
    experts = pool(invert=invert, mirror=mirror)
    engine = Engine(pool=experts, store=MemoryStore())
    jobs = [job(engine, chain("invert", "mirror"), sample=number, image=picture(number)) for number in range(6)]
    list(engine.run(jobs))
    assert experts.experts["invert"].batches == [4, 4]
    assert experts.loaded == ["invert", "mirror"]


def test_images_of_different_sizes_never_share_a_batch():
    sizes = []

    def note(item):
        sizes.append(item["image"].size)
        return invert(item)

    experts = FakePool({"invert": FakeExpert(note)}, batch_size=4)
    engine = Engine(pool=experts, store=MemoryStore())
    images = [picture(size=(8, 8)), picture(size=(16, 16)), picture(level=1, size=(8, 8))]
    list(engine.run([job(engine, chain("invert"), sample=n, image=image) for n, image in enumerate(images)]))
    batches = [set(sizes[start : start + 4]) for start in range(0, len(sizes), 4)]
    assert batches == [{(8, 8)}, {(16, 16)}]


def test_a_failing_item_affects_only_itself_and_is_not_stored():
    store = MemoryStore()
    engine = Engine(pool=pool(fix=broken_on_black, mirror=mirror), store=store)
    black = Image.new("RGB", (8, 8))
    jobs = [
        job(engine, chain("fix", "mirror"), sample=n, image=image)
        for n, image in enumerate([picture(1), black, picture(3)])
    ]
    results = {result.job.sample: result for result in engine.run(jobs)}
    assert [results[n].answer is None for n in range(3)] == [False, True, False]
    failure = results[1].failure
    assert (failure.kind, failure.step) == (FailureKind.EXPERT, "s1")
    assert failure.message == "fix failed: the image is black"
    assert [run.error for run in results[1].steps] == ["fix failed: the image is black"]
    fixed = Engine(pool=pool(fix=invert), store=store)
    assert next(iter(fixed.run([job(fixed, chain("fix"), image=black)]))).answer is not None


def test_a_branch_that_does_not_need_the_failed_step_goes_on():
    plan = Plan(
        steps=(
            Step("bad", "fix", {"image": "$image"}, {"image": "bad.image"}),
            Step("after", "mirror", {"image": "bad.image"}, {"image": "after.image"}),
            Step("good", "mirror", {"image": "$image"}, {"image": "good.image"}),
        ),
        answers=("good.image",),
    )
    engine = Engine(pool=pool(fix=broken_on_black, mirror=mirror), store=MemoryStore())
    (result,) = engine.run([job(engine, plan, image=Image.new("RGB", (8, 8)))])
    assert result.answer is not None
    assert [run.step for run in result.steps] == ["bad", "good"]


def test_a_plan_that_grows_an_image_beyond_the_limit_is_at_fault():
    engine = Engine(pool=pool(double=double, describe=describe), store=MemoryStore())
    (result,) = engine.run([job(engine, chain("double", "double", "describe"), image=picture(size=(256, 256)))])
    assert result.failure.kind is FailureKind.LIMIT
    assert "1024x1024" in result.failure.message


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63])
def test_what_is_not_a_digest_is_not_in_the_store(tmp_path, digest):
    assert not LocalStore(tmp_path).has(digest)


@pytest.mark.parametrize("ahead", [True, False])
def test_inputs_of_a_batch_are_read_by_threads_where_that_pays_with_equal_results(ahead):
    readers = []

    class Recording(MemoryStore):
        def get(self, digest):
            readers.append(threading.current_thread().name.rpartition("_")[0])
            return super().get(digest)

    # Without a cache: every input is read again.
    engine = Engine(pool=pool(invert=invert, mirror=mirror), store=Recording(), cache_bytes=1)
    assert engine.reads_ahead, "the fake device is no CPU"
    engine.reads_ahead = ahead
    pictures = [picture(level) for level in range(10, 90, 10)]
    jobs = [
        job(engine, chain("invert", "mirror"), task=str(number), image=image) for number, image in enumerate(pictures)
    ]
    readers.clear()
    found = {result.job.task: engine.value(result.answer).getpixel((0, 0)) for result in engine.run(jobs)}
    assert found == {str(number): (255 - level, 215, 165) for number, level in enumerate(range(10, 90, 10))}
    assert ("read" in readers) is ahead


def test_files_that_a_cpu_reads_itself_are_not_read_by_threads():
    class OnCpu(FakePool):
        device_class = {"kind": "cpu"}

    class InBucket(MemoryStore):
        parallel_writes = 8

    assert not Engine(pool=OnCpu({}), store=MemoryStore()).reads_ahead
    assert Engine(pool=OnCpu({}), store=InBucket()).reads_ahead
