"""Suites in turns some of whose tools are experts: what their conditions are, and what a failed expert costs."""

from collections.abc import Mapping, Sequence

import pytest

from evaluator.canonical_json import JsonValue
from evaluator.engine.store import MemoryStore
from evaluator.episodes.base import Setting, SettingError
from evaluator.episodes.turns.environment import Call, Outcome, ToolFault
from evaluator.episodes.turns.interactive import InteractiveEpisodes
from evaluator.planners.turns.protocol import TurnRequest, TurnResponse
from evaluator.records import Outcome as TaskOutcome
from evaluator.records import Reason
from evaluator.suites.base import Suite
from evaluator.transcripts import ActionProblem, StopReason
from tests.evaluator.episodes.turns.toy import Answers, Sums, suite


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
