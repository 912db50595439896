"""Memory: experts leave by least recent use, and a batch that does not fit is halved, once."""

import weakref
from pathlib import Path

import pytest
from PIL import Image

from evaluator.core.expert import ExpertSpec
from evaluator.core.plans.model import Plan, Step
from evaluator.execution.engine.jobs import FailureKind, Job
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import Profile
from tests.fakes.device_memory import Counting
from tests.fakes.experts import FakeExpert, FakePool, invert, mirror


class Weighing(FakeExpert):
    """Says how many bytes it occupies."""

    def __init__(self, nbytes):
        super().__init__(invert)
        self.nbytes = nbytes


def spec(tool, **changes):
    return ExpertSpec(
        tool=tool, id=f"fake/{tool}", implementation="fake", path=Path("nowhere"), weights_digest="0", **changes
    )


def pool(sizes, *, budget, load=None, batch_size=16):
    experts = {tool: spec(tool, batch_size=batch_size) for tool in sizes}
    profile = Profile(name="fake", digest="fake", experts=experts, scorers={})
    return ExpertPool(profile=profile, budget=budget, load=load or (lambda *, spec, device: Weighing(sizes[spec.tool])))


def test_without_a_budget_every_expert_is_loaded_once_and_stays():
    experts = pool({"a": 10, "b": 10}, budget=None)
    assert experts.expert("a") is experts.expert("a")
    experts.expert("b")
    assert experts.resident == ("a", "b")
    assert experts.loads == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("gigabytes", "size", "used"),
    [(0, 4, 2), (11.5, 4, 2), (22.1, 32, 2), (42.3, 32, 2), (79.1, 256, 8), (150, 256, 8)],
)
def test_a_card_gets_the_batches_for_its_memory(monkeypatch, gigabytes, size, used):
    monkeypatch.setattr("evaluator.execution.engine.pool.card_memory", lambda device: int(gigabytes * 1e9))
    other = spec("b", batch_size=2, batch_sizes={80: 8})
    experts = {"a": spec("a", batch_size=4, batch_sizes={24: 32, 80: 256}, uses=(other,)), "b": other}
    profile = Profile(name="fake", digest="fake", experts=experts, scorers={})
    loaded = []
    pool = ExpertPool(
        profile=profile, device="cuda", memory=Counting(),
        load=lambda *, spec, device: loaded.append(spec) or Weighing(1),
    )  # fmt: skip
    assert (pool.spec("a").batch_size, pool.spec("b").batch_size) == (size, used)
    pool.expert("a")
    assert (loaded[0].batch_size, loaded[0].uses[0].batch_size) == (size, used)


def test_the_least_recently_used_expert_leaves_first_and_oversized_ones_are_loaded_alone():
    experts = pool({"a": 40, "b": 40, "c": 40}, budget=100)
    for tool in ("a", "b", "a", "c"):
        experts.expert(tool)
    assert experts.resident == ("a", "c")
    experts.expert("b")
    assert experts.resident == ("c", "b")
    assert experts.loads == {"a": 1, "b": 2, "c": 1}
    experts = pool({"small": 10, "huge": 500}, budget=100)
    experts.expert("small")
    experts.expert("huge")
    assert experts.resident == ("huge",)


def test_where_the_device_has_less_than_the_budget_says_all_others_leave_and_it_is_tried_again():
    full = {"a": True}

    def load(*, spec, device):
        if spec.tool == "b" and full.pop("a", False):
            raise MemoryError
        return Weighing(10)

    experts = pool({"a": 10, "b": 10}, budget=100, load=load)
    experts.expert("a")
    experts.expert("b")
    assert experts.resident == ("b",)


def test_an_expert_without_a_batch_size_is_loaded_again_for_another():
    built = []

    def load(*, spec, device):
        built.append(spec.batch_size)
        return Weighing(1)

    experts = pool({"a": 1}, budget=None, load=load)
    for size in (None, None, 4, 4):
        experts.expert("a", batch_size=size)
    assert built == [16, 4]
    assert experts.resident == ("a",)


class Card:
    """A stand-in for a device's allocator, of `room` bytes."""

    def __init__(self, room):
        self.room = room
        self.experts = weakref.WeakSet()

    def load(self, *, spec, device):
        return OnCard(self, spec.batch_size)

    @property
    def free(self):
        return self.room - sum(expert.nbytes for expert in self.experts)


