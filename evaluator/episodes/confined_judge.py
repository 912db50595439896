"""Judges of suite packages, in a process with limits: they read plans of strangers, and PlanArena does not review them.

The process has no network and no environment, starts no process, writes no file, and reads only files of Python and of
installed packages; its memory and the time for one plan are limited (`evaluator.sandbox.limited_process`). It imports
the module of the package and parses the plan again. What a plan may change in it lasts until the end of the run.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerReply
from evaluator.core.plug_ins import top_of
from evaluator.core.records import MOST_PAIRS, PlannerCall, Reason, ResultRecord, TextPair
from evaluator.core.suites.base import Suite
from evaluator.core.suites.plug_ins import SuitePackage
from evaluator.core.suites.registry import Entry, suite_of
from evaluator.episodes.judges import Judge, JudgeFailedError, Judgement, all_tools
from evaluator.episodes.parts import Planned, planned_of
from evaluator.sandbox.isolation.python_files import files_of_python
from evaluator.sandbox.limited_process import LimitExceededError, Limits, Server, serve_many

LIMITS = Limits(memory_bytes=2 * 1024**3, cpu_seconds=0, wall_seconds=60, most_answer_bytes=1024**2)
"""Of one plan; the first one also imports the package. The files to read are added."""


class _Verdict(BaseModel):
    """A `Judgement` as the process sends it. A plan may have written it, so it is checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    score: FiniteFloat
    indicators: dict[str, FiniteFloat]
    explanations: dict[str, str]
    pairs: Annotated[tuple[TextPair, ...], Field(max_length=MOST_PAIRS)]
    arbiter: dict[str, JsonValue]


class ConfinedJudge:
    """A judge of a package whose verdicts are found in a process of its own. Not thread-safe."""

    def __init__(self, judge: Judge, *, package: SuitePackage, limits: Limits = LIMITS) -> None:
        """Does not start the process yet.

        Args:
            judge: of a suite of the package.
            package: is imported by the process.
            limits: of the process, except the files that it may read.
        """
        self._judge, self._package, self._limits = judge, package, limits
        self._server: Server | None = None

    def fresh(self) -> "ConfinedJudge":
        """The same judge with another process, which has read no plan yet."""
        return ConfinedJudge(self._judge, package=self._package, limits=self._limits)

    def close(self) -> None:
        """End the process; the next plan starts another one."""
        if self._server is not None:
            self._server.close()

    def digest(self) -> str:
        """See `Judge`. Found in this process: it handles no untrusted input."""
        return self._judge.digest()

    def not_judged(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """See `Judge`. Found in this process, too."""
        return self._judge.not_judged(suite)

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:
        """The verdict of the process.

        Raises:
            JudgeFailedError: the judge failed, exceeded a limit, or gave no valid verdict.
        """
        if not _has(suite.slug, planned=planned):
            # Hidden and perturbed requests are not in the package: the process would not find the task.
            return self._judge(suite=suite, planned=planned)
        if self._server is None:
            self._server = _server_for(self._package, limits=self._limits)
        try:
            verdict = _Verdict.model_validate(self._server.call(_request(suite.slug, planned=planned)))
        except LimitExceededError as error:
            raise JudgeFailedError(f"The judge of {suite.slug} needed {error} for this plan.") from None
        except ValidationError:
            self.close()
            raise JudgeFailedError(f"The judge of {suite.slug} gave no valid verdict on this plan.") from None
        except RuntimeError:
            raise JudgeFailedError(f"The judge of {suite.slug} failed on this plan.") from None
        return Judgement(**{name: getattr(verdict, name) for name in _Verdict.model_fields})


def _server_for(package: SuitePackage, *, limits: Limits) -> Server:
    return Server(
        "evaluator.episodes.confined_judge",
        limits=replace(limits, readable=files_of_python(top_of(package.module))),
        # Where this process finds the package and what it imports.
        arguments=[package.module, *(str(Path(folder).absolute()) for folder in sys.path)],
    )


def _request(slug: str, *, planned: Planned) -> JsonValue:
    reply = planned.reply
    return {
        "suite": slug, "task": planned.task.key, "record": planned.record.model_dump(mode="json"),
        "alternatives": cast("list[JsonValue]", list(reply.alternatives)), "tolerated": list(reply.tolerated),
        "unreadable": reply.unreadable, "responds": reply.responds,
    }  # fmt: skip


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


def _judged(request: Any, *, module: str) -> JsonValue:
    suite, judge = _entry(module, request["suite"])
    task = suite.task(request["task"])
    record = ResultRecord.model_validate(request["record"])
    reply = PlannerReply(
        plan=record.plan_received, call=record.planner or PlannerCall(seconds=0.0), notes=record.planner_notes,
        alternatives=tuple(request["alternatives"]), tolerated=tuple(request["tolerated"]),
        unreadable=request["unreadable"], responds=request["responds"],
    )  # fmt: skip
    planned = planned_of(record, task=task, reply=reply, context=all_tools(suite=suite, task=task))
    assert isinstance(planned, Planned), "it was parsed before"
    found = judge(suite=suite, planned=planned)
    return {
        "score": found.score,
        "indicators": dict(found.indicators),
        "explanations": dict(found.explanations),
        "pairs": [pair.model_dump(mode="json") for pair in found.pairs],
        "arbiter": dict(found.arbiter),
    }


def _main(module: str, *path: str) -> None:
    sys.path += [folder for folder in path if folder not in sys.path]
    # Lists the folders of the path, some of which must not be listed afterwards. Imports nothing of the package.
    find_spec(top_of(module))
    serve_many(partial(_judged, module=module))


if __name__ == "__main__":
    _main(*sys.argv[1:])
