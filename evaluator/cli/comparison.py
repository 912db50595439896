"""The last sentences of `evaluate`: the score of a planner, or its comparison with other reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from evaluator.client.gating import Gated, TaskChange
from evaluator.core.suites.base import Column, Suite
from evaluator.core.suites.registry import suite_of
from evaluator.scoring.board_agreement import RowFigures, headroom
from evaluator.scoring.board_sentences import RankedRow, headroom_in_words, plain, sentences, single
from evaluator.scoring.metrics.undecided import ranged
from evaluator.scoring.regression import PairedDifference, judge
from evaluator.scoring.task_comparison import compare, scores_of, task_differences

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord
    from evaluator.scoring.metrics.aggregate import TaskScore
    from evaluator.scoring.metrics.runs import RepeatedScores

_SAME_FACTS = ("profile", "data", "judge")
"""Facts of a report that must be equal for its scores to be comparable."""


class ReportError(ValueError):
    """A file is no report that can be compared; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedReport:
    """The part of an `evaluation/1` document that a comparison needs."""

    name: str
    document: Mapping[str, Any]
    records: "Sequence[ResultRecord]"

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "ComparedReport":
        """The part of a document.

        Raises:
            ReportError: it is no `evaluation/1` document.
        """
        from evaluator.core.records import ResultRecord

        if document.get("version") != "evaluation/1":
            raise ReportError("it is not a report of `planarena evaluate`")
        try:
            records = [ResultRecord.model_validate(record) for record in document["results"]]
            return cls(name=str(document["planner"]), document=document, records=records)
        except (KeyError, TypeError, ValidationError):
            raise ReportError("it is damaged, or a report of another version of planarena") from None

    def scores(self) -> "list[TaskScore]":
        """The scores of its tasks, with those of further runs.

        Raises:
            ReportError: the further runs are damaged.
        """
        from evaluator.core.records import ResultRecord
        from evaluator.reliability.further_runs import scores_of_runs

        first = {record.task: record for record in self.records}
        try:
            further = [
                {record.task: record for record in map(ResultRecord.model_validate, run)}
                for run in (self.document.get("runs") or {}).get("further", ())
            ]
        except (AttributeError, TypeError, ValidationError):
            raise ReportError("its further runs are damaged") from None
        return scores_of_runs([first, *further])


def read_report(file: Path, *, suite: Suite) -> ComparedReport:
    """A report on a suite.

    Raises:
        ReportError: it cannot be read, or is about another suite or version of it.
    """
    try:
        document = json.loads(file.read_bytes())
    except OSError as error:
        raise ReportError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ReportError(f"{file} is not JSON") from None
    try:
        report = ComparedReport.of(document if isinstance(document, dict) else {})
    except ReportError as error:
        raise ReportError(f"{file}: {error}") from None
    about = document.get("suite") or {}
    if about.get("digest") != suite.digest:
        other = about.get("slug")
        what = f"is about the suite {other}" if other != suite.slug else f"is about another version of {suite.slug}"
        raise ReportError(f"{file} {what}: evaluate its planner again to compare")
    return report


def gated_reports(*, candidate: Path, baseline: Path, metric: str, max_regression: float) -> Gated:
    """The verdict on two reports of `planarena evaluate`.

    Args:
        candidate: a report.
        baseline: a report under the same conditions.
        metric: key of the metric; empty: the one that boards rank by.
        max_regression: by how much the candidate may be worse.

    Raises:
        ReportError: one cannot be read, or they cannot be compared.
    """
    suite = _suite_of(candidate)
    own, other = read_report(candidate, suite=suite), read_report(baseline, suite=suite)
    check_conditions(own.document, {str(baseline): other})
    columns = {column.key: column for column in suite.metrics if not column.weights}
    key = metric or next(column.key for column in suite.metrics if column.primary)
    if key not in columns:
        raise ReportError(f"{suite.slug} has no metric {key!r} with a value for each task; it has {', '.join(columns)}")
    column = columns[key]
    runs = [{score.task: score for score in report.scores()} for report in (other, own)]
    tasks = [task.key for task in suite.tasks if any(task.key in run for run in runs)]
    scores = [
        scores_of(metrics=[column], tasks=tasks, results=run, is_deterministic=_alike(report))
        for run, report in zip(runs, (other, own), strict=True)
    ]
    metrics = {task: run[task].metric for run in runs for task in run}
    (pair,) = compare(metrics=[column], scores=scores, strata=[metrics[task] for task in tasks])
    found = pair.of(key)
    if found is None:
        raise ReportError(f"{candidate} and {baseline} have no task in common with a value of {column.label}")
    difference = PairedDifference(
        mean=found.difference.mean, low=found.difference.low, high=found.difference.high, p_value=found.p_value,
        tasks=found.difference.count, wins=found.wins, losses=found.losses, undecided=found.undecided,
        higher_is_better=column.higher_is_better, method=column.interval,
        samples=max((len(score.samples) for score in runs[1].values()), default=1) or 1,
    )  # fmt: skip
    fixed, broken = (
        [
            TaskChange(tasks[task.index], before, after)
            for task in task_differences(metric=column, scores=scores)
            for before, after in [task.values]
            if task.winner == winner and before is not None and after is not None
        ]
        for winner in "10"
    )
    return Gated(
        suite=suite.slug, candidate=own.name, baseline=other.name, metric=key, difference=difference, fixed=fixed,
        broken=broken, judgement=judge(difference, max_regression=max_regression, label=column.label),
    )  # fmt: skip


