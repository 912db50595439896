"""Judges of suite packages, in a process with limits: they read plans of strangers, and nobody here has read them.

The process has no network and no environment, starts no process and writes no file; its memory and the time for one
plan are limited (`evaluator.sandbox.limited_process`). It imports the module of the package and parses the plan again.
"""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerReply
from evaluator.core.records import PlannerCall, Reason, ResultRecord, TextPair
from evaluator.core.suites.base import Suite
from evaluator.core.suites.plug_ins import SuitePackage
from evaluator.core.suites.registry import Entry, suite_of
from evaluator.episodes.judges import Judge, JudgeFailedError, Judgement, all_tools
from evaluator.episodes.parts import Planned, planned_of
from evaluator.sandbox.limited_process import LimitExceededError, Limits, Server, serve_many

LIMITS = Limits(memory_bytes=2 * 1024**3, cpu_seconds=0, wall_seconds=60)
"""Of one plan; the first one also imports the package."""


class ConfinedJudge:
    """A judge of a package whose verdicts are found in a process of its own. Not thread-safe."""

    def __init__(self, judge: Judge, *, package: SuitePackage, limits: Limits = LIMITS) -> None:
        self._judge, self._module = judge, package.module
        self._server = Server("evaluator.episodes.confined_judge", limits=limits)

    def digest(self) -> str:
        """See `Judge`. Found in this process: it reads nothing of a stranger."""
        return self._judge.digest()

    def not_judged(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """See `Judge`. Found in this process, too."""
        return self._judge.not_judged(suite)

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:
        """The verdict of the process.

        Raises:
            JudgeFailedError: the judge failed, or exceeded a limit.
        """
        record = planned.record
        if not _has(suite.slug, planned=planned):
            # Hidden and perturbed requests are not in the package: the process would not find the task.
            return self._judge(suite=suite, planned=planned)
        request: JsonValue = {
            "module": self._module, "path": list[JsonValue](sys.path), "suite": suite.slug, "task": planned.task.key,
            "record": record.model_dump(mode="json"),
            "alternatives": cast("list[JsonValue]", list(planned.reply.alternatives)),
        }  # fmt: skip
        try:
            answer = self._server.call(request)
        except LimitExceededError as error:
            raise JudgeFailedError(f"The judge of {suite.slug} needed {error} for this plan.") from None
        except RuntimeError:
            raise JudgeFailedError(f"The judge of {suite.slug} failed on this plan.") from None
        answer["pairs"] = tuple(map(TextPair.model_validate, answer["pairs"]))
        return Judgement(**answer)


def _has(slug: str, *, planned: Planned) -> bool:
    try:
        return suite_of(slug).task(planned.task.key) == planned.task
    except LookupError:
        return False


@lru_cache(maxsize=8)
def _entry(module: str, slug: str) -> tuple[Suite, Judge]:
    entry: Entry = next(entry for entry in import_module(module).SUITES if entry.slug == slug)
    judge: Judge = entry.episode.judge  # type: ignore[attr-defined]  # of judged plans
    return entry.build(), judge


def _judged(request: Any) -> JsonValue:
    # Where the caller finds the package and what it imports.
    sys.path += [folder for folder in request["path"] if folder not in sys.path]
    suite, judge = _entry(request["module"], request["suite"])
    task = suite.task(request["task"])
    record = ResultRecord.model_validate(request["record"])
    call = record.planner or PlannerCall(seconds=0.0)
    reply = PlannerReply(
        plan=record.plan_received, call=call, alternatives=tuple(request["alternatives"]), notes=record.planner_notes
    )
    planned = planned_of(record, task=task, reply=reply, context=all_tools(suite=suite, task=task))
    assert isinstance(planned, Planned), "it was parsed before"
    with redirect_stdout(sys.stderr):  # the other end reads verdicts from standard output
        found = judge(suite=suite, planned=planned)
    return {
        "score": found.score,
        "indicators": dict(found.indicators),
        "explanations": dict(found.explanations),
        "pairs": [pair.model_dump(mode="json") for pair in found.pairs],
        "arbiter": dict(found.arbiter),
    }


if __name__ == "__main__":
    serve_many(_judged)
