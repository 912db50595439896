"""A candidate against its baseline, suite by suite: the verdicts, and the tasks that changed, as Markdown and JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evaluator.client.api import Client
from evaluator.client.errors import UsageError
from evaluator.client.reports import escaped, is_address
from evaluator.client.shapes import Comparison, Evaluation
from evaluator.client.tables import Suites, label_of, ranking_key
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.regression import GateVerdict, Judgement, PairedDifference, judge

MOST_LISTED = 20
"""Changed tasks that a comment lists in each direction."""
_CODES = {
    GateVerdict.BETTER: ExitCode.PASSED,
    GateVerdict.NOT_WORSE: ExitCode.PASSED,
    GateVerdict.WORSE: ExitCode.CHECK_FAILED,
    GateVerdict.CANNOT_TELL: ExitCode.UNDECIDED,
}
_WORST_FIRST = (ExitCode.CHECK_FAILED, ExitCode.UNDECIDED, ExitCode.PASSED)


class TaskChange(NamedTuple):
    """A task on which candidate and baseline have different values."""

    task: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """A candidate against its baseline on one suite."""

    suite: str
    candidate: str
    """Name of the planner, with its version."""
    baseline: str
    metric: str
    judgement: Judgement
    difference: PairedDifference
    fixed: Sequence[TaskChange]
    """Tasks on which the candidate is better, the largest difference first; empty while the data are secret."""
    broken: Sequence[TaskChange]
    url: str = ""
    """Page with the comparison; empty for reports."""


def exit_code(gated: Sequence[Gated], *, allow_undecided: bool) -> ExitCode:
    """The worst code of all suites: worse, then undecided."""
    codes = {_CODES[one.judgement.verdict] for one in gated}
    worst = next(code for code in _WORST_FIRST if code in codes)
    return ExitCode.PASSED if worst is ExitCode.UNDECIDED and allow_undecided else worst


def baseline_of(candidate: Evaluation, *, named: str, client: Client) -> Evaluation:
    """The completed evaluation that a candidate is compared with.

    Args:
        candidate: an evaluation.
        named: a version of its planner, or the id, or its first characters, of an evaluation or a submission.
        client: of the site.

    Raises:
        UsageError: there is none.
        RefusedError: no version and no id has this name.
    """
    found: list[Evaluation] = []
    if candidate.planner_id is not None:
        found = client.evaluations_of(planner=candidate.planner_id, suite=candidate.suite, version=named)
    # A version may look like the beginning of an id.
    found = found or [one for one in client.find(named) if one.suite == candidate.suite]
    others = [one for one in found if one.id != candidate.id]
    completed = next((one for one in others if one.state == "completed"), None)
    if completed is None:
        states = ", ".join(f"{one.id[:8]} is {one.state}" for one in others[:3]) or "there is none"
        raise UsageError(f"{named!r} has no completed evaluation on {candidate.suite} to compare with: {states}")
    return completed


def gated_on_site(
    candidate: Evaluation, *, baseline: Evaluation, metric: str, max_regression: float, client: Client, suites: Suites
) -> Gated:
    """The verdict on two evaluations of a site.

    Raises:
        RefusedError: they cannot be compared.
        UsageError: they have no task in common with a value.
    """
    comparison = client.compare(baseline=baseline.id, candidate=candidate.id, metric=metric)
    key = metric or ranking_key(candidate, suites=suites)
    difference = _difference(comparison, key=key, samples=candidate.samples, suites=suites, suite=candidate.suite)
    label = label_of(key, suite=suites.get(candidate.suite)).removesuffix(" (lower is better)")
    site = candidate.url.partition("/evaluations/")[0]
    return Gated(
        suite=candidate.suite,
        candidate=_named(candidate),
        baseline=_named(baseline),
        metric=key,
        judgement=judge(difference, max_regression=max_regression, label=label),
        difference=difference,
        fixed=_changes(comparison, winner=1),
        broken=_changes(comparison, winner=0),
        url=f"{site}/compare/?e={baseline.id}&e={candidate.id}" if site else "",
    )


def document(gated: Sequence[Gated], *, code: ExitCode, max_regression: float) -> dict[str, Any]:
    """Everything as one JSON object, `gate/1`."""
    return {
        "version": "gate/1",
        "exit_code": int(code),
        "max_regression": max_regression,
        "suites": [
            {
                "suite": one.suite,
                "candidate": one.candidate,
                "baseline": one.baseline,
                "metric": one.metric,
                "verdict": one.judgement.verdict.value,
                "sentence": one.judgement.sentence,
                "needed": one.judgement.needed,
                "needed_unit": "scenes" if one.difference.counts_scenes else "tasks",
                "tasks": one.difference.tasks,
                "difference": one.difference.mean,
                "low": one.difference.low,
                "high": one.difference.high,
                "p_value": one.difference.p_value,
                "wins": one.difference.wins,
                "losses": one.difference.losses,
                "fixed": [change._asdict() for change in one.fixed],
                "broken": [change._asdict() for change in one.broken],
                "url": one.url,
            }
            for one in gated
        ],
    }


def markdown(gated: Sequence[Gated]) -> str:
    """A comment on a change of a planner: verdicts, and what got fixed and broken. All texts are escaped."""
    return "\n".join(line for one in gated for line in _section(one)).strip() + "\n\n"


def _section(one: Gated) -> Iterator[str]:
    suite = f"[{escaped(one.suite)}]({one.url})" if is_address(one.url) else escaped(one.suite)
    yield f"### {suite}: {one.judgement.verdict.in_words}"
    yield ""
    yield f"{escaped(one.candidate)} against {escaped(one.baseline)}. {escaped(one.judgement.sentence)}"
    yield ""
    difference = one.difference
    yield f"{difference.wins} fixed, {difference.losses} broken, of {difference.tasks} tasks."
    for title, changes in (("Broken", one.broken), ("Fixed", one.fixed)):
        if not changes:
            continue
        yield from ("", f"<details><summary>{title}</summary>", "", "| task | before | after |", "|---|---|---|")
        for change in changes[:MOST_LISTED]:
            yield f"| {escaped(change.task)} | {change.before:.4g} | {change.after:.4g} |"
        if len(changes) > MOST_LISTED:
            yield f"| and {len(changes) - MOST_LISTED} more | | |"
        yield from ("", "</details>")
    yield ""


def _difference(comparison: Comparison, *, key: str, samples: int, suites: Suites, suite: str) -> PairedDifference:
    found = next((one for one in comparison.comparisons[0].metrics if one.metric == key), None)
    if found is None:
        raise UsageError(f"the two evaluations on {suite} have no task in common with a value of {key!r}")
    declared = suites[suite].metrics if suite in suites else []
    method = next((one.get("interval") for one in declared if one.get("key") == key), None)
    known = [method_.value for method_ in IntervalMethod]
    return PairedDifference(
        mean=found.difference,
        low=found.low,
        high=found.high,
        p_value=found.p_value,
        tasks=found.tasks,
        wins=found.wins,
        losses=found.losses,
        undecided=found.undecided,
        higher_is_better=found.higher_is_better,
        samples=samples,
        method=IntervalMethod(method) if method in known else IntervalMethod.BOOTSTRAP,
    )


def _changes(comparison: Comparison, *, winner: int) -> list[TaskChange]:
    """The tasks on which the baseline (0) or the candidate (1) is better."""
    return [
        TaskChange(task.task, before, after)
        for task in comparison.tasks
        for before, after in [task.values[:2]]
        if task.winner == winner and before is not None and after is not None
    ]


def _named(evaluation: Evaluation) -> str:
    name = evaluation.planner_name or "planner"
    return f"{name} {evaluation.version}" if evaluation.version else f"{name} ({evaluation.id[:8]})"
