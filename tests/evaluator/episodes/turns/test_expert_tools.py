"""Single calls of experts: shared with whole plans through the store, batched, and typed where they fail."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from PIL import Image

from evaluator.engine import Engine, FailureKind, Job, LocalStore, MemoryStore
from evaluator.episodes.base import Setting, SettingError
from evaluator.episodes.turns.environment import Refused, ToolFault
from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools, Failed, Ran
from evaluator.experts.profile import load_profile
from evaluator.experts.protocol import InputError
from evaluator.plans import Plan, Step
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import Catalogue, ResourceType, Tool
from evaluator.transcripts import ActionProblem
from tests.fakes.experts import FakeExpert, FakePool, broken_on_black, describe


def _tool(name: str, output: ResourceType) -> Tool:
    return Tool(
        name=name, domain="toy", description=name, inputs=MappingProxyType({"image": ResourceType.IMAGE}),
        outputs=MappingProxyType({str(output): output}),
    )  # fmt: skip


TOOLS = Catalogue(
    name="toy",
    tools=MappingProxyType(
        {"invert": _tool("invert", ResourceType.IMAGE), "describe": _tool("describe", ResourceType.TEXT),
         "lonely": _tool("lonely", ResourceType.TEXT)}
    ),
)  # fmt: skip


def picture(level: int = 200, size: tuple[int, int] = (8, 8)) -> Image.Image:
    return Image.new("RGB", size, (level, 40, 90))


def tools(pool: FakePool, *, store: MemoryStore | LocalStore | None = None) -> ExpertTools:
    profile = replace(load_profile("lilliput"), experts={name: pool.spec(name) for name in pool.experts})
    kept = store or MemoryStore()
    return ExpertTools(profile=profile, catalogue=TOOLS, store=lambda: kept, experts=pool)


def fakes() -> FakePool:
    return FakePool({"invert": FakeExpert(broken_on_black), "describe": FakeExpert(describe)})


def test_calls_give_their_outputs_in_order_and_equal_calls_run_once():
    pool = fakes()
    calls = [ExpertCall(tool="describe", inputs={"image": picture(level)}) for level in (1, 2, 1)]
    first, second, third = tools(pool).run(calls)
    assert isinstance(first, Ran)
    assert isinstance(second, Ran)
    assert isinstance(third, Ran)
    assert [dict(one.outputs) for one in (first, second, third)] == [
        {"text": "8x8 (1, 40, 90)"}, {"text": "8x8 (2, 40, 90)"}, {"text": "8x8 (1, 40, 90)"},
    ]  # fmt: skip
    assert pool.experts["describe"].batches == [4], "one batch, padded to the profile's size"
    assert (first.step.key, first.step.cached, third.step.cached) == (third.step.key, False, True)


def test_a_plan_makes_its_calls_free_here_and_the_other_way_round(tmp_path: Path):
    """One store key for a step of a plan and for the same call."""
    steps = (
        Step("a", "invert", {"image": "$photo"}, {"image": "a.image"}),
        Step("b", "describe", {"image": "a.image"}, {"text": "b.text"}),
    )

    def by_plan(pool: FakePool) -> None:
        engine = Engine(pool=pool, store=LocalStore(tmp_path / "store"))
        plan = Plan(steps=steps, answers=("b.text",))
        (result,) = engine.run([Job(task="t", sample=0, plan=plan, resources={"photo": engine.keep(picture())})])
        assert result.failure is None

    def by_calls(pool: FakePool, *, level: int) -> None:
        found = tools(pool, store=LocalStore(tmp_path / "store"))
        (inverted,) = found.run([ExpertCall(tool="invert", inputs={"image": picture(level)})])
        assert isinstance(inverted, Ran)
        found.run([ExpertCall(tool="describe", inputs={"image": inverted.outputs["image"]})])

    pools = [fakes() for _ in range(3)]
    by_plan(pools[0])
    by_calls(pools[1], level=200)
    assert [len(one.batches) for one in pools[0].experts.values()] == [1, 1]
    assert [len(one.batches) for one in pools[1].experts.values()] == [0, 0]
    by_calls(pools[2], level=7)
    assert [len(one.batches) for one in pools[2].experts.values()] == [1, 1]


def test_failures_say_whose_fault_they_are():
    def unfit(item):
        raise InputError("the mask is larger than the picture")

    pool = FakePool({"invert": FakeExpert(broken_on_black), "describe": FakeExpert(unfit)})
    found = tools(pool).run(
        [
            ExpertCall(tool="invert", inputs={"image": picture(9)}),
            ExpertCall(tool="invert", inputs={"image": Image.new("RGB", (8, 8))}),
            ExpertCall(tool="invert", inputs={"image": picture(size=(1000, 1000))}),
            ExpertCall(tool="describe", inputs={"image": picture()}),
        ]
    )
    kinds = [one.kind if isinstance(one, Failed) else None for one in found]
    assert kinds == [None, FailureKind.EXPERT, FailureKind.LIMIT, FailureKind.INPUT]
    outcomes = [one.outcome() for one in found if isinstance(one, Failed)]
    assert outcomes[0] == ToolFault("invert failed: the image is black.")
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].problem is ActionProblem.TOO_MUCH
    assert outcomes[2] == Refused(ActionProblem.TOOL_ERROR, "describe failed: the mask is larger than the picture.")


def test_a_store_that_fails_is_no_fault_of_the_action():
    class Full(MemoryStore):
        def put(self, artefact):
            raise OSError("no space left on device")

    (found,) = tools(fakes(), store=Full()).run([ExpertCall(tool="invert", inputs={"image": picture()})])
    assert isinstance(found, Failed)
    assert found.outcome() == ToolFault("The calls could not be run: OSError: no space left on device.")


def test_tools_of_a_setting_load_nothing_until_they_are_called():
    found = ExpertTools.of_setting(Setting(profile="lilliput"), catalogue=OPENAGI)
    assert "Image Captioning" in found.offered
    assert found.facts()["expert_calls"] == {}
    (failed,) = found.run([ExpertCall(tool="Image Captioning", inputs={"image": picture()})])
    assert isinstance(failed, Failed)
    assert "experts need a store" in failed.message
    with pytest.raises(SettingError, match="no profile 'brobdingnag'"):
        ExpertTools.of_setting(Setting(profile="brobdingnag"), catalogue=OPENAGI)
