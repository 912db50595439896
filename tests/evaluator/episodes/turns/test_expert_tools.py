"""Single calls of experts, and suites in turns some of whose tools are experts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from PIL import Image

from evaluator.core.canonical_json import JsonValue
from evaluator.core.expert import InputError
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import Outcome as TaskOutcome
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.core.transcripts import ActionProblem, StopReason
from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.episodes.base import Setting, SettingError
from evaluator.episodes.turns.environment import Call, Outcome, Refused, ToolFault
from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools, Failed, Ran
from evaluator.episodes.turns.interactive import InteractiveEpisodes
from evaluator.execution.engine.jobs import FailureKind, Job
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import LocalStore, MemoryStore
from evaluator.execution.experts.profile import load_profile
from tests.evaluator.episodes.turns.toy import Answers, Sums, suite
from tests.fakes.experts import FakeExpert, FakePool, broken_on_black, describe


def _tool(name: str, output: ResourceType) -> Tool:
    return Tool(
        name=name, domain="toy", description=name, inputs=MappingProxyType({"image": ResourceType.IMAGE}),
        outputs=MappingProxyType({str(output): output}),
    )  # fmt: skip


TOOLS = Catalogue(
    name="toy",
    tools=MappingProxyType(
        {"invert": _tool("invert", ResourceType.IMAGE), "describe": _tool("describe", ResourceType.TEXT)}
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
        expert_tools = tools(pool, store=LocalStore(tmp_path / "store"))
        (inverted,) = expert_tools.run([ExpertCall(tool="invert", inputs={"image": picture(level)})])
        assert isinstance(inverted, Ran)
        expert_tools.run([ExpertCall(tool="describe", inputs={"image": inverted.outputs["image"]})])

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
    result = tools(pool).run(
        [
            ExpertCall(tool="invert", inputs={"image": picture(9)}),
            ExpertCall(tool="invert", inputs={"image": Image.new("RGB", (8, 8))}),
            ExpertCall(tool="invert", inputs={"image": picture(size=(1000, 1000))}),
            ExpertCall(tool="describe", inputs={"image": picture()}),
        ]
    )
    kinds = [one.kind if isinstance(one, Failed) else None for one in result]
    assert kinds == [None, FailureKind.EXPERT, FailureKind.LIMIT, FailureKind.INPUT]
    outcomes = [one.outcome() for one in result if isinstance(one, Failed)]
    assert outcomes[0] == ToolFault("invert failed: the image is black.")
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].problem is ActionProblem.TOO_MUCH
    assert outcomes[2] == Refused(ActionProblem.TOOL_ERROR, "describe failed: the mask is larger than the picture.")


def test_a_store_that_fails_is_no_fault_of_the_action():
    class Full(MemoryStore):
        def put(self, artefact):
            raise OSError("no space left on device")

    (result,) = tools(fakes(), store=Full()).run([ExpertCall(tool="invert", inputs={"image": picture()})])
    assert isinstance(result, Failed)
    assert result.outcome() == ToolFault("The calls could not be run: OSError: no space left on device.")


def test_tools_of_a_setting_load_nothing_until_they_are_called():
    described = ExpertTools.of_setting(Setting(profile="lilliput"), catalogue=OPENAGI)
    assert "Image Captioning" in described.offered
    assert described.facts()["expert_calls"] == {}
    (failed,) = described.run([ExpertCall(tool="Image Captioning", inputs={"image": picture()})])
    assert isinstance(failed, Failed)
    assert "experts need a store" in failed.message
    with pytest.raises(SettingError, match="no profile 'brobdingnag'"):
        ExpertTools.of_setting(Setting(profile="brobdingnag"), catalogue=OPENAGI)


class WithExperts(Sums):
    """The sums, where `Broken` is an expert that fails and `Repeat` has none."""

    def offered(self, suite: Suite) -> frozenset[str]:
        return frozenset(suite.catalogue.tools) - {"Repeat"}

    def source(self) -> str:
        return "points"

    def facts(self) -> dict[str, JsonValue]:
        return {"profile": {"name": "toy"}, "expert_calls": {"Broken": 1}}

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        return [ToolFault("The expert fell over.") if call.tool == "Broken" else self._one(call) for call in calls]


def episodes(*, made: list[Setting] | None = None) -> InteractiveEpisodes:
    def environment(setting: Setting) -> WithExperts:
        if made is not None:
            made.append(setting)
        return WithExperts()

    return InteractiveEpisodes(environment=environment, experts=True)


def setting(**further: object) -> Setting:
    store = MemoryStore()
    return Setting(profile="lilliput", open_store=lambda: store, **further)  # type: ignore[arg-type]


def test_profile_and_data_are_part_of_the_conditions():
    with_experts, without = episodes(), InteractiveEpisodes(environment=lambda _: Sums())
    assert (with_experts.executes, without.executes) == (True, False)
    assert with_experts.rules_digest("lilliput") != with_experts.rules_digest("paper")
    assert without.rules_digest("lilliput") == without.rules_digest("paper") != with_experts.rules_digest("lilliput")
    data: Mapping[bool, str] = {
        one.executes: one.data_digest(suite=suite(), setting=setting()) for one in (with_experts, without)
    }
    assert data[True] != data[False]
    assert with_experts.offered(suite=suite(), profile="lilliput") == {"Add", "Broken"}
    with pytest.raises(SettingError, match="no profile 'brobdingnag'"):
        with_experts.rules_digest("brobdingnag")


def test_experts_need_a_store():
    with pytest.raises(SettingError, match="toy-turns runs experts, which needs a store"):
        episodes().evaluator(suite=suite(), setting=Setting(profile="lilliput"))


def test_a_failed_expert_ends_the_episode_and_is_not_the_planners_fault():
    evaluator = episodes().evaluator(suite=suite(), setting=setting())

    def answer(request: TurnRequest) -> TurnResponse:
        assert {tool.name for tool in request.tools} == {"Add", "Broken"}
        if request.task.id == "1":
            return TurnResponse(actions="R1 = Add(1, 1)") if not request.history else TurnResponse(stop=True)
        return TurnResponse(actions="R1 = Add(1, 1); R2 = Broken(R1); R3 = Add(R1, R1)")

    planner = Answers(answer)
    records = {record.task: record for record in evaluator.run(planner=planner, tasks=["1", "2"])}
    assert (records["1"].outcome, records["1"].score) == (TaskOutcome.SCORED, 1.0)
    broken = records["2"]
    assert (broken.outcome, broken.reason, broken.score) == (TaskOutcome.INFRA_FAULT, Reason.EXPERT_FAILED, None)
    assert broken.reason_text == "The expert fell over."
    (transcript,) = broken.transcripts
    assert transcript.stop is StopReason.TOOL_FAILED
    assert [action.problem for action in transcript.turns[0].actions] == [None, ActionProblem.UNAVAILABLE]
    assert len(planner.asked) == 3, "it is not asked again after the failure"
    assert evaluator.facts()["expert_calls"] == {"Broken": 1}
