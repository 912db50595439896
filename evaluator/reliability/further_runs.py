"""Further runs on a random part of the tasks: how much a planner varies, and whether it is deterministic as claimed.

A planner is asked `RUNS` times for a random tenth of the tasks. A planner that is known or declared to be deterministic
is asked once more for a few tasks; if an answer differs, the claim is contradicted, and it is asked like any other.
Pure functions; `leaderboard.queue.further_runs` queues the runs of a site.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from graphlib import CycleError
from math import ceil
from random import Random
from typing import Any

from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.records import Outcome, ResultRecord
from evaluator.reliability.renaming import plan_of
from evaluator.scoring.metrics.aggregate import TaskScore
from evaluator.scoring.metrics.plan_equality import canonical_form
from evaluator.scoring.uncertainty import DETERMINISTIC

RUNS = 3
"""Runs of the drawn tasks, with the first run of all tasks."""
SHARE = 0.1
"""Share of the tasks that are drawn."""
FEWEST = 8
"""Fewest tasks that are drawn, if there are as many. Two further runs then leave 16 degrees of freedom."""
CHECKED = 8
"""Tasks that check a claim of determinism: a planner that varies on 30 % of its tasks passes in 6 % of checks."""
CHECKED_SHARE = 0.02
"""The same for large suites, as a share of the tasks."""
COMPARABLE = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT})
"""Outcomes for which the planner is responsible: infrastructure faults say nothing about it."""


class Claim(StrEnum):
    """What is said about a planner before it was asked again."""

    NONE = ""
    """Nothing: it may vary."""
    DECLARED = "declared"
    """Its owner declares that it is deterministic."""
    KNOWN = "known"
    """It comes with this release or runs on its workers, and does not sample."""
    FIXED = "fixed"
    """A plans file: it has one run by nature."""


class Verdict(StrEnum):
    """What the further runs show."""

    VARIES = "varies"
    """It was asked several times; the run component of its variance is measured, and may be 0."""
    DETERMINISTIC = "deterministic"
    """All answers of the check were equal."""
    CONTRADICTED = "contradicted"
    """It was claimed to be deterministic, and an answer differed."""
    FIXED = "fixed"
    """It has one run by nature."""
    ONE_RUN = "one_run"
    """No further run has results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsReport:
    """The runs of an evaluation, as its summary and its row say."""

    claim: Claim
    verdict: Verdict
    runs: int
    """The largest number of runs of a task; 1 without further runs."""
    tasks: int
    """Tasks with a result in at least two runs."""
    differing: int
    """Of these, tasks whose answers are not all equal."""
    asked: int
    """Requests of further runs, which the mean of the evaluation leaves out."""
    why: str = ""
    """Why runs are missing, as a sentence; empty if none is."""

    def to_json(self) -> dict[str, JsonValue]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "RunsReport":
        return cls(**{**value, "claim": Claim(value["claim"]), "verdict": Verdict(value["verdict"])})

    @property
    def is_deterministic(self) -> bool:
        """Whether further runs would add nothing."""
        return self.verdict in DETERMINISTIC

    def in_words(self) -> str:
        """The report as sentences."""
        if self.verdict is Verdict.FIXED:
            return "A plans file has one run by nature."
        if self.verdict is Verdict.ONE_RUN:
            return f"One run: how much the planner varies is unknown. {self.why}".strip()
        claimed = {Claim.DECLARED: "Declared to be deterministic. ", Claim.KNOWN: "Does not sample. ", Claim.NONE: ""}
        tasks = "one task" if self.tasks == 1 else f"{self.tasks} tasks"
        ran = f"{claimed[self.claim]}{tasks[:1].upper()}{tasks[1:]}, drawn at random, ran up to {self.runs} times"
        if not self.differing:
            return f"{ran}: all answers are equal. {self.why}".strip()
        contradicted = ", which contradicts the claim" if self.verdict is Verdict.CONTRADICTED else ""
        return f"{ran}: the answers to {self.differing} of them differ{contradicted}. {self.why}".strip()