class OnCard(Weighing):
    """Takes 10 bytes of a card, and 10 for each item of a batch."""

    def __init__(self, card, batch_size):
        super().__init__(10)
        self.card, self.batch_size, self.tried = card, batch_size, []
        if card.free < self.nbytes:
            raise MemoryError
        card.experts.add(self)

    def run(self, batch):
        self.tried.append(self.batch_size)
        assert len(batch) == self.batch_size
        if self.card.free < 10 * self.batch_size:
            raise MemoryError
        return super().run(batch)


@pytest.mark.parametrize(
    ("room", "sizes", "stays"),
    [(100, [8], True), (90, [8, 8], False), (50, [8, 8, 4, 4], False), (20, [8, 8, 4, 2, 1, 1, 1, 1, 1, 1], False)],
)
def test_idle_experts_leave_then_batches_shrink_and_nothing_is_loaded_again(room, sizes, stays):
    card = Card(room)
    experts = pool(
        {"a": 0, "b": 0}, budget=None, batch_size=8, load=lambda *, spec, device: OnCard(card, spec.batch_size)
    )
    experts.expert("a")
    engine = Engine(pool=experts, store=MemoryStore())
    assert all(result.answer for result in engine.run(jobs(engine, tool="b")))
    assert experts.expert("b", batch_size=sizes[-1]).tried == sizes
    assert experts.loads == {"a": 1, "b": 1}
    assert (experts.resident == ("a", "b")) is stays


def test_a_device_without_memory_for_one_item_fails_it_with_a_sentence_and_loads_once():
    card = Card(15)
    experts = pool({"b": 0}, budget=None, batch_size=2, load=card.load)
    engine = Engine(pool=experts, store=MemoryStore())
    (result,) = engine.run(jobs(engine, count=1, tool="b"))
    assert result.failure.message == "b failed: the device's memory does not hold a batch of one item"
    assert experts.loads == {"b": 1}


class Fitting(FakeExpert):
    """Has memory for batches of at most `room` items."""

    def __init__(self, room):
        super().__init__(invert)
        self.room = room

    def run(self, batch):
        if len(batch) > self.room:
            self.batches.append(-len(batch))
            raise MemoryError("too much")
        return super().run(batch)


def jobs(engine, count=6, size=(4, 4), tool="invert"):
    plan = Plan(steps=(Step("s1", tool, {"image": "$image"}, {"image": "s1.image"}),), answers=("s1.image",))
    pictures = [engine.keep(Image.new("RGB", size, (level, 0, 0))) for level in range(count)]
    return [Job(task="t", sample=n, plan=plan, resources={"image": picture}) for n, picture in enumerate(pictures)]


def test_a_batch_that_does_not_fit_is_halved_until_it_does_and_that_is_remembered():
    expert = Fitting(room=2)
    engine = Engine(pool=FakePool({"invert": expert}, batch_size=8), store=MemoryStore())
    assert all(result.answer for result in engine.run(jobs(engine)))
    assert expert.batches == [-8, -4, 2, 2, 2]
    assert all(result.answer for result in engine.run(jobs(engine, count=8)[6:]))
    assert expert.batches == [-8, -4, 2, 2, 2, 2]
    assert engine.calls == {"invert": 8}


def test_idle_experts_leave_before_a_batch_is_halved():
    """Their memory may be all that is missing, and a smaller batch has other keys and may have other bytes."""
    experts = FakePool({"mirror": FakeExpert(mirror), "invert": Fitting(room=2)}, batch_size=4)

    class Crowded(Fitting):
        def run(self, batch):
            self.room = 2 if "mirror" in experts.loaded else 4
            return super().run(batch)

    crowded = experts.experts["invert"] = Crowded(room=2)
    engine = Engine(pool=experts, store=MemoryStore())
    list(engine.run(jobs(engine, count=1, tool="mirror")))
    list(engine.run(jobs(engine, count=4)))
    assert crowded.batches == [-4, 4]
    assert experts.loaded == ["invert"]


def test_results_of_a_smaller_batch_have_a_key_of_their_own_and_are_found_again():
    store = MemoryStore()
    keys = []
    for room, kept in ((8, MemoryStore()), (2, store), (2, store)):
        engine = Engine(pool=FakePool({"invert": Fitting(room)}, batch_size=8), store=kept)
        (result,) = engine.run(jobs(engine)[:1])
        keys.append(result.steps[0].key)
    assert keys[0] != keys[1] == keys[2]
    assert result.steps[0].cached


