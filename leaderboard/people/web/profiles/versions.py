"""The versions of a planner on each suite, as its page shows them: values, paired changes, cost, reliability, causes.

Everything is computed from evaluations that the reader sees. Single tasks are named only where their results may be
read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.scoring.metrics.statistics import Interval
from leaderboard.boards.histories import History, Measured, Version, gold_runs, histories_of, measure
from leaderboard.boards.ranking import Prices, usd_per_task
from leaderboard.boards.task_values import TaskFact, facts_of_suites
from leaderboard.boards.versions import Change
from leaderboard.boards.web.presenters import dollars_in_words, seconds_in_words
from leaderboard.catalog.models import RELATED_CONDITIONS
from leaderboard.causes.counting import ExplainedRun, LostPoints, lost_points
from leaderboard.evaluations.models import Evaluation, EvaluationState, conditions_of_board
from leaderboard.evaluations.visibility import Reader, visible_evaluations, withholds_tasks
from leaderboard.evaluations.web.compare.services import differing_conditions
from leaderboard.evaluations.web.line_plot import LinePlot, Point, sequence_plot
from leaderboard.planners.models import Planner
from leaderboard.reliability.columns import DIMENSIONS, dimensions_of

MOST_EVALUATIONS = 300
"""The newest completed evaluations of a planner that are grouped into versions."""
MOST_VERSIONS = 12
"""Versions of a suite, the last ones."""
MOST_SUITES = 12
"""Histories of a page."""
MOST_TASKS = 12
"""Linked tasks of a change, for fixed and broken ones each."""
MOST_CAUSES = 3
UNNAMED = "unnamed version"
_RELATED = ("suite", "submission", RELATED_CONDITIONS, "reliability", "own_worker_run")


class ChangeShown(NamedTuple):
    """A version against the one before it."""

    words: str
    """As in `fixed 12 tasks, broke 3`."""
    fixed: tuple[str, ...]
    """Keys of the first fixed tasks; empty if single tasks are withheld."""
    fixed_more: int
    broken: tuple[str, ...]
    broken_more: int
    difference: str
    """As in `+0.040 (+0.010 to +0.071)`; empty without a common task."""
    verdict: str
    """`better`, `worse`, or empty if the interval contains 0 or is missing."""
    before: Evaluation
    """The latest run of the version before it."""


class VersionRow(NamedTuple):
    """One version."""

    number: int
    """From 1 for the first version; as on the axis of the plot."""
    name: str
    evaluation: Evaluation
    """Its latest run."""
    runs: int
    is_verified: bool
    """Whether it ran on this site's workers, or was verified by them."""
    value: Mapping[str, Any] | None
    change: ChangeShown | None
    seconds: str
    """Mean response time per task; empty if unknown."""
    tokens: str
    cost: str


class SuiteHistory(NamedTuple):
    """The versions of a planner on one board."""

    latest: Evaluation
    metric: str
    """Label of the primary metric."""
    rows: tuple[VersionRow, ...]
    """The newest first."""
    earlier: int
    """Number of versions before these."""
    plot: LinePlot | None
    """None with a single version."""
    rule: str
    """When a task counts as solved, as a sentence; empty without a change."""
    differs: str
    """Why these versions are not compared with those of the suite above; empty if there are none."""
    profiled: Evaluation | None
    """The newest evaluation with a measured reliability profile."""
    reliability: tuple[tuple[str, Mapping[str, Any]], ...]
    """Label and value of its dimensions."""
    causes: tuple[LostPoints, ...]
    """The costliest causes of the latest run."""

    @property
    def newest(self) -> VersionRow:
        return self.rows[0]

    @property
    def has(self) -> frozenset[str]:
        """The columns of usage with a value."""
        return frozenset(name for name in ("seconds", "tokens", "cost") if any(getattr(row, name) for row in self.rows))


def histories_shown(planner: Planner, *, reader: Reader) -> tuple[SuiteHistory, ...]:
    """The versions of a planner that the reader sees, by suite, in at most five queries."""
    completed = visible_evaluations(reader).filter(
        submission__planner=planner, state=EvaluationState.COMPLETED, hidden_at=None
    )
    related = completed.select_related(*_RELATED).defer("provenance").order_by("-finished", "-pk")
    evaluations = list(related[:MOST_EVALUATIONS])
    if not evaluations:
        return ()
    # `evaluations` are the newest first, and so are the boards by their last run.
    boards = list(dict.fromkeys((one.suite_id, conditions_of_board(one)) for one in evaluations))[:MOST_SUITES]
    histories = [history for history in histories_of(evaluations) if history.board in boards]
    gold = gold_runs(histories)
    measured = measure(histories, gold=gold, most=MOST_VERSIONS)
    facts = facts_of_suites(history.suite for history in histories)
    explained = [
        ExplainedRun(
            evaluation=history.versions[-1].latest.pk,
            gold=gold.get(history.board),
            suite=history.suite,
            samples=history.conditions.samples,
            tasks=[(fact.pk, fact.key, fact.metric) for fact in facts[history.suite.pk]],
        )
        for history in histories
    ]
    causes = lost_points(explained)
    shown: list[SuiteHistory] = []
    for number, (history, of) in enumerate(zip(histories, measured, strict=True)):
        above = next((one.latest for one in shown if one.latest.suite.slug == history.suite.slug), None)
        latest = history.versions[-1].latest
        shown.append(
            _shown(
                history,
                planner=planner,
                reader=reader,
                number=number,
                measured=of,
                facts=facts[history.suite.pk],
                above=above,
                causes=causes[latest.pk],
            )
        )
    return tuple(shown)


