"""Context of the comparison page: verdicts in words, formatted numbers, bars with coordinates, and filters of tasks."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from evaluator.core.suites.base import Column, companions
from evaluator.core.suites.hidden import LEAST_SHOWN
from evaluator.scoring.metrics.statistics import NEEDED, TOO_FEW
from evaluator.scoring.task_comparison import NOBODY, MetricDifference, Pair, TaskDifference, task_differences
from leaderboard.catalog.hidden_data import when_public
from leaderboard.evaluations.causes import WHY, ordered, place_of_cause, words_of_cause
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.figures import figure, score
from leaderboard.evaluations.results.filters import Facet, Filter, chosen_of, index, select
from leaderboard.evaluations.results.task_rows import place_of, words_of
from leaderboard.evaluations.visibility import Reader, withheld_from, withholds_tasks
from leaderboard.evaluations.web.compare.comparing import GroupRow, by_group
from leaderboard.evaluations.web.compare.forms import BothForms
from leaderboard.evaluations.web.compare.services import LETTERS, Comparison

LEVEL = 0.05
"""Significance level: for larger p-values, a caution says that the difference may be due to chance."""
LONGEST_NAME = 40
"""Maximum length of a planner's name within a sentence."""
_OUTCOMES = {
    "infra_fault": "infrastructure fault",
    "cancelled": "cancelled",
    "pending": "no result",
    "not_run": "not run",
}
_MINUS = "\N{MINUS SIGN}"


class Verdict(NamedTuple):
    """One comparison in words."""

    better: str
    """Letter of the better evaluation; empty without one."""
    sentence: str
    caution: str


def verdicts(*, evaluations: Sequence[Evaluation], comparison: Comparison, metric: Column) -> tuple[Verdict, ...]:
    """One sentence for each evaluation after the first."""
    # Long names are cut; the table below has the whole name.
    names = [
        f"{letter} ({Truncator(evaluation.submission.planner.name).chars(LONGEST_NAME)})"
        for letter, evaluation in zip(LETTERS, evaluations, strict=False)
    ]
    return tuple(
        _verdict(
            difference=pair.of(metric.key), metric=metric, names=(names[0], names[number]),
            letters=(LETTERS[0], LETTERS[number]), tests=len(comparison.pairs),
        )
        for number, pair in enumerate(comparison.pairs, start=1)
    )  # fmt: skip


def p_text(value: float | None) -> str:
    """A p-value with its significant digits; an upper bound for very small values; a dash without a test."""
    if value is None:
        return "—"
    if value < 0.0001:
        return "< 0.0001"
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def signed(value: float) -> str:
    """Three decimals with a sign; no sign if it rounds to zero."""
    text = f"{value:+.3f}".replace("-", _MINUS)
    return "0.000" if text in {"+0.000", f"{_MINUS}0.000"} else text


def difference_text(difference: MetricDifference) -> str:
    """A difference with its sign; a range if it depends on undecided tasks."""
    least, most = signed(difference.least), signed(difference.most)
    return signed(difference.difference.mean) if least == most else f"{least} to {most}"


