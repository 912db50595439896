"""The episode of suites whose plans are judged and not executed."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import suite_on_split
from evaluator.episodes.base import Setting, SettingError, identity_of_data
from evaluator.episodes.judgement import Judge, JudgementEvaluator, SettleableJudge
from evaluator.scoring.arbiters.naming import ArbiterName
from evaluator.scoring.arbiters.protocol import ArbiterError


@dataclass(frozen=True, slots=True)
class JudgedPlans:
    """A planner is asked once for the plan of each task, and a judge scores the plan. No torch, no weights."""

    judge: Judge

    @property
    def executes(self) -> bool:
        """See `Episode`."""
        return False

    @property
    def in_turns(self) -> bool:
        """See `Episode`."""
        return False

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:  # noqa: ARG002 - no expert runs
        """See `Episode`."""
        identity = self._identity(arbiter)
        return digest({"judge": self.judge.digest(), "arbiter": identity}) if identity else self.judge.digest()

    def _identity(self, arbiter: ArbiterName | None) -> dict[str, JsonValue]:
        """What scores depend on of an arbiter; empty if they do not."""
        if arbiter is None or not isinstance(self.judge, SettleableJudge):
            return {}
        try:
            return dict(arbiter.identity())
        except ArbiterError as error:
            raise SettingError(str(error)) from error

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """See `Episode`. Requests are in the suite's digest; the hidden ones follow from these and the seed."""
        return identity_of_data(source="", suite=suite, setting=setting)

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:  # noqa: ARG002 - no expert runs
        """See `Episode`: all tools of the catalogue."""
        return frozenset(suite.catalogue.tools)

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:  # noqa: ARG002
        """See `Episode`: the tasks that nobody can judge, whatever the setting."""
        return self.judge.not_judged(suite)

    def evaluator(self, *, suite: Suite, setting: Setting) -> JudgementEvaluator:
        """See `Episode`."""
        try:
            asked = suite_on_split(suite=suite, split=setting.split, hidden_seed=setting.hidden_seed)
        except ValueError as error:
            raise SettingError(str(error)) from error
        identity = self._identity(setting.arbiter)
        if setting.arbiter is None or not isinstance(self.judge, SettleableJudge):
            return JudgementEvaluator(suite=asked, judge=self.judge)
        from evaluator.scoring.arbiters.opening import opened

        arbiter = opened(
            setting.arbiter, api_key=setting.arbiter_key, device=setting.device, open_store=setting.open_store
        )
        facts: dict[str, JsonValue] = {"judge": self.rules_digest("", arbiter=setting.arbiter), "arbiter": identity}
        return JudgementEvaluator(suite=asked, judge=self.judge.settled_by(arbiter), facts=facts)

    def empty_plan(self, *, is_fault: bool) -> str:
        """See `Episode`."""
        if is_fault:
            return "That is a planner fault: every indicator would have its worst value."
        return "It would count like a missing plan: every indicator would have its worst value."