def _suite_of(file: Path) -> Suite:
    try:
        return suite_of(str(json.loads(file.read_bytes())["suite"]["slug"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ReportError(f"{file} names no known suite: {error}") from None


def _alike(report: ComparedReport) -> bool | None:
    from evaluator.scoring.uncertainty import is_deterministic

    return is_deterministic(report.document["runs"].get("report")) if report.document.get("runs") else None


def check_conditions(own: Mapping[str, Any], others: Mapping[str, ComparedReport]) -> None:
    """Check that reports were measured under the conditions of this one.

    Raises:
        ReportError: the experts, data or judge differ.
    """
    for file, other in others.items():
        for fact in _SAME_FACTS:
            if own.get(fact) != other.document.get(fact):
                raise ReportError(f"{file} has another {fact}: its scores cannot be compared")


def closing_sentences(*, suite: Suite, reports: Sequence[ComparedReport], samples: int) -> list[str]:
    """The score of one planner in a sentence, or who is best among several, by how much, and whether that is real.

    Several planners are compared on the tasks that all of them have.

    Args:
        suite: the suite of all reports.
        reports: reports under equal conditions, in any order; names that occur twice are numbered.
        samples: number of samples of an executed task.
    """
    from evaluator.scoring.metrics.aggregate import summarise_columns
    from evaluator.scoring.uncertainty import is_deterministic, repeated_of_row

    column = next(column for column in suite.metrics if column.primary)
    common = set.intersection(*({record.task for record in report.records} for report in reports))
    if not common:
        return ["The reports have no task in common: nothing can be compared."]
    runs = [[score for score in report.scores() if score.task in common] for report in reports]
    has_runs = any(report.document.get("runs") for report in reports)
    entries, lines = list[_Entry](), list[str]()
    for name, report, run in zip(_names(reports), reports, runs, strict=True):
        alike = is_deterministic((report.document.get("runs") or {}).get("report"))
        metrics = summarise_columns(columns=suite.metrics, results=run, samples=samples, is_deterministic=alike)[
            "metrics"
        ]
        value = ranged(metrics=metrics, column=column)  # type: ignore[arg-type]  # JSON
        if value is None:
            lines.append(f"{name} has no {column.label}: none of its tasks could be measured.")
        else:
            row = RankedRow(
                name=name, rank=1, mean=value["mean"], low=value["low"], high=value["high"], upper=value.get("upper")
            )
            repeated = repeated_of_row(column=column, runs=[run], is_deterministic=alike) if has_runs else None
            entries.append(_Entry(row=row, run=run, tasks=value["tasks"], repeated=repeated))
    if len(entries) < 2:
        return [*(single(one.row, metric=column.label, tasks=one.tasks) for one in entries), *lines]
    if any(len(report.records) > len(common) for report in reports):
        lines.append(f"Only the {len(common)} task{'' if len(common) == 1 else 's'} that all reports have count.")
    return [*_comparison(entries, column=column, samples=samples), *_headroom(entries, column=column), *lines]


class _Entry(NamedTuple):
    """A planner in a comparison."""

    row: RankedRow
    run: "Sequence[TaskScore]"
    tasks: int
    repeated: "RepeatedScores | None"
    """What is known about its runs; None unless a report has further runs."""


def _headroom(entries: Sequence[_Entry], *, column: Column) -> list[str]:
    """What can be had without understanding, where gold plans and a shortcut are among the planners."""
    when = datetime.min.replace(tzinfo=UTC)
    figures = [RowFigures(one.row.name, when, None, one.row.name, {column.key: one.row.mean}) for one in entries]
    room = headroom(figures, primary=column.key, higher_is_better=column.higher_is_better)
    return [] if room is None else [headroom_in_words(room, higher_is_better=column.higher_is_better)]


def _comparison(entries: Sequence[_Entry], *, column: Column, samples: int) -> list[str]:
    from evaluator.scoring.board_summary import summarise
    from evaluator.scoring.metrics.aggregate import score_tables
    from evaluator.scoring.metrics.paired import pair_tests

    ordered = sorted(entries, key=lambda one: one.row.mean, reverse=column.higher_is_better)
    means = [one.row.mean for one in ordered]
    rows = [replace(one.row, rank=1 + sum(_is_better(mean, one.row.mean, column) for mean in means)) for one in ordered]
    runs = [[one.run] for one in ordered]
    scores, strata = score_tables(column=column, runs=runs, samples=samples)
    upper = score_tables(column=column, runs=runs, samples=samples, upper=True)[0] if column.undecided else None
    known = [one.repeated for one in ordered if one.repeated is not None]
    repeated = known if len(known) == len(ordered) else None
    tests = pair_tests(scores, method=column.interval, strata=strata, upper=upper, repeated=repeated)
    summary = summarise(
        scores, means=means, tests=tests, method=column.interval, strata=strata, upper=upper, repeated=repeated,
        higher_is_better=column.higher_is_better,
    )  # fmt: skip
    found = sentences(summary=summary, rows=rows, place="This comparison")
    return [f"Compared in {column.label}:", *(plain(sentence, rows=rows) for sentence in found)]


def _is_better(mean: float, than: float, column: Column) -> bool:
    return mean > than if column.higher_is_better else mean < than


def _names(reports: Sequence[ComparedReport]) -> list[str]:
    names = [report.name for report in reports]
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