def test_an_item_that_does_not_fit_alone_fails_alone_and_says_why():
    def hungry(item):
        if item["image"].getpixel((0, 0))[0] == 1:
            raise MemoryError
        return invert(item)

    engine = Engine(pool=FakePool({"invert": FakeExpert(hungry)}, batch_size=4), store=MemoryStore())
    results = {result.job.sample: result for result in engine.run(jobs(engine, count=3))}
    assert [results[n].answer is None for n in range(3)] == [False, True, False]
    assert results[1].failure.kind is FailureKind.MEMORY
    assert results[1].failure.message == "invert failed: the device's memory does not hold a batch of one item"


@pytest.mark.parametrize("error", [MemoryError("no room"), OSError("no file"), AttributeError("defect")])
def test_an_expert_that_cannot_be_loaded_costs_only_its_tool(error):
    class Pool(FakePool):
        asked = 0

        def expert(self, tool, *, batch_size=None):
            if tool == "invert":
                self.asked += 1
                raise error
            return super().expert(tool, batch_size=batch_size)

    experts = Pool({"invert": FakeExpert(invert), "mirror": FakeExpert(mirror)})
    engine = Engine(pool=experts, store=MemoryStore())
    sizes = [(4, 4), (8, 8)]
    both = [job for size in sizes for job in jobs(engine, count=2, size=size)] + jobs(engine, count=1, tool="mirror")
    results = list(engine.run(both))
    assert sorted(result.answer is not None for result in results) == [False, False, False, False, True]
    assert experts.asked == 1
    assert "fake/invert could not be loaded" in next(r.failure.message for r in results if r.failure)


def test_an_expert_that_depends_on_its_position_runs_alone_on_that_device_and_its_key_says_so():
    declared = {"a": spec("a", batch_size=4, alone=("cuda",), uses=(spec("b", batch_size=8, alone=("cuda",)),))}
    profile = Profile(name="fake", digest="fake", experts=declared, scorers={})
    on_cpu, on_card = (ExpertPool(profile=profile, device=device).spec("a") for device in ("cpu", "cuda:1"))
    assert (on_cpu.batch_size, on_cpu.uses[0].batch_size) == (4, 8)
    assert (on_card.batch_size, on_card.uses[0].batch_size) == (1, 1)
    assert on_cpu.facts() == declared["a"].facts() != on_card.facts()


class Sharing(Counting):
    """A card on which experts of 10 bytes share a network of 30 with all others that are loaded."""

    def __init__(self, *, free):
        super().__init__(free=free)
        self.experts = weakref.WeakSet()

    def allocated(self):
        return 10 * len(self.experts) + (30 if self.experts else 0)

    def load(self, *, spec, device):
        expert = FakeExpert(invert)
        self.experts.add(expert)
        return expert


def test_a_shared_network_counts_once_and_stays_while_an_expert_has_it():
    card = Sharing(free=None)
    experts = {tool: spec(tool) for tool in "abcd"}
    pool = ExpertPool(
        profile=Profile(name="fake", digest="fake", experts=experts, scorers={}),
        device="cuda", budget=60, load=card.load, memory=card,
    )  # fmt: skip
    for tool in "abc":
        pool.expert(tool)
    assert pool.resident == ("a", "b", "c"), "30 of a shared network and three times 10"
    pool.expert("d")
    assert pool.resident == ("b", "c", "d"), "only 10 bytes of the first expert were free"
    assert card.allocated() == 60
    pool.unload_others("d")
    pool.expert("b")
    assert pool.resident == ("d", "b")
    pool.expert("a")
    assert pool.resident == ("a",), "it took 40 bytes when no other expert had the network"


def test_without_a_budget_experts_get_a_share_of_what_is_free_on_the_card_before_the_first_is_loaded():
    def load(*, spec, device):
        card.bytes += 30
        return Dropping(card)

    class Dropping(FakeExpert):
        def __init__(self, card):
            super().__init__(invert)
            weakref.finalize(self, free, card)

    def free(card):
        card.bytes -= 30

    card = Counting(free=100)
    experts = {tool: spec(tool) for tool in "abc"}
    profile = Profile(name="fake", digest="fake", experts=experts, scorers={})
    pool = ExpertPool(profile=profile, device="cuda", load=load, memory=card)
    for tool in "abc":
        pool.expert(tool)
        card.room = 1000
    assert pool.resident == ("b", "c"), "70 of 100 bytes"