def _shown(
    history: History,
    *,
    planner: Planner,
    reader: Reader,
    number: int,
    measured: Sequence[Measured],
    facts: Sequence[TaskFact],
    above: Evaluation | None,
    causes: tuple[LostPoints, ...],
) -> SuiteHistory:
    latest, column = history.versions[-1].latest, history.suite.ranking_column
    earlier = len(history.versions) - len(measured)
    keys = () if withholds_tasks(reader=reader, of=latest) else tuple(fact.key for fact in facts)
    rows = [
        _row(
            version,
            number=place + 1,
            planner=planner,
            measured=measured[place - earlier],
            before=history.versions[place - 1] if place else None,
            keys=keys,
        )
        for place, version in enumerate(history.versions)
        if place >= earlier
    ]
    profiled, reliability = _reliability(history)
    rules = [one.change.rule for one in measured if one.change is not None]
    differs = ""
    if above is not None:
        differs = " ".join(differing_conditions([above, latest], names=("above", "here")))
    return SuiteHistory(
        latest=latest,
        metric=column.label,
        rows=tuple(reversed(rows)),
        earlier=earlier,
        plot=_plot(rows, history=history, key=f"plot-{number}") if len(rows) > 1 else None,
        rule=rules[-1] if rules else "",
        differs=differs,
        profiled=profiled,
        reliability=reliability,
        causes=causes[:MOST_CAUSES],
    )


def _row(
    version: Version,
    *,
    number: int,
    planner: Planner,
    measured: Measured,
    before: Version | None,
    keys: Sequence[str],
) -> VersionRow:
    latest = version.latest
    usage = {name: mean["mean"] for name, mean in ((latest.summary or {}).get("usage") or {}).items()}
    prices = Prices.of(prompt=planner.prompt_price, completion=planner.completion_price, cached=planner.cached_price)
    usd = None if prices is None else usd_per_task(usage=usage, prices=prices)
    tokens = usage.get("prompt_tokens", 0.0) + usage.get("completion_tokens", 0.0)
    own = getattr(latest, "own_worker_run", None)
    return VersionRow(
        number=number,
        name=version.name or UNNAMED,
        evaluation=latest,
        runs=len(version.runs),
        is_verified=own is None or own.verified_by_id is not None,
        value=measured.value,
        change=_change(measured.change, before=before, keys=keys),
        seconds=seconds_in_words(usage.get("seconds")),
        tokens=f"{tokens:,.0f}" if usage.keys() >= {"prompt_tokens", "completion_tokens"} else "",
        cost=dollars_in_words(usd),
    )


def _change(change: Change | None, *, before: Version | None, keys: Sequence[str]) -> ChangeShown | None:
    if change is None or before is None:
        return None
    fixed, broken = change.tasks.fixed, change.tasks.broken
    verdict = {True: "better", False: "worse", None: ""}[change.is_better]
    return ChangeShown(
        words=change.tasks.in_words,
        fixed=tuple(keys[task] for task in fixed[:MOST_TASKS] if keys),
        fixed_more=max(0, len(fixed) - MOST_TASKS) if keys else 0,
        broken=tuple(keys[task] for task in broken[:MOST_TASKS] if keys),
        broken_more=max(0, len(broken) - MOST_TASKS) if keys else 0,
        difference=_signed_words(change.difference) if change.difference else "",
        verdict=verdict,
        before=before.latest,
    )


def _signed_words(difference: Interval) -> str:
    ends = difference.ends
    words = _signed(difference.mean)
    return words if ends is None else f"{words} ({_signed(ends[0])} to {_signed(ends[1])})"


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if text in {"+0.000", "-0.000"} else text.replace("-", "\N{MINUS SIGN}")


def _plot(rows: Sequence[VersionRow], *, history: History, key: str) -> LinePlot:
    column = history.suite.ranking_column
    points = [
        Point(
            mean=row.value["mean"],
            low=row.value.get("low"),
            high=row.value.get("high"),
            words=f"{row.number}: {row.name}, {column.label} {row.value['mean']:.3f}",
        )
        if row.value
        else None
        for row in rows
    ]
    return sequence_plot(
        key=key,
        title=f"{column.label} by version on {history.suite.title}",
        description=f"{column.label} of each version with its 95 % interval, the last version on the right.",
        labels=("Version, by its number in the table", column.label),
        points=points,
        scale=column.bounds,
        first=rows[0].number,
    )


def _reliability(history: History) -> tuple[Evaluation | None, tuple[tuple[str, Mapping[str, Any]], ...]]:
    for version in reversed(history.versions):
        for run in version.runs:
            profile = getattr(run, "reliability", None)
            dimensions = dimensions_of((profile.figures or {}).get("dimensions")) if profile is not None else {}
            if dimensions:
                labels = {name: label for name, (label, _) in DIMENSIONS.items()}
                return run, tuple((labels[name], value) for name, value in dimensions.items())
    return None, ()
