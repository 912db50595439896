"""Rows of a snapshot: as they were signed, and their figures recomputed from the results of all tasks. Pure."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator import canonical_json
from evaluator.client.verify.documents import EvaluationProof, MalformedError, Metric, Row, SnapshotProof, shaped
from evaluator.client.verify.report import Report
from evaluator.client.verify.trust import Trust
from evaluator.metrics.aggregate import TaskScore, summarise_columns
from evaluator.records import Outcome
from evaluator.signatures import (
    ColumnFacts,
    EnvelopeError,
    EvaluationStatement,
    RowDigests,
    SnapshotStatement,
    SuiteFacts,
    TaskEntry,
    names_digest,
    open_envelope,
    result_digest,
    rows_digest,
    tasks_digest,
)
from evaluator.suites.base import Column

_SAME_MEAN, _SAME_END, _SAME_USAGE = 1e-12, 1e-9, 1.1e-6
"""Relative, relative and absolute: processors add numbers in different orders, and usage is rounded to six digits."""
_MILLION = 1_000_000


def check_rows(*, proof: SnapshotProof, statement: SnapshotStatement, report: Report) -> list[tuple[Row, RowDigests]]:
    """Check the rows of a snapshot against its statement. Returns those that can be read, with what binds them."""
    before = len(report.findings)
    served = proof.content.get("rows")
    rows = served if isinstance(served, list) else []
    bound = rows_digest(proof.rows)
    if (bound, len(proof.rows)) != (statement.rows.digest, statement.rows.count):
        report.mismatch(
            "rows", "the digests of the rows are not the signed ones", expected=statement.rows.digest, found=bound
        )
    if len(rows) != len(proof.rows):
        report.mismatch("rows", "the number of rows is wrong", expected=len(proof.rows), found=len(rows))
    if proof.content.get("coverage") != statement.coverage:
        report.mismatch(
            "rows", "the coverage is wrong", expected=statement.coverage, found=proof.content.get("coverage")
        )
    withheld = 0
    readable = []
    for position, (row, digests) in enumerate(zip(rows, proof.rows, strict=False), start=1):
        found = _row(row=row, digests=digests, where=f"row {position}", report=report)
        if found is None:
            continue
        readable.append((found, digests))
        salt = proof.salts.get(digests.evaluation)
        if salt is None:
            withheld += 1
        elif (names := names_digest(row=row, salt=salt)) != digests.names:
            text = f"row {position} (evaluation {digests.evaluation}): planner, owner or team was changed"
            report.mismatch("rows", text, expected=digests.names, found=names)
    if not withheld and (content := canonical_json.digest(proof.content)) != proof.digest:
        report.mismatch("rows", "the content digest of the snapshot is wrong", expected=content, found=proof.digest)
    _check_ranks(rows=[row for row, _ in readable], suite=statement.suite, report=report)
    if len(report.findings) == before:
        report.ok("rows", f"{len(rows)} row{'' if len(rows) == 1 else 's'} as signed; ranks follow from the figures")
    if withheld:
        report.note("rows", f"the names in {withheld} of {len(rows)} rows are withheld, as of closed accounts")
    return readable


def _row(*, row: object, digests: RowDigests, where: str, report: Report) -> Row | None:
    try:
        found = shaped(row, shape=Row)
    except MalformedError as error:
        report.mismatch("rows", f"{where} {error}", expected="a row", found=type(row).__name__)
        return None
    where = f"{where} (evaluation {digests.evaluation})"
    if not isinstance(row, dict) or found.evaluation != digests.evaluation:
        report.mismatch(
            "rows", f"{where} is of another evaluation", expected=digests.evaluation, found=found.evaluation
        )
        return None
    if (digest := result_digest(row)) != digests.result:
        report.mismatch("rows", f"{where}: its figures or facts were changed", expected=digests.result, found=digest)
    return found


def _check_ranks(*, rows: Sequence[Row], suite: SuiteFacts, report: Report) -> None:
    """Ranks as `leaderboard/boards/ranking.py` defines them."""
    sign = 1.0 if suite.higher_is_better else -1.0
    spans = [_span(row.metrics.get(suite.ranked_by), sign=sign) for row in rows]
    lows, means, highs = (sorted(span[part] for span in spans if span is not None) for part in range(3))
    expected_order = sorted(-span[1] for span in spans if span is not None)
    if [-span[1] for span in spans if span is not None] != expected_order or None in spans[: len(means)]:
        report.mismatch(
            "rows", "the rows are not in the order of their ranks", expected=f"by {suite.ranked_by}", found="not"
        )
    for row, span in zip(rows, spans, strict=True):
        wanted: tuple[int | None, int | None, int | None] = (None, None, None)
        if span is not None:
            low, mean, high = span
            known = math.isfinite(low) and math.isfinite(high)
            wanted = (
                1 + len(means) - bisect_right(means, mean),
                1 + len(lows) - bisect_right(lows, high) if known else None,
                len(highs) - bisect_left(highs, low) if known else None,
            )
        if (row.rank, row.rank_low, row.rank_high) != wanted:
            text = f"rank and its range of evaluation {row.evaluation} do not follow from the means"
            report.mismatch("rows", text, expected=wanted, found=(row.rank, row.rank_low, row.rank_high))


def _span(metric: Metric | None, *, sign: float) -> tuple[float, float, float] | None:
    if metric is None:
        return None
    low = -math.inf if metric.low is None else metric.low
    high = math.inf if metric.high is None else metric.high
    return (low, metric.mean, high) if sign > 0 else (-high, -metric.mean, -low)


def check_evaluation(
    *, row: Row, digests: RowDigests, proof: EvaluationProof, snapshot: SnapshotStatement, trust: Trust, report: Report
) -> bool:
    """Check an evaluation's results against what the snapshot names, and a row's figures against the results.

    Returns whether the results are the signed ones; only then do its records say anything.
    """
    where = f"evaluation {row.evaluation}"
    digest = tasks_digest(evaluation=row.evaluation, tasks=proof.tasks)
    if digest != digests.tasks:
        report.mismatch(
            "results", f"{where}: its results are not the signed ones", expected=digests.tasks, found=digest
        )
        return False
    _check_statement(
        proof=proof,
        where=where,
        evaluation=row.evaluation,
        digest=digest,
        snapshot=snapshot,
        trust=trust,
        report=report,
    )
    _check_figures(row=row, tasks=proof.tasks, snapshot=snapshot, report=report)
    return True


def _check_statement(
    *, proof: EvaluationProof, where: str, evaluation: str, digest: str, snapshot: SnapshotStatement, trust: Trust,
    report: Report,
) -> None:  # fmt: skip
    """The evaluation's own statement. Its key may be one from before the trusted ones: the snapshot names the same
    results."""
    if proof.signature is None:
        report.mismatch("results", f"{where} has no signature", expected="a signed statement", found="none")
        return
    try:
        statement = open_envelope(proof.signature, expected=EvaluationStatement, keys={**trust.listed, **trust.keys})
    except EnvelopeError as error:
        report.mismatch(
            "results", f"the statement of {where} {error}", expected="a valid one", found=proof.signature.key_id
        )
        return
    for name, expected, found in (
        ("evaluation", evaluation, statement.evaluation),
        ("results", digest, statement.tasks.digest),
        ("suite", snapshot.suite.digest, statement.suite.digest),
        ("conditions", snapshot.conditions, statement.conditions),
    ):
        if expected != found:
            report.mismatch("results", f"the statement of {where} names another {name}", expected=expected, found=found)


def _check_figures(*, row: Row, tasks: Sequence[TaskEntry], snapshot: SnapshotStatement, report: Report) -> None:
    suite = snapshot.suite
    summary: Mapping[str, Any] = summarise_columns(
        columns=[_column(facts) for facts in suite.columns],
        results=[_score(task) for task in tasks],
        samples=snapshot.conditions.samples,
    )
    for name, expected, found in (
        *_differing_metrics(row=row, computed=summary["metrics"], ranked_by=suite.ranked_by),
        *_differing_usage(row=row, tasks=tasks),
    ):
        report.mismatch(
            "results",
            f"evaluation {row.evaluation}: {name} does not follow from its results",
            expected=expected,
            found=found,
        )
    counted = {name: count for name, count in summary["outcomes"].items() if count}
    if row.outcomes != counted:
        text = f"evaluation {row.evaluation}: the outcomes do not follow from its results"
        report.mismatch("results", text, expected=counted, found=row.outcomes)


def _column(facts: ColumnFacts) -> Column:
    return Column(
        key=facts.key, label=facts.key, description="", metric=facts.metric, indicator=facts.indicator,
        fault=facts.fault, interval=facts.interval,
    )  # fmt: skip


def _score(task: TaskEntry) -> TaskScore:
    return TaskScore(
        task=task.task, metric=task.metric, outcome=Outcome(task.outcome), score=task.score, indicators=task.indicators,
        samples=tuple(task.samples),
    )  # fmt: skip


def _differing_metrics(
    *, row: Row, computed: Mapping[str, Any], ranked_by: str
) -> Iterable[tuple[str, object, object]]:
    for key in {*row.metrics, ranked_by}:
        shown, found = row.metrics.get(key), computed.get(key)
        if shown is None or found is None:
            if (shown is None) != (found is None):
                yield f"the mean of {key}", found and found["mean"], shown and shown.mean
            continue
        if not math.isclose(found["mean"], shown.mean, rel_tol=_SAME_MEAN, abs_tol=1e-15):
            yield f"the mean of {key}", found["mean"], shown.mean
        if found["tasks"] != shown.tasks:
            yield f"the number of tasks of {key}", found["tasks"], shown.tasks
        for end, end_shown in (("low", shown.low), ("high", shown.high)):
            if not _same_end(found[end], end_shown):
                yield f"the interval of {key}", found[end], end_shown


def _same_end(computed: float | None, shown: float | None) -> bool:
    if computed is None or shown is None:
        return computed is shown
    return math.isclose(computed, shown, rel_tol=_SAME_END, abs_tol=_SAME_END)


def _differing_usage(*, row: Row, tasks: Sequence[TaskEntry]) -> Iterable[tuple[str, object, object]]:
    for name, shown in row.usage.items():
        known = [value for task in tasks if isinstance(value := getattr(task, name, None), int | float)]
        mean = sum(known) / len(known) if known else None
        if mean is None or abs(mean - shown) > _SAME_USAGE:
            yield f"{name} per task", mean, shown
    if row.cost is not None:
        prompt, completion = row.usage.get("prompt_tokens", 0.0), row.usage.get("completion_tokens", 0.0)
        usd = (prompt * row.cost.prompt_price + completion * row.cost.completion_price) / _MILLION
        if abs(usd - row.cost.usd) > 1e-9 + 1e-9 * abs(usd):
            yield "the cost per task", usd, row.cost.usd
