"""Rows of a snapshot: as they were signed, and their figures recomputed from the results of all tasks. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from evaluator.client.verify.documents import MalformedError, Row, shaped
from evaluator.client.verify.history import Withdrawn
from evaluator.client.verify.ranks import Runs, check_agreement, check_order
from evaluator.client.verify.report import Report
from evaluator.client.verify.trust import Trust
from evaluator.core import canonical_json
from evaluator.core.records import Outcome
from evaluator.core.signatures.documents import EvaluationProof, SnapshotProof
from evaluator.core.signatures.envelope import EnvelopeError, open_envelope
from evaluator.core.signatures.statements import (
    NAMES,
    STATISTICS,
    ColumnFacts,
    EvaluationStatement,
    FurtherRun,
    RowDigests,
    SnapshotStatement,
    SuiteFacts,
    TaskEntry,
    name_digest,
    result_digest,
    rows_digest,
    rows_that_left,
    tasks_digest,
)
from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.aggregate import TaskScore, metrics_of_runs, summarise_columns

_SAME_MEAN, _SAME_END, _SAME_USAGE = 1e-12, 1e-9, 1.1e-6
"""Relative, relative and absolute: processors add numbers in different orders, and usage is rounded to six digits."""
_MILLION = 1_000_000


def check_rows(
    *, proof: SnapshotProof, statement: SnapshotStatement, withdrawn: Withdrawn, report: Report
) -> list[tuple[Row, RowDigests]]:
    """Check the rows of a snapshot against its statement. Returns those that can be read, with what binds them."""
    before = len(report.findings)
    of = f"snapshot {statement.number}"
    served = proof.content.get("rows")
    rows = served if isinstance(served, list) else []
    bound = rows_digest(proof.rows)
    if (bound, len(proof.rows)) != (statement.rows.digest, statement.rows.count):
        text = f"{of}: the digests of the rows are not the signed ones"
        report.mismatch("rows", text, expected=statement.rows.digest, found=bound)
    if len(rows) != len(proof.rows):
        report.mismatch("rows", f"{of}: the number of rows is wrong", expected=len(proof.rows), found=len(rows))
    signed = {"coverage": statement.coverage, "summary": statement.summary.model_dump(mode="json")}
    if not _same(proof.content, {"rows": served, **signed}):
        text = f"{of}: the content has other fields than rows and the signed coverage and summary"
        others = {name: value for name, value in proof.content.items() if name != "rows"}
        report.mismatch("rows", text, expected=signed, found=others)
    if (content := canonical_json.digest(proof.content)) != proof.digest:
        text = f"{of}: the content digest of the snapshot is wrong"
        report.mismatch("rows", text, expected=content, found=proof.digest)
    if unknown := proof.salts.keys() - {one.evaluation for one in proof.rows}:
        text = f"{of}: there are salts of evaluations that have no row"
        report.mismatch("rows", text, expected="none", found=sorted(unknown))
    withheld = 0
    readable = []
    for position, (row, digests) in enumerate(zip(rows, proof.rows, strict=False), start=1):
        found = _row(row=row, digests=digests, where=f"{of}, row {position}", statement=statement, report=report)
        if found is None:
            continue
        readable.append((found, digests))
        withheld += _check_names(
            row=row, digests=digests, salts=proof.salts.get(digests.evaluation, {}), number=statement.number,
            withdrawn=withdrawn, report=report,
        )  # fmt: skip
    shown = Counter(evaluation for one, _ in readable for evaluation in {one.evaluation, *one.runs.evaluations})
    planners = Counter(f"{one.planner} by {one.owner}" for one, _ in readable)
    for what, counted in (("an evaluation", shown), ("a planner", planners)):
        if twice := [name for name, count in counted.items() if count > 1]:
            report.mismatch("rows", f"{of}: {what} is in several rows", expected="one row each", found=twice)
    check_order(rows=[one for one, _ in readable], suite=statement.suite, report=report)
    if len(report.findings) == before:
        many = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
        report.ok("rows", f"{of}: {many} as signed; ranks follow from the means")
    check_agreement(
        rows=[one for one, _ in readable], suite=statement.suite, summary=statement.summary, of=of, report=report
    )
    if withheld:
        report.note("rows", f"{of}: {withheld} names are withdrawn by signed statements, as those of deleted accounts")
    return readable


def _row(*, row: object, digests: RowDigests, where: str, statement: SnapshotStatement, report: Report) -> Row | None:
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
    if found.samples != statement.conditions.samples:
        text = f"{where} has another number of samples than the board"
        report.mismatch("rows", text, expected=statement.conditions.samples, found=found.samples)
    return found


def _check_names(
    *, row: Mapping[str, Any], digests: RowDigests, salts: Mapping[str, str], number: int, withdrawn: Withdrawn,
    report: Report,
) -> int:  # fmt: skip
    """Check each name in a row. Returns how many are withdrawn."""
    where = f"snapshot {number}, evaluation {digests.evaluation}"
    fields = {name for name in NAMES if name in row}
    if fields != digests.names.keys():
        text = f"{where}: it has other names than were signed"
        report.mismatch("rows", text, expected=sorted(digests.names), found=sorted(fields))
    if unknown := salts.keys() - digests.names.keys():
        report.mismatch("rows", f"{where}: there are salts of no name", expected="none", found=sorted(unknown))
    count = 0
    for field in NAMES:
        if field not in fields or field not in digests.names:
            continue
        placeholders = withdrawn.placeholders(evaluation=digests.evaluation, field=field, number=number)
        salt, signed = salts.get(field), digests.names[field]
        if salt is not None:
            found = name_digest(evaluation=digests.evaluation, field=field, name=row[field], salt=salt)
            if found != signed:
                report.mismatch("rows", f"{where}: the {field} was changed", expected=signed, found=found)
        elif not placeholders:
            text = f"{where}: the {field} cannot be checked, and no signed withdrawal says why"
            report.mismatch("rows", text, expected="a salt, or a withdrawal", found=row[field])
        elif row[field] not in placeholders:
            text = f"{where}: the {field} is withdrawn, and another one is shown"
            report.mismatch("rows", text, expected=" or ".join(sorted(placeholders)), found=row[field])
        else:
            count += 1
    return count


def check_steps(
    *, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], last: int, number: int,
    withdrawn: Withdrawn, report: Report,
) -> None:  # fmt: skip
    """Check which rows left a board from one snapshot to the next: replaced by a later run, or withdrawn.

    Args:
        before: rows of snapshot `last`.
        after: rows of snapshot `number`, the next one of the same board.
        last: see `before`.
        number: see `after`.
        withdrawn: the signed withdrawals of the suite.
        report: the findings are added to it.
    """
    left = rows_that_left(before=before, after=after)
    for evaluation in left:
        reason = withdrawn.reason_of(evaluation=evaluation, last=last)
        if reason is None:
            text = f"snapshot {number} has no row of evaluation {evaluation}, which snapshot {last} has"
            report.mismatch("rows", text, expected="its row, or a signed withdrawal", found="neither")
        else:
            report.note("rows", f"evaluation {evaluation} left the board after snapshot {last}: {reason}")
    if not left:
        report.ok(
            "rows",
            f"no row left the board from snapshot {last} to snapshot {number}, unless a later run took its place",
        )


def _same(one: object, other: object) -> bool:
    # 1, 1.0 and true are equal in Python, and other texts in JSON.
    return canonical_json.dumps(one) == canonical_json.dumps(other)


def check_evaluation(
    *, row: Row, digests: RowDigests, proof: EvaluationProof, snapshot: SnapshotStatement, trust: Trust, report: Report
) -> bool:
    """Check an evaluation's results against what the snapshot names. Of withheld ones, only the statement that binds
    them.

    Returns whether the results are the signed ones; only then do its records say anything.
    """
    where = f"evaluation {row.evaluation}"
    if proof.withheld and (proof.tasks or proof.records or proof.salt is not None):
        text = f"{where}: its results are shown, and said to be withheld"
        report.mismatch("results", text, expected="no results", found=f"{len(proof.tasks)} results")
        return False
    if proof.withheld:
        before, bound = len(report.findings), (snapshot.coverage.get("total"), digests.tasks)
        _check_statement(
            proof=proof, evaluation=row.evaluation, bound=bound, finished=row.finished, snapshot=snapshot, trust=trust,
            report=report,
        )  # fmt: skip
        return len(report.findings) == before
    digest = tasks_digest(evaluation=row.evaluation, tasks=proof.tasks)
    if digest != digests.tasks:
        report.mismatch(
            "results", f"{where}: its results are not the signed ones", expected=digests.tasks, found=digest
        )
        return False
    _check_statement(
        proof=proof, evaluation=row.evaluation, bound=(len(proof.tasks), digest), finished=row.finished,
        snapshot=snapshot, trust=trust, report=report,
    )  # fmt: skip
    ran = sum(Outcome(task.outcome) is not Outcome.NOT_RUN for task in proof.tasks)
    if (covered := {"run": ran, "total": len(proof.tasks)}) != snapshot.coverage:
        text = f"{where}: its tasks are not those of the board's coverage"
        report.mismatch("results", text, expected=snapshot.coverage, found=covered)
    return True


def check_run(
    *, evaluation: str, proof: EvaluationProof, snapshot: SnapshotStatement, trust: Trust, report: Report
) -> bool:
    """Check a further run that a row is the mean of: the snapshot names it, its own statement signs its results.

    Returns whether its results are the signed ones.
    """
    if proof.withheld:
        report.not_checked("results", f"evaluation {evaluation}: its results are withheld, though its row's are not")
        return False
    before = len(report.findings)
    bound = (len(proof.tasks), tasks_digest(evaluation=evaluation, tasks=proof.tasks))
    _check_statement(
        proof=proof, evaluation=evaluation, bound=bound, finished=None, snapshot=snapshot, trust=trust, report=report
    )
    return len(report.findings) == before


def _check_statement(
    *, proof: EvaluationProof, evaluation: str, bound: tuple[int | None, str | None], finished: datetime | None,
    snapshot: SnapshotStatement, trust: Trust, report: Report,
) -> None:  # fmt: skip
    """Check the evaluation's own statement. Its key may be one from before the trusted ones: the snapshot names the
    same results.

    Args:
        bound: number and digest of the results that it must sign.
        finished: when its row says that it ended; None if no row says so.
    """
    where = f"evaluation {evaluation}"
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
        ("evaluation", evaluation, proof.evaluation),
        ("key", proof.signature.key_id, statement.key),
        ("results", bound, (statement.tasks.count, statement.tasks.digest)),
        ("suite", snapshot.suite.slug, statement.suite.slug),
        ("suite", snapshot.suite.digest, statement.suite.digest),
        ("conditions", snapshot.conditions, statement.conditions),
    ):
        if expected != found:
            report.mismatch("results", f"the statement of {where} names another {name}", expected=expected, found=found)
    if finished is not None and statement.finished not in {None, finished}:
        text = f"{where}: the row gives another time of its end"
        report.mismatch("results", text, expected=statement.finished, found=finished)


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
    alike = row.asked is not None and row.asked.is_deterministic
    summary: Mapping[str, Any] = summarise_columns(
        columns=columns, results=results, samples=samples, is_deterministic=alike
    )  # fmt: skip
    computed: Mapping[str, Any] = summary["metrics"]
    if len(runs) > 1:
        computed = metrics_of_runs(columns=columns, runs=runs, samples=samples, is_deterministic=alike)
    has_ends = snapshot.version >= STATISTICS
    for name, expected, found in (
        *_differing_metrics(row=row, computed=computed, ranked_by=suite.ranked_by, has_ends=has_ends),
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
    _check_readable(row=row, outcomes=summary["outcomes"], report=report)


def _check_readable(*, row: Row, outcomes: Mapping[str, int], report: Report) -> None:
    """Check the share of readable replies as far as outcomes bound it: a scored task had a readable reply, and only a
    fault of the planner an unreadable one. `records.check_readable` compares it with records."""
    if row.readable is None:
        return
    scored, faults = outcomes.get(Outcome.SCORED, 0), outcomes.get(Outcome.PLANNER_FAULT, 0)
    if not scored <= row.readable.tasks <= scored + faults or not 0 <= row.readable.unreadable <= faults:
        report.mismatch(
            "results",
            f"evaluation {row.evaluation}: the share of readable replies contradicts its results",
            expected=f"{scored} to {scored + faults} replies, at most {faults} of them unreadable",
            found=f"{row.readable.tasks} replies, {row.readable.unreadable} of them unreadable",
        )


def columns_of(suite: SuiteFacts) -> list[Column]:
    """The columns of the board, as far as its figures depend on them."""
    return [_column(facts) for facts in suite.columns]


def _column(facts: ColumnFacts) -> Column:
    return Column(
        key=facts.key, label=facts.key, description="", metric=facts.metric, indicator=facts.indicator,
        fault=facts.fault, interval=facts.interval, tasks=tuple(facts.tasks), weights=facts.weights,
        undecided=facts.undecided, by_rules=tuple(facts.by_rules), low=facts.low, high=facts.high,
        decided_by=facts.decided_by,
    )  # fmt: skip


def score_of(task: TaskEntry) -> TaskScore:
    """What a board needs of a signed result."""
    runs: list[TaskEntry | FurtherRun] = [task, *task.further]
    first, *further = (
        TaskScore(
            task=task.task, metric=task.metric, outcome=Outcome(run.outcome), score=run.score,
            indicators=run.indicators, samples=tuple(run.samples), sample_indicators=run.sample_indicators,
        )
        for run in runs
    )  # fmt: skip
    return replace(first, further=tuple(further))


def _differing_metrics(
    *, row: Row, computed: Mapping[str, Any], ranked_by: str, has_ends: bool
) -> Iterable[tuple[str, object, object]]:
    """The figures that differ; the ends of intervals only if they are those of the present statistics."""
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
        for end, end_shown in (("low", shown.low), ("high", shown.high)) if has_ends else ():
            if not _same_end(found[end], end_shown):
                yield f"the interval of {key}", found[end], end_shown


def _same_end(computed: float | None, shown: float | None) -> bool:
    if computed is None or shown is None:
        return computed is shown
    return math.isclose(computed, shown, rel_tol=_SAME_END, abs_tol=_SAME_END)


def _usage_of(task: TaskEntry, name: str) -> float | None:
    """A figure of a task's usage; None if it has none. Prompts without cached tokens have 0."""
    if name == "cached_tokens" and task.prompt_tokens is not None:
        return task.cached_tokens or 0
    value = getattr(task, name, None)
    return value if isinstance(value, int | float) else None


def _differing_usage(*, row: Row, tasks: Sequence[TaskEntry]) -> Iterable[tuple[str, object, object]]:
    for name, shown in row.usage.items():
        known = [value for task in tasks if (value := _usage_of(task, name)) is not None]
        mean = sum(known) / len(known) if known else None
        if mean is None or abs(mean - shown) > _SAME_USAGE:
            yield f"{name} per task", mean, shown
    if row.cost is not None:
        prompt, completion = row.usage.get("prompt_tokens", 0.0), row.usage.get("completion_tokens", 0.0)
        cached = 0.0 if row.cost.cached_price is None else row.usage.get("cached_tokens", 0.0)
        usd = (prompt - cached) * row.cost.prompt_price + cached * (row.cost.cached_price or 0.0)
        usd = (usd + completion * row.cost.completion_price) / _MILLION
        if abs(usd - row.cost.usd) > 1e-9 + 1e-9 * abs(usd):
            yield "the cost per task", usd, row.cost.usd