def _verdict(
    *, difference: MetricDifference | None, metric: Column, names: tuple[str, str], letters: tuple[str, str], tests: int
) -> Verdict:
    first, other = names
    if difference is None:
        sentence = f"{first} and {other} have no task in common with a value of {metric.label}: nothing is compared."
        return Verdict(better="", sentence=sentence, caution="")
    # The difference nearest to 0 of all ways to settle undecided tasks.
    mean = difference.least if difference.least > 0 else difference.most if difference.most < 0 else 0.0
    count, ends = difference.difference.count, difference.difference.ends
    over = f"over {count:,} task{'' if count == 1 else 's'}"
    if difference.undecided and round(abs(mean), 12) == 0:
        span = f", 95 % interval {_plain(ends[0])} to {_plain(ends[1])}" if ends else ""
        sentence = (
            f"Undecided tasks leave open whether {first} or {other} scores higher in {metric.label}: by "
            f"{difference_text(difference)}{span}, {over}."
        )
        return Verdict(better="", sentence=sentence, caution="")
    if round(abs(mean), 12) == 0:
        same = "the same on every task" if difference.ties == count else "the same on average"
        sentence = f"{first} and {other} score {same} in {metric.label}, p = {p_text(difference.adjusted)}, {over}."
        return Verdict(better="", sentence=sentence.replace("= <", "<"), caution="")
    ahead, letter = (other, letters[1]) if mean > 0 else (first, letters[0])
    behind = first if mean > 0 else other
    if ends is not None and mean <= 0:
        ends = -ends[1], -ends[0]
    span = f"{_plain(ends[0])} to {_plain(ends[1])}" if ends else f"no interval over fewer than {NEEDED}"
    holm = f" (Holm, {tests} tests)" if tests > 1 else ""
    tested = difference.adjusted is not None
    p_value = f"p = {p_text(difference.adjusted)}{holm}".replace("= <", "<") if tested else "no test"
    least = "at least " if difference.least != difference.most else ""
    amount = f"{least}{abs(mean):.3f}"
    sentence = f"{ahead} scores higher than {behind} in {metric.label} by {amount} ({span}), {p_value}, {over}."
    if not metric.ordered:
        sentence = sentence.replace("scores higher", "is larger", 1)
    elif not metric.higher_is_better:
        sentence += " Lower is better in this metric."
        letter = letters[0] if letter == letters[1] else letters[1]
    caution = f"Fewer than {NEEDED}, too few to test the difference."
    if difference.adjusted is not None:
        caution = "" if difference.adjusted < LEVEL else "A difference of this size may be due to chance."
    return Verdict(better=letter if metric.ordered and not caution else "", sentence=sentence, caution=caution)


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-", _MINUS)


def left_out_in_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    sentences = []
    for number, pair in enumerate(pairs, start=1):
        if pair.left_out:
            outcomes = ", ".join(f"{count:,} {_OUTCOMES[outcome]}" for outcome, count in pair.left_out.items())
            total = sum(pair.left_out.values())
            tasks = "1 task is" if total == 1 else f"{total:,} tasks are"
            sentences.append(f"{LETTERS[number]} against {LETTERS[0]}: {tasks} left out ({outcomes}).")
    return tuple(sentences)


class Filtered(NamedTuple):
    """The selected tasks, in order."""

    tasks: tuple[TaskDifference, ...]
    filters: tuple[Filter, ...]
    is_filtered: bool


def filtered(
    *, tasks: Sequence[TaskDifference], comparison: Comparison, metric: Column, parameters: Mapping[str, str]
) -> Filtered:
    """Apply the filters of a query string."""

    def winner(task: TaskDifference) -> tuple[str]:
        if task.winner != NOBODY:
            return (LETTERS[int(task.winner)],)
        return ("several" if task.spread else "equal",)

    def values(name: str) -> Callable[[TaskDifference], tuple[str, ...]]:
        return lambda task: comparison.tasks[task.index].facets.get(name, ())

    def causes(task: TaskDifference) -> tuple[str, ...]:
        return ordered(code for causes in comparison.causes for code in causes[task.index] or ())

    words = _winners(evaluations=len(comparison.scores), metric=metric)
    facets: list[Facet[TaskDifference]] = [
        Facet("winner", "Best", winner, lambda value: words.get(value, value), known=tuple(words)),
        *(
            Facet(facet.name, facet.label, values(facet.name), words_of(facet), sort_key=place_of(facet))
            for facet in comparison.facets
        ),
        Facet("why", WHY, causes, words_of_cause, sort_key=place_of_cause),
    ]
    # Indexed in the suite's order, which is that of the values.
    indexed = index(rows=sorted(tasks, key=lambda task: task.index), facets=facets)
    chosen = chosen_of(parameters=parameters, facets=facets)
    selection = select(indexed=indexed, chosen=chosen)
    selected = {task.index for task in selection.rows}
    return Filtered(tuple(task for task in tasks if task.index in selected), selection.filters, bool(chosen))


def _winners(*, evaluations: int, metric: Column) -> dict[str, str]:
    """The values of the filter `winner`, in words."""
    if not metric.ordered:
        return {"several": "They differ", "equal": "Equal"}
    if evaluations == 2:
        return {**{letter: f"{letter} is better" for letter in LETTERS[:2]}, "equal": "Equal"}
    single = {letter: f"{letter} alone" for letter in LETTERS[:evaluations]}
    return {**single, "several": "Several share it", "equal": "All equal"}


