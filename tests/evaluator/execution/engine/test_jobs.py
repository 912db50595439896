"""Sampling experts: the seed follows from suite, sample and inputs, so that equal sub-plans give equal artefacts."""

from dataclasses import replace

import pytest

from evaluator.core.plans.model import Plan, Step
from evaluator.execution.engine.jobs import Job, step_key, step_seed
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore
from tests.fakes.experts import FakeExpert, FakePool, describe


class Drawing:
    """Its answer is its seed."""

    def __init__(self):
        self.batches = []

    def run_seeded(self, *, batch, seeds):
        self.batches.append(len(batch))
        return [{"text": f"{item['text']} {seed}"} for item, seed in zip(batch, seeds, strict=True)]


class Pool(FakePool):
    def spec(self, tool):
        return replace(super().spec(tool), samples=tool == "draw")


PLAN = Plan(steps=(Step("s1", "draw", {"text": "$text"}, {"text": "s1.text"}),), answers=("s1.text",))


def answers(jobs, *, salt="suite", store=None, batch_size=4):
    engine = Engine(pool=Pool({"draw": Drawing()}, batch_size=batch_size), store=store or MemoryStore(), salt=salt)
    plans = [
        Job(task=task, sample=sample, plan=PLAN, resources={"text": engine.keep(text)}) for task, sample, text in jobs
    ]
    results = {(result.job.task, result.job.sample): engine.value(result.answer) for result in engine.run(plans)}
    return results, engine.calls.total()


def test_a_sample_of_several_tasks_is_drawn_once_regardless_of_its_batch():
    results, calls = answers([("a", 0, "cat"), ("b", 0, "cat"), ("a", 1, "cat"), ("b", 0, "cat")])
    assert results["a", 0] == results["b", 0] != results["a", 1]
    assert calls == 2
    alone, _ = answers([("b", 3, "dog")])
    among, _ = answers([("a", n, "dog") for n in range(7)])
    assert alone["b", 3] == among["a", 3]


def test_another_suite_draws_anew():
    store = MemoryStore()
    first, _ = answers([("a", 0, "cat")], salt="one", store=store)
    second, calls = answers([("a", 0, "cat")], salt="two", store=store)
    assert first != second
    assert calls == 1


def test_a_seed_fits_into_63_bits_and_is_part_of_the_key():
    spec = Pool({"draw": Drawing(), "write": FakeExpert(describe)}).spec("draw")
    seeds = {step_seed(spec=spec, inputs={"text": "d"}, salt="s", sample=n) for n in range(200)}
    assert len(seeds) == 200
    assert all(0 <= seed < 2**63 for seed in seeds)
    keys = {
        step_key(spec=spec, inputs={"text": "d"}, batch_size=4, device={"kind": "cpu"}, seed=seed) for seed in seeds
    }
    assert len(keys) == 200


@pytest.mark.parametrize("batch_size", [1, 3])
def test_seeds_stay_with_their_items_when_a_batch_is_filled_up(batch_size):
    jobs = [("a", n, f"text {n}") for n in range(5)]
    assert answers(jobs, batch_size=batch_size)[0] == answers(jobs, batch_size=4)[0]
