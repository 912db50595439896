"""The efficiency study (LUMOS, appendix E, Table 6): what planners spend on the same tasks, and what they solve."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.planner import Planner
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.episodes.base import Evaluator
from evaluator.scoring.metrics.statistics import Interval, mean_of_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one planner spent and solved; means are per task."""

    planner: str
    tasks: int
    """Number of tasks that count: all without those that failed by the infrastructure."""
    solved: Interval
    turns: float
    prompt_tokens: Interval | None
    """None if the planner reports no tokens."""
    completion_tokens: Interval | None
    seconds: float
    """Time of all calls of its models together, without tools."""


class NothingSpentError(ValueError):
    """No task counts; the message is a sentence."""


def first_of_each_metric(suite: Suite, *, count: int) -> list[str]:
    """Keys of the first `count` tasks of each metric."""
    seen: dict[str, int] = {}
    keys = []
    for task in suite.tasks:
        seen[task.metric] = seen.get(task.metric, 0) + 1
        if seen[task.metric] <= count:
            keys.append(task.key)
    return keys


def measured(
    planners: Mapping[str, Planner], *, evaluator: Evaluator, tasks: Sequence[str], say: Callable[[str], None]
) -> list[Spent]:
    """Evaluate planners on the same tasks, one after the other.

    Raises:
        NothingSpentError: a planner has no task that counts.
    """
    found = []
    for name, planner in planners.items():
        say(f"{name}: {len(tasks)} tasks")
        found.append(spent_on(evaluator.run(planner=planner, tasks=tasks), planner=name))
    return found


def spent_on(records: Iterable[ResultRecord], *, planner: str) -> Spent:
    """The sums and means over the records of one planner.

    Raises:
        NothingSpentError: no task counts.
    """
    counted = [record for record in records if record.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT}]
    if not counted:
        raise NothingSpentError(f"{planner}: no task was run to its end.")
    calls = [record.planner for record in counted if record.planner is not None]
    return Spent(
        planner=planner,
        tasks=len(counted),
        solved=mean_of_tasks([record.score or 0.0 for record in counted]),
        turns=sum(len(transcript.turns) for record in counted for transcript in record.transcripts) / len(counted),
        prompt_tokens=_mean([call.prompt_tokens for call in calls]),
        completion_tokens=_mean([call.completion_tokens for call in calls]),
        seconds=sum(call.seconds for call in calls),
    )


def _mean(counts: Sequence[int | None]) -> Interval | None:
    known = [float(count) for count in counts if count is not None]
    return mean_of_tasks(known, bounds=(0.0, None)) if known and len(known) == len(counts) else None


def markdown(found: Sequence[Spent]) -> str:
    """A row for each planner, and the ratios of each further one to the first."""
    headings = "planner", "tasks", "solved", "turns", "prompt tokens", "completion tokens", "seconds for 100 tasks"
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    for spent in found:
        cells = (
            spent.planner, str(spent.tasks), _cell(spent.solved, form=".3f"), f"{spent.turns:.2f}",
            _cell(spent.prompt_tokens, form=",.0f"), _cell(spent.completion_tokens, form=",.0f"),
            f"{spent.seconds / spent.tasks * 100:,.1f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    first, *others = found
    for other in others:
        parts = [
            f"{_ratio(spent, base)} times the {what}"
            for what, base, spent in (
                ("prompt tokens", first.prompt_tokens, other.prompt_tokens),
                ("completion tokens", first.completion_tokens, other.completion_tokens),
            )
            if base is not None and spent is not None and base.mean
        ]
        if first.seconds:
            parts.append(f"{other.seconds / other.tasks * first.tasks / first.seconds:.2f} times the seconds")
        lines.append(f"{other.planner} spends, for each task of {first.planner}: {', '.join(parts) or 'unknown'}.")
    return "\n".join([*lines, ""])


def _cell(interval: Interval | None, *, form: str) -> str:
    return "not reported" if interval is None else f"{interval.mean:{form}} ({interval.in_words(form=form)})"


def _ratio(spent: Interval, base: Interval) -> str:
    return f"{spent.mean / base.mean:.2f}"