TASKS_PER_PAGE = 25
WIDTH = 120
"""Width of a bar in its own units; the middle marks zero difference."""


class Compared(NamedTuple):
    """One of the evaluations."""

    letter: str
    evaluation: Evaluation
    notes: tuple[str, ...]
    """Caveats about its figures."""
    others: tuple[str, ...]
    """Ids for the link that removes this evaluation."""
    first_then_others: tuple[str, ...]
    """Ids for the link that compares all others with this one."""


class Bar(NamedTuple):
    """A difference with its interval on a scale around 0."""

    left: str
    width: str
    mean: str


class DifferenceCell(NamedTuple):
    """One metric of one evaluation against the first."""

    mean: str
    difference: str
    low: str
    high: str
    no_interval: str
    """Why there is no interval; `low` and `high` are empty then."""
    p_value: str
    tasks: int
    counts: str
    """Wins, losses, ties and undecided tasks in words; empty for sizes."""
    bar: Bar
    tone: str
    """`better`, `worse`, or empty unless interval and test agree that there is a difference."""


class MetricRow(NamedTuple):
    """One metric."""

    key: str
    label: str
    direction: str
    is_primary: bool
    is_chosen: bool
    first_mean: str
    cells: tuple[DifferenceCell | None, ...]


class GroupCell(NamedTuple):
    """One evaluation in one group."""

    tasks: int
    difference: str
    wins: int
    losses: int
    ties: int
    parts: tuple[tuple[str, str, str], ...]
    """(`win`, `tie` or `loss`, x, width) of the bar."""


class ShownGroup(NamedTuple):
    """One group of tasks."""

    value: str
    words: str
    cells: tuple[GroupCell, ...]


class GroupTable(NamedTuple):
    """All groups of a facet."""

    facet: str
    label: str
    rows: tuple[ShownGroup, ...]


class TaskCell(NamedTuple):
    """One evaluation on one task."""

    letter: str
    evaluation: str
    value: str
    outcome: str
    plan: str
    is_best: bool


class ShownTask(NamedTuple):
    """One task."""

    key: str
    text: str
    spread: str
    cells: tuple[TaskCell, ...]


class FormRow(NamedTuple):
    """One planner with whole plans and step by step."""

    whole: Evaluation
    steps: Evaluation
    whole_mean: str
    cell: DifferenceCell | None
    """Step by step against whole plans; None if no task has a score in both."""
    notes: tuple[str, ...]


class ComparisonPage(NamedTuple):
    """Context of the page."""

    compared: tuple[Compared, ...]
    verdicts: tuple[Verdict, ...]
    metrics: tuple[MetricRow, ...]
    metric: Column
    left_out: tuple[str, ...]
    """One sentence per pair with omitted tasks."""
    groups: tuple[GroupTable, ...]
    filters: tuple[Filter, ...]
    is_filtered: bool
    page: "Page[TaskDifference]"
    tasks: tuple[ShownTask, ...]
    differing: int
    comparable: int
    tasks_withheld: str
    """Why no tasks are listed, as a sentence; empty if they are."""


def comparison_page(
    *, evaluations: Sequence[Evaluation], comparison: Comparison, parameters: Mapping[str, str], reader: Reader
) -> ComparisonPage:
    """Assemble the page. The parameter `metric` selects the metric of groups and tasks; unknown values are ignored.

    Gold plans are left empty for readers who may not see them.
    """
    metric = chosen_metric(comparison=comparison, key=parameters.get("metric", ""))
    every = task_differences(metric=metric, scores=comparison.scores)
    withheld = any(withholds_tasks(reader=reader, of=evaluation) for evaluation in evaluations)
    selection = filtered(
        tasks=[] if withheld else every, comparison=comparison, metric=metric, parameters={} if withheld else parameters
    )
    page = Paginator(selection.tasks, TASKS_PER_PAGE).get_page(parameters.get("page"))
    return ComparisonPage(
        compared=_compared(evaluations),
        verdicts=verdicts(evaluations=evaluations, comparison=comparison, metric=metric),
        metrics=_metric_rows(comparison=comparison, chosen=metric),
        metric=metric,
        left_out=left_out_in_words(comparison.pairs),
        groups=_groups(comparison=comparison, metric=metric, least=LEAST_SHOWN if withheld else 1),
        filters=selection.filters,
        is_filtered=selection.is_filtered,
        page=page,
        tasks=_tasks(evaluations=evaluations, comparison=comparison, tasks=list(page), reader=reader),
        differing=sum(task.spread > 0 for task in every),
        comparable=len(every),
        tasks_withheld=when_public(evaluations[0]) if withheld else "",
    )


