"""The episode of suites whose plans are judged without execution."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.planner import Planner
from evaluator.core.provenance import code_version
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import package_with
from evaluator.episodes.base import Setting, SettingError, identity_of_data
from evaluator.episodes.confined_judge import ConfinedJudge
from evaluator.episodes.judges import Judge, JudgeFailedError, Judgement, SettleableJudge, all_tools
from evaluator.episodes.parts import Planned, faulty, measured, not_run_records, plan_all
from evaluator.replies.version import READER
from evaluator.scoring.arbiters.base import ArbiterError, ArbiterName

__all__ = [
    "Judge",
    "JudgedPlans",
    "Judgement",
    "JudgementEvaluator",
    "SettleableJudge",
    "all_tools",
    "with_judgement",
]


def with_judgement(item: Planned, *, judgement: Judgement) -> Planned:
    """Add a judge's verdict, except the score, to the record of a plan."""
    update = {
        "indicators": {**item.record.indicators, **judgement.indicators},
        "explanations": dict(judgement.explanations),
        "pairs": list(judgement.pairs),
        "arbiter": dict(judgement.arbiter),
    }
    return replace(item, record=item.record.model_copy(update=update))


def _for_one_run(judge: Judge) -> AbstractContextManager[Judge]:
    """The judge; of a package, in a process that has read no plan of another planner."""
    return closing(judge.fresh()) if isinstance(judge, ConfinedJudge) else nullcontext(judge)


class JudgementEvaluator:
    """Evaluates planners on one suite by judging their plans."""

    def __init__(self, *, suite: Suite, judge: Judge, facts: Mapping[str, JsonValue] | None = None) -> None:
        """Args:
        suite: the suite as presented to planners.
        judge: judges its plans.
        facts: inputs of the figures besides the code; by default the digest of the judge's rules.
        """
        self.suite = suite
        self._facts = facts or {"judge": judge.digest()}
        self._judge = judge
        self._not_judged = judge.not_judged(suite)

    def run(
        self,
        *,
        planner: Planner,
        tasks: Sequence[str],
        run: str = "",  # noqa: ARG002 - each plan is requested at once
    ) -> Iterator[ResultRecord]:
        """See `Evaluator.run`."""
        return measured(self._judged(planner=planner, tasks=tasks), suite=self.suite)

    def _judged(self, *, planner: Planner, tasks: Sequence[str]) -> Iterator[ResultRecord]:
        requested = self.suite.asked(tasks)
        yield from not_run_records(suite=self.suite, tasks=requested, reasons=self._not_judged)
        runnable = [task for task in requested if task.key not in self._not_judged]
        items = plan_all(
            planner=planner,
            suite=self.suite,
            tasks=runnable,
            context=lambda task: all_tools(suite=self.suite, task=task),
        )
        with _for_one_run(self._judge) as judge:
            for item in items:
                yield item if isinstance(item, ResultRecord) else self._scored(item, judge=judge)

    def _scored(self, item: Planned, *, judge: Judge) -> ResultRecord:
        try:
            judgement = judge(suite=self.suite, planned=item)
        except JudgeFailedError as error:
            return faulty(item.record, reason=Reason.SCORER_FAILED, message=str(error))
        update = {"outcome": Outcome.SCORED, "score": judgement.score}
        return with_judgement(item, judgement=judgement).record.model_copy(update=update)

    def on(self, suite: Suite) -> "JudgementEvaluator":
        """A copy for another form of the suite's tasks."""
        return JudgementEvaluator(suite=suite, judge=self._judge, facts=self._facts)

    def facts(self) -> dict[str, JsonValue]:
        """Digest of the rules, arbiter, if any, and version of the code."""
        commit, dirty = code_version()
        return {**self._facts, "provenance": {"commit": commit, "dirty": dirty}}


@dataclass(frozen=True, slots=True)
class JudgedPlans:
    """Planners give one plan per task, and a judge scores it, without torch or weights."""

    judge: Judge

    @property
    def executes(self) -> bool:
        return False

    @property
    def in_turns(self) -> bool:
        return False

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:  # noqa: ARG002 - no expert runs
        identity = self._identity(arbiter)
        rules: dict[str, JsonValue] = {"judge": self.judge.digest(), "reader": READER}
        return digest({**rules, "arbiter": identity} if identity else rules)

    def _identity(self, arbiter: ArbiterName | None) -> dict[str, JsonValue]:
        """The identity of an arbiter; empty if the judge does not use one."""
        if arbiter is None or not isinstance(self.judge, SettleableJudge):
            return {}
        try:
            return dict(arbiter.identity())
        except ArbiterError as error:
            raise SettingError(str(error)) from error

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """See `Episode`. Requests are in the suite's digest; hidden ones follow from them and the seed."""
        return identity_of_data(source="", suite=suite, setting=setting)

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:  # noqa: ARG002 - no expert runs
        """See `Episode`: all tools of the catalogue."""
        return frozenset(suite.catalogue.tools)

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:  # noqa: ARG002
        """See `Episode`: the tasks that cannot be judged, in any setting."""
        return self.judge.not_judged(suite)

    def evaluator(self, *, suite: Suite, setting: Setting) -> JudgementEvaluator:
        try:
            suite_asked = setting.suite_asked(suite)
        except ValueError as error:
            raise SettingError(str(error)) from error
        identity = self._identity(setting.arbiter)
        if setting.arbiter is None or not isinstance(self.judge, SettleableJudge):
            return JudgementEvaluator(suite=suite_asked, judge=self._confined(suite))
        from evaluator.scoring.arbiters.opening import open_arbiter

        arbiter = open_arbiter(
            setting.arbiter, api_key=setting.arbiter_key, device=setting.device, open_store=setting.open_store
        )
        facts: dict[str, JsonValue] = {"judge": self.rules_digest("", arbiter=setting.arbiter), "arbiter": identity}
        return JudgementEvaluator(suite=suite_asked, judge=self.judge.settled_by(arbiter), facts=facts)

    def _confined(self, suite: Suite) -> Judge:
        """The judge; of a package, in a process of its own."""
        package = package_with(suite.slug)
        if package is None:
            return self.judge
        return ConfinedJudge(self.judge, package=package)

    def empty_plan(self, *, is_fault: bool) -> str:
        if is_fault:
            return "That is a planner fault: every indicator would have its worst value."
        return "It would count like a missing plan: every indicator would have its worst value."
