"""What `status` and `results` print: tables of scores and of tasks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evaluator.client.shapes import Evaluation, Measured, SuiteInfo, TaskRow
from evaluator.core.commands.listing import Listing

Suites = Mapping[str, SuiteInfo]
"""The suites of a site by slug. A suite that is no longer current is absent."""


def states(evaluations: Sequence[Evaluation], *, suites: Suites) -> Listing:
    """One row for each evaluation, with the score that its board ranks by."""
    table = Listing("suite", "state", "tasks", "metric", "score", "95 % interval", title=heading(evaluations))
    for one in evaluations:
        key = ranking_key(one, suites=suites)
        found = (one.summary.metrics.get(key) if one.summary else None) or None
        score = ("", "", "") if found is None else (label_of(key, suite=suites.get(one.suite)), *in_words(found))
        table.add_row(one.suite, one.state, f"{one.done}/{one.tasks_total}", *score)
    return table


def heading(evaluations: Sequence[Evaluation]) -> str:
    """Planner and submission in one line."""
    name = evaluations[0].planner_name
    return f"{name + ', ' if name else ''}submission {evaluations[0].submission}"


def scores(evaluation: Evaluation, *, suites: Suites) -> Listing:
    """The metrics of one evaluation, the one that its board ranks by first."""
    title = f"{evaluation.planner_name or 'planner'} on {evaluation.suite}: {evaluation.state}"
    table = Listing("metric", "mean", "95 % interval", "tasks", title=title)
    found = evaluation.summary.metrics if evaluation.summary else {}
    for key in ordered(found, suite=suites.get(evaluation.suite)):
        label, measured = label_of(key, suite=suites.get(evaluation.suite)), found[key]
        if measured is None:
            table.add_row(label, "not measured", "", "0")
        else:
            table.add_row(label, *in_words(measured), str(measured.tasks))
    return table


def tasks(rows: Sequence[TaskRow]) -> Listing:
    """One row for each task, with its reason where it was not scored."""
    table = Listing("task", "outcome", "score", "reason", prose="reason")
    for row in rows:
        table.add_row(row.task, row.outcome, "" if row.score is None else f"{row.score:.4f}", row.reason_text)
    return table


def outcomes(rows: Sequence[TaskRow]) -> str:
    """How many tasks ended how: `4 tasks: 3 scored, 1 planner_fault`."""
    counts = Counter(row.outcome for row in rows)
    return f"{len(rows)} tasks: {', '.join(f'{count} {outcome}' for outcome, count in counts.most_common())}"


def ranking_key(evaluation: Evaluation, *, suites: Suites) -> str:
    """The metric that the board of an evaluation's suite ranks by; of an unknown suite its first metric."""
    suite = suites.get(evaluation.suite)
    found = list(suite.metrics if suite else ())
    primary = next((metric for metric in found if metric.get("primary")), found[0] if found else None)
    if primary is not None:
        return str(primary["key"])
    return next(iter(evaluation.summary.metrics), "") if evaluation.summary else ""


def ordered(keys: Iterable[str], *, suite: SuiteInfo | None) -> list[str]:
    """Metrics in the order that the suite declares, the one that its board ranks by first; unknown ones last."""
    declared = sorted(suite.metrics if suite else (), key=lambda metric: not metric.get("primary"))
    places = {str(metric["key"]): place for place, metric in enumerate(declared)}
    return sorted(keys, key=lambda key: places.get(key, len(places)))


def label_of(key: str, *, suite: SuiteInfo | None) -> str:
    """What boards call a metric, and whether a lower value is better."""
    metric = next((metric for metric in (suite.metrics if suite else ()) if metric["key"] == key), {})
    is_lower = metric.get("ordered", True) and not metric.get("higher_is_better", True)
    return f"{metric.get('label') or key}{' (lower is better)' if is_lower else ''}"


def in_words(measured: Measured) -> tuple[str, str]:
    """Mean and interval; the interval is empty over too few tasks or scenes."""
    known = measured.low is not None and measured.high is not None
    return f"{measured.mean:.4f}", f"{measured.low:.4f} to {measured.high:.4f}" if known else ""