def form_rows(planners: Sequence[BothForms]) -> tuple[FormRow, ...]:
    """Rows of planners that were evaluated in both forms, with bars of one scale."""
    scale = max([0.01, *(_reach(planner.difference) for planner in planners if planner.difference)])
    return tuple(
        FormRow(
            whole=whole,
            steps=steps,
            whole_mean=_mean(difference.first_mean, undecided=0.0) if difference else "—",
            cell=_difference_cell(difference, undecided=None, scale=scale) if difference else None,
            notes=(*_notes(whole), *_notes(steps)),
        )
        for whole, steps, difference in planners
    )


def _reach(difference: MetricDifference) -> float:
    """How far the bar of a difference extends from 0."""
    low, high = difference.difference.ends or (0.0, 0.0)
    return max(abs(difference.difference.mean), abs(low), abs(high))


def chosen_metric(*, comparison: Comparison, key: str) -> Column:
    """The metric with this key, or else the metric that the board ranks by."""
    chosen = next((metric for metric in comparison.metrics if metric.key == key), None)
    return chosen or next(metric for metric in comparison.metrics if metric.primary)


def _compared(evaluations: Sequence[Evaluation]) -> tuple[Compared, ...]:
    ids = [str(evaluation.pk) for evaluation in evaluations]
    rows = []
    for letter, evaluation, own in zip(LETTERS, evaluations, ids, strict=False):
        others = tuple(pk for pk in ids if pk != own)
        rows.append(Compared(letter, evaluation, _notes(evaluation), others, (own, *others)))
    return tuple(rows)


def _notes(evaluation: Evaluation) -> tuple[str, ...]:
    notes = []
    if evaluation.state != EvaluationState.COMPLETED:
        label = evaluation.get_state_display().lower()
        notes.append(f"Not completed ({label}): only the tasks that have a score are compared.")
    if hasattr(evaluation, "own_worker_run") and evaluation.own_worker_run.verified_by_id is None:
        notes.append("Measured on the owner's self-hosted worker and not verified by this site.")
    return tuple(notes)


def _metric_rows(*, comparison: Comparison, chosen: Column) -> tuple[MetricRow, ...]:
    # One scale for all metrics with a better value, and one for the sizes of plans.
    scales = {True: 0.01, False: 0.01}
    for pair in comparison.pairs:
        for difference in pair.differences:
            scales[difference.metric.ordered] = max(scales[difference.metric.ordered], _reach(difference))
    parts = companions(comparison.metrics)
    rows = []
    for metric in comparison.metrics:
        if metric.key in parts:
            continue
        differences = [pair.of(metric.key) for pair in comparison.pairs]
        if not any(differences):
            continue
        undecided = [pair.of(metric.undecided) if metric.undecided else None for pair in comparison.pairs]
        first_means = {
            _mean(difference.first_mean, undecided=share.first_mean if share else 0.0)
            for difference, share in zip(differences, undecided, strict=True)
            if difference is not None
        }
        rows.append(
            MetricRow(
                key=metric.key,
                label=metric.label,
                direction="" if not metric.ordered else "higher" if metric.higher_is_better else "lower",
                is_primary=metric.primary,
                is_chosen=metric.key == chosen.key,
                # The pairs may have different tasks in common.
                first_mean=first_means.pop() if len(first_means) == 1 else "varies",
                cells=tuple(
                    difference and _difference_cell(difference, undecided=share, scale=scales[metric.ordered])
                    for difference, share in zip(differences, undecided, strict=True)
                ),
            )
        )
    return tuple(rows)


def _mean(mean: float, *, undecided: float) -> str:
    """A mean; a range if a share of the tasks is undecided."""
    return figure({"mean": mean, **({"upper": mean + undecided} if undecided > 0 else {})})


