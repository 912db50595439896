"""Rows of a snapshot: as they were signed, and their figures recomputed from the results of all tasks. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluator import canonical_json
from evaluator.client.verify.documents import EvaluationProof, MalformedError, Row, SnapshotProof, shaped
from evaluator.client.verify.ranks import Runs, check_order
from evaluator.client.verify.report import Report
from evaluator.client.verify.trust import Trust
from evaluator.metrics.aggregate import TaskScore, summarise_columns
from evaluator.metrics.runs import metrics_of_runs
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
    check_order(rows=[row for row, _ in readable], suite=statement.suite, report=report)
    if len(report.findings) == before:
        report.ok("rows", f"{len(rows)} row{'' if len(rows) == 1 else 's'} as signed; ranks follow from the means")
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


def check_evaluation(
    *, row: Row, digests: RowDigests, proof: EvaluationProof, snapshot: SnapshotStatement, trust: Trust, report: Report
) -> bool:
    """Check an evaluation's results against what the snapshot names.

    Returns whether the results are the signed ones; only then do its records say anything.
    """
    where = f"evaluation {row.evaluation}"
    digest = tasks_digest(evaluation=row.evaluation, tasks=proof.tasks)
    if digest != digests.tasks:
        report.mismatch(
            "results", f"{where}: its results are not the signed ones", expected=digests.tasks, found=digest
        )
        return False
    _check_statement(proof=proof, evaluation=row.evaluation, snapshot=snapshot, trust=trust, report=report)
    return True


def check_run(
    *, evaluation: str, proof: EvaluationProof, snapshot: SnapshotStatement, trust: Trust, report: Report
) -> bool:
    """Check a further run that a row is the mean of: the snapshot names it, its own statement signs its results.

    Returns whether its results are the signed ones.
    """
    before = len(report.findings)
    _check_statement(proof=proof, evaluation=evaluation, snapshot=snapshot, trust=trust, report=report)
    return len(report.findings) == before


def _check_statement(
    *, proof: EvaluationProof, evaluation: str, snapshot: SnapshotStatement, trust: Trust, report: Report
) -> None:
    """The evaluation's own statement. Its key may be one from before the trusted ones: the snapshot names the same
    results."""
    where, digest = f"evaluation {evaluation}", tasks_digest(evaluation=evaluation, tasks=proof.tasks)
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


def check_figures(
    *, row: Row, runs: Runs, tasks: Sequence[TaskEntry], snapshot: SnapshotStatement, report: Report
) -> None:
    """Check a row's figures against the results of its evaluation and, where it is a mean, of its other runs.

    Args:
        row: as it was signed.
        runs: the results of each evaluation that its metrics are the means of.
        tasks: the results of the evaluation that it names.
        snapshot: the signed statement.
        report: the findings are added to it.
    """
    suite, samples = snapshot.suite, snapshot.conditions.samples
    columns = columns_of(suite)
    results = [score_of(task) for task in tasks]
    summary: Mapping[str, Any] = summarise_columns(columns=columns, results=results, samples=samples)
    computed: Mapping[str, Any] = summary["metrics"]
    if len(runs) > 1:
        computed = metrics_of_runs(columns=columns, runs=runs, samples=samples)
    for name, expected, found in (
        *_differing_metrics(row=row, computed=computed, ranked_by=suite.ranked_by),
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


def columns_of(suite: SuiteFacts) -> list[Column]:
    """The columns of the board, as far as its figures depend on them."""
    return [_column(facts) for facts in suite.columns]


def _column(facts: ColumnFacts) -> Column:
    return Column(
        key=facts.key, label=facts.key, description="", metric=facts.metric, indicator=facts.indicator,
        fault=facts.fault, interval=facts.interval, tasks=tuple(facts.tasks), weights=facts.weights,
        undecided=facts.undecided,
    )  # fmt: skip


def score_of(task: TaskEntry) -> TaskScore:
    """What a board needs of a signed result."""
    return TaskScore(
        task=task.task, metric=task.metric, outcome=Outcome(task.outcome), score=task.score, indicators=task.indicators,
        samples=tuple(task.samples), sample_indicators=task.sample_indicators,
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