def sample_size(possible: int, *, share: float = SHARE) -> int:
    """Number of tasks to draw of `possible` ones for repeated runs."""
    return min(possible, max(FEWEST, ceil(possible * share)))


def check_size(possible: int) -> int:
    """Number of tasks to draw of `possible` ones for the check of a claim."""
    return min(possible, max(CHECKED, ceil(possible * CHECKED_SHARE)))


def drawn(tasks: Sequence[str], *, size: int, rng: Random) -> list[str]:
    """A random sample of tasks, in their order."""
    places = sorted(rng.sample(range(len(tasks)), k=size))
    return [tasks[place] for place in places]


def is_comparable(record: ResultRecord) -> bool:
    """Whether the planner is responsible for the end of the task."""
    return record.outcome in COMPARABLE


def is_same_answer(first: ResultRecord, other: ResultRecord) -> bool:
    """Whether a planner gave the same answer: the same plan up to names and order, or the same replies in all turns.

    Scores are not compared: another device may score the same plan differently in the last digits.
    """
    if (first.outcome, first.reason) != (other.outcome, other.reason):
        return False
    if first.transcripts or other.transcripts:
        return _replies(first) == _replies(other)
    if first.plan is None or other.plan is None:
        return first.plan is other.plan and dumps(first.plan_received) == dumps(other.plan_received)
    return _form(first.plan) == _form(other.plan)


def differing_tasks(runs: Sequence[Mapping[str, ResultRecord]]) -> tuple[int, int]:
    """Tasks with a comparable record in at least two runs, and those of them whose answers are not all equal.

    Args:
        runs: records of each run by task, the first run first.
    """
    compared = differing = 0
    for task in runs[0] if runs else ():
        records = [run[task] for run in runs if task in run and is_comparable(run[task])]
        if len(records) < 2:
            continue
        compared += 1
        differing += any(not is_same_answer(records[0], other) for other in records[1:])
    return compared, differing


def report_of(*, claim: Claim, runs: Sequence[Mapping[str, ResultRecord]], why: str = "") -> RunsReport:
    """The report of an evaluation whose runs have ended.

    Args:
        claim: about the planner.
        runs: records of each run by task, the first run first.
        why: why runs are missing, as a sentence.
    """
    compared, differing = differing_tasks(runs)
    counts = _counts(runs)
    if claim is Claim.FIXED:
        verdict = Verdict.FIXED
    elif not compared:
        verdict = Verdict.ONE_RUN
    elif claim is Claim.NONE:
        verdict = Verdict.VARIES
    else:
        verdict = Verdict.CONTRADICTED if differing else Verdict.DETERMINISTIC
    return RunsReport(
        claim=claim, verdict=verdict, runs=max(counts, default=1), tasks=compared, differing=differing,
        asked=sum(len(run) for run in runs[1:]), why=why,
    )  # fmt: skip


def scores_of_runs(runs: Sequence[Mapping[str, ResultRecord]]) -> list[TaskScore]:
    """The scores of the first run, each with those of further runs.

    Args:
        runs: records of each run by task, the first run first.
    """
    first, *further = runs
    return [
        replace(TaskScore.of(record), further=tuple(TaskScore.of(run[task]) for run in further if task in run))
        for task, record in first.items()
    ]


def _counts(runs: Sequence[Mapping[str, ResultRecord]]) -> Iterable[int]:
    if not runs:
        return ()
    return [sum(task in run and is_comparable(run[task]) for run in runs) or 1 for task in runs[0]]


def _replies(record: ResultRecord) -> list[list[list[str]]]:
    return [[list(turn.received) for turn in transcript.turns] for transcript in record.transcripts]


def _form(value: JsonValue) -> object:
    plan = plan_of(value)
    try:
        return dumps(value) if plan is None else canonical_form(plan)
    except CycleError:
        return dumps(value)