def _difference_cell(
    difference: MetricDifference, *, undecided: MetricDifference | None, scale: float
) -> DifferenceCell:
    interval, adjusted, ordered = difference.difference, difference.adjusted, difference.metric.ordered
    ends = interval.ends
    left, right = (_place(end, scale) for end in (ends or (interval.mean, interval.mean)))
    is_significant = adjusted is not None and adjusted < LEVEL and (ends is None or ends[0] > 0 or ends[1] < 0)
    better = (interval.mean > 0) == difference.metric.higher_is_better
    width = max(right - left, 1) if ends else 0
    counts = f"{difference.wins} better, {difference.losses} worse, {difference.ties} equal"
    if difference.undecided:
        counts += f", {difference.undecided} undecided"
    return DifferenceCell(
        mean=_mean(difference.other_mean, undecided=undecided.other_mean if undecided else 0.0),
        difference=difference_text(difference),
        low="" if ends is None else signed(ends[0]),
        high="" if ends is None else signed(ends[1]),
        no_interval=TOO_FEW if ends is None else "",
        p_value=p_text(adjusted),
        tasks=interval.count,
        counts=counts if ordered else "",
        bar=Bar(left=f"{left:.1f}", width=f"{width:.1f}", mean=f"{_place(interval.mean, scale):.1f}"),
        tone=("better" if better else "worse") if is_significant and ordered else "",
    )


def _place(value: float, scale: float) -> float:
    return WIDTH / 2 * (1 + min(max(value / scale, -1.0), 1.0))


def _groups(*, comparison: Comparison, metric: Column, least: int) -> tuple[GroupTable, ...]:
    if not metric.ordered:
        return ()
    tables = []
    for facet in comparison.facets:
        rows = by_group(facet=facet.name, tasks=comparison.tasks, metric=metric, scores=comparison.scores)
        rows = tuple(row for row in rows if min(count.tasks for count in row.counts) >= least)
        if len(rows) > 1:
            if (place := place_of(facet)) is not None:
                rows = tuple(sorted(rows, key=lambda row: place(row.value)))
            shown = tuple(_shown_group(row=row, words=words_of(facet)(row.value)) for row in rows)
            tables.append(GroupTable(facet=facet.name, label=facet.label, rows=shown))
    return tuple(tables)


def _shown_group(*, row: GroupRow, words: str) -> ShownGroup:
    cells = []
    for count in row.counts:
        x = 0.0
        parts = []
        for name, number in (("win", count.wins), ("tie", count.ties), ("loss", count.losses)):
            if number:
                width = WIDTH * number / max(count.tasks, 1)
                parts.append((name, f"{x:.2f}", f"{width:.2f}"))
                x += width
        difference = "—" if count.difference is None else signed(count.difference)
        cells.append(GroupCell(count.tasks, difference, count.wins, count.losses, count.ties, tuple(parts)))
    return ShownGroup(value=row.value, words=words, cells=tuple(cells))


def _tasks(
    *, evaluations: Sequence[Evaluation], comparison: Comparison, tasks: Sequence[TaskDifference], reader: Reader
) -> tuple[ShownTask, ...]:
    """Texts and plans of the tasks of one page: one query."""
    pks = [comparison.tasks[task.index].pk for task in tasks]
    with_plans = [each for each in evaluations if not withheld_from(reader=reader, evaluation=each).plan]
    results = TaskResult.objects.filter(evaluation__in=with_plans, task__in=pks)
    plans = {
        (evaluation, task): summary
        for evaluation, task, summary in results.values_list("evaluation_id", "task_id", "plan_summary")
    }
    return tuple(
        ShownTask(
            key=comparison.tasks[task.index].key,
            text=comparison.tasks[task.index].text,
            spread=f"{task.spread:.3f}" if task.spread else "equal",
            cells=tuple(
                TaskCell(
                    letter=letter,
                    evaluation=str(evaluation.pk),
                    value=score(value),
                    outcome=scores.outcomes[task.index],
                    plan=plans.get((evaluation.pk, comparison.tasks[task.index].pk), ""),
                    is_best=task.winner == str(number),
                )
                for number, (letter, evaluation, value, scores) in enumerate(
                    zip(LETTERS, evaluations, task.values, comparison.scores, strict=False)
                )
            ),
        )
        for task in tasks
    )
