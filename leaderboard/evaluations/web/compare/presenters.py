"""What the comparison page shows, ready for its template: sentences on who is better and how sure that is, numbers as
texts, bars with their coordinates, and the filters of its tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from evaluator.core.suites.base import Column, companions
from evaluator.scoring.metrics.statistics import LEAST_VALUES, NEEDED, TOO_FEW
from leaderboard.evaluations.causes import WHY, ordered, place_of_cause, words_of_cause
from leaderboard.evaluations.gold import when_tasks_are_shown, withheld_from, withholds_tasks
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.figures import figure, score
from leaderboard.evaluations.results.filters import Facet, Filter, chosen_of, index, select
from leaderboard.evaluations.results.task_rows import place_of, words_of
from leaderboard.evaluations.visibility import Reader
from leaderboard.evaluations.web.compare.comparing import (
    NOBODY,
    GroupRow,
    MetricDifference,
    Pair,
    TaskDifference,
    by_group,
    task_differences,
)
from leaderboard.evaluations.web.compare.forms import BothForms
from leaderboard.evaluations.web.compare.services import LETTERS, Comparison

LEVEL = 0.05
"""Significance level: with a larger p-value, the sentence calls the difference chance."""
LONGEST_NAME = 40
"""Characters of a planner's name within a sentence."""
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
    """Letter of the better one; nothing where neither is."""
    sentence: str
    caution: str


def verdicts(*, evaluations: Sequence[Evaluation], comparison: Comparison, metric: Column) -> tuple[Verdict, ...]:
    """One sentence for each evaluation after the first."""
    # Letter and name, cut if it is long: the table below has the whole name.
    names = [
        f"{letter} ({Truncator(evaluation.submission.planner.name).chars(LONGEST_NAME)})"
        for letter, evaluation in zip(LETTERS, evaluations, strict=False)
    ]
    found = []
    for number, pair in enumerate(comparison.pairs, start=1):
        verdict = _verdict(
            found=pair.of(metric.key), metric=metric, names=(names[0], names[number]),
            letters=(LETTERS[0], LETTERS[number]), tests=len(comparison.pairs),
        )  # fmt: skip
        found.append(verdict)
    return tuple(found)


def p_text(value: float | None) -> str:
    """A p-value with its significant digits; a bound for very small ones; a dash where there was no test."""
    if value is None:
        return "—"
    if value < 0.0001:
        return "< 0.0001"
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def signed(value: float) -> str:
    """Three decimals with a sign; no sign for what rounds to zero."""
    text = f"{value:+.3f}".replace("-", _MINUS)
    return "0.000" if text in {"+0.000", f"{_MINUS}0.000"} else text


def difference_text(found: MetricDifference) -> str:
    """A difference with its sign; a range where undecided tasks leave it open."""
    least, most = signed(found.least), signed(found.most)
    return signed(found.difference.mean) if least == most else f"{least} to {most}"


def _verdict(
    *, found: MetricDifference | None, metric: Column, names: tuple[str, str], letters: tuple[str, str], tests: int
) -> Verdict:
    first, other = names
    if found is None:
        sentence = f"{first} and {other} have no task in common with a value of {metric.label}: nothing is compared."
        return Verdict(better="", sentence=sentence, caution="")
    # Of all ways to settle undecided tasks, the difference nearest to 0.
    mean = found.least if found.least > 0 else found.most if found.most < 0 else 0.0
    count, ends = found.difference.count, found.difference.ends
    over = f"over {count:,} task{'' if count == 1 else 's'}"
    if found.undecided and round(abs(mean), 12) == 0:
        span = f", 95 % interval {_plain(ends[0])} to {_plain(ends[1])}" if ends else ""
        sentence = (
            f"Undecided tasks leave open whether {first} or {other} scores higher in {metric.label}: by "
            f"{difference_text(found)}{span}, {over}."
        )
        return Verdict(better="", sentence=sentence, caution="")
    if round(abs(mean), 12) == 0:
        equal = found.ties == count
        same = "the same on every task" if equal else "the same on average"
        sentence = f"{first} and {other} score {same} in {metric.label}, p = {p_text(found.adjusted)}, {over}."
        return Verdict(better="", sentence=sentence.replace("= <", "<"), caution="")
    ahead, letter = (other, letters[1]) if mean > 0 else (first, letters[0])
    behind = first if mean > 0 else other
    if ends is not None and mean <= 0:
        ends = -ends[1], -ends[0]
    span = f"{_plain(ends[0])} to {_plain(ends[1])}" if ends else f"no interval over fewer than {NEEDED}"
    adjusted = f" (Holm, {tests} tests)" if tests > 1 else ""
    p_value = f"p = {p_text(found.adjusted)}{adjusted}".replace("= <", "<") if found.adjusted is not None else "no test"
    # However they are settled.
    least = "at least " if found.least != found.most else ""
    amount = f"{least}{abs(mean):.3f}"
    sentence = f"{ahead} scores higher than {behind} in {metric.label} by {amount} ({span}), {p_value}, {over}."
    if not metric.ordered:
        sentence = sentence.replace("scores higher", "is larger", 1)
    elif not metric.higher_is_better:
        sentence += " Lower is better in this metric."
        letter = letters[0] if letter == letters[1] else letters[1]
    caution = f"Fewer than {NEEDED}, too few to test the difference."
    if found.adjusted is not None:
        caution = "" if found.adjusted < LEVEL else "A difference of this size may be due to chance."
    return Verdict(better=letter if metric.ordered and not caution else "", sentence=sentence, caution=caution)


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-", _MINUS)


def left_out_in_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    sentences = []
    for number, pair in enumerate(pairs, start=1):
        if pair.left_out:
            told = ", ".join(f"{count:,} {_OUTCOMES[outcome]}" for outcome, count in pair.left_out.items())
            total = sum(pair.left_out.values())
            tasks = "1 task is" if total == 1 else f"{total:,} tasks are"
            sentences.append(f"{LETTERS[number]} against {LETTERS[0]}: {tasks} left out ({told}).")
    return tuple(sentences)


class Filtered(NamedTuple):
    """The tasks that filters leave, in their order."""

    tasks: tuple[TaskDifference, ...]
    filters: tuple[Filter, ...]
    is_filtered: bool


def filtered(
    *, tasks: Sequence[TaskDifference], comparison: Comparison, metric: Column, parameters: Mapping[str, str]
) -> Filtered:
    """Apply the filters that a query string asks for."""
    words = _winners(evaluations=len(comparison.scores), metric=metric)
    facets: list[Facet[TaskDifference]] = [
        Facet(
            "winner", "Best", lambda task: (_winner(task),), lambda value: words.get(value, value), known=tuple(words)
        )
    ]
    for facet in comparison.facets:
        values = _facet_values(name=facet.name, comparison=comparison)
        facets.append(Facet(facet.name, facet.label, values, words_of(facet), sort_key=place_of(facet)))
    facets.append(Facet("why", WHY, _causes(comparison), words_of_cause, sort_key=place_of_cause))
    # Indexed in the suite's order, which is that of the values.
    indexed = index(rows=sorted(tasks, key=lambda task: task.index), facets=facets)
    chosen = chosen_of(parameters=parameters, facets=facets)
    found = select(indexed=indexed, chosen=chosen)
    left = {task.index for task in found.rows}
    return Filtered(tuple(task for task in tasks if task.index in left), found.filters, bool(chosen))


def _facet_values(*, name: str, comparison: Comparison) -> Callable[[TaskDifference], tuple[str, ...]]:
    return lambda task: comparison.tasks[task.index].facets.get(name, ())


def _causes(comparison: Comparison) -> Callable[[TaskDifference], tuple[str, ...]]:
    """The causes that a task has in any of the evaluations."""
    return lambda task: ordered(code for causes in comparison.causes for code in causes[task.index] or ())


def _winner(task: TaskDifference) -> str:
    """The letter of the single best; `equal` or `several` without one."""
    if task.winner != NOBODY:
        return LETTERS[int(task.winner)]
    return "several" if task.spread else "equal"


def _winners(*, evaluations: int, metric: Column) -> dict[str, str]:
    """The values of the filter by who is best, in words."""
    if not metric.ordered:
        return {"several": "They differ", "equal": "Equal"}
    if evaluations == 2:
        return {**{letter: f"{letter} is better" for letter in LETTERS[:2]}, "equal": "Equal"}
    alone = {letter: f"{letter} alone" for letter in LETTERS[:evaluations]}
    return {**alone, "several": "Several share it", "equal": "All equal"}


TASKS_PER_PAGE = 25
WIDTH = 120
"""Width of a bar in its own units; its middle is no difference."""


class Compared(NamedTuple):
    """One of the evaluations."""

    letter: str
    evaluation: Evaluation
    notes: tuple[str, ...]
    """Caveats about its figures."""
    others: tuple[str, ...]
    """Ids of all others, for the link that takes this one away."""
    first_then_others: tuple[str, ...]
    """Ids with this one first, for the link that compares all others with it."""


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
    """Why there is none: `low` and `high` are empty then."""
    p_value: str
    tasks: int
    counts: str
    """Wins, losses, ties and undecided tasks in words; nothing for sizes."""
    bar: Bar
    tone: str
    """`better`, `worse` or nothing: only where interval and test agree that there is a difference."""


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
    """Of step by step against whole plans; None where no task has a score in both."""
    notes: tuple[str, ...]


class ComparisonPage(NamedTuple):
    """Everything on the page."""

    compared: tuple[Compared, ...]
    verdicts: tuple[Verdict, ...]
    metrics: tuple[MetricRow, ...]
    metric: Column
    left_out: tuple[str, ...]
    """A sentence for each pair that leaves tasks out."""
    groups: tuple[GroupTable, ...]
    filters: tuple[Filter, ...]
    is_filtered: bool
    page: "Page[TaskDifference]"
    tasks: tuple[ShownTask, ...]
    differing: int
    comparable: int
    tasks_withheld: str
    """Why no task is listed, as a sentence; empty if all are."""


def comparison_page(
    *, evaluations: Sequence[Evaluation], comparison: Comparison, parameters: Mapping[str, str], reader: Reader
) -> ComparisonPage:
    """Gather the page. Groups and tasks are about the parameter `metric`; unknown values are ignored.

    Gold plans are left empty for readers who may not see them.
    """
    metric = chosen_metric(comparison=comparison, key=parameters.get("metric", ""))
    every = task_differences(metric=metric, scores=comparison.scores)
    withheld = any(withholds_tasks(reader=reader, of=one) for one in evaluations)
    found = filtered(
        tasks=[] if withheld else every, comparison=comparison, metric=metric, parameters={} if withheld else parameters
    )
    page = Paginator(found.tasks, TASKS_PER_PAGE).get_page(parameters.get("page"))
    return ComparisonPage(
        compared=_compared(evaluations),
        verdicts=verdicts(evaluations=evaluations, comparison=comparison, metric=metric),
        metrics=_metric_rows(comparison=comparison, chosen=metric),
        metric=metric,
        left_out=left_out_in_words(comparison.pairs),
        groups=_groups(comparison=comparison, metric=metric, least=LEAST_VALUES if withheld else 1),
        filters=found.filters,
        is_filtered=found.is_filtered,
        page=page,
        tasks=_tasks(evaluations=evaluations, comparison=comparison, found=list(page), reader=reader),
        differing=sum(task.spread > 0 for task in every),
        comparable=len(every),
        tasks_withheld=when_tasks_are_shown(evaluations[0]) if withheld else "",
    )


def form_rows(found: Sequence[BothForms]) -> tuple[FormRow, ...]:
    """The planners that were evaluated in both forms, with bars of one scale."""
    ends = [
        abs(end)
        for one in found
        if one.difference
        for end in (one.difference.difference.mean, *(one.difference.difference.ends or ()))
    ]
    scale = max([0.01, *ends])
    return tuple(
        FormRow(
            whole=one.whole,
            steps=one.steps,
            whole_mean=_mean(one.difference.first_mean, undecided=0.0) if one.difference else "—",
            cell=_difference_cell(found=one.difference, undecided=None, scale=scale) if one.difference else None,
            notes=(*_notes(one.whole), *_notes(one.steps)),
        )
        for one in found
    )


def chosen_metric(*, comparison: Comparison, key: str) -> Column:
    """The metric with this key, else the one that the board is ranked by."""
    found = next((metric for metric in comparison.metrics if metric.key == key), None)
    return found or next(metric for metric in comparison.metrics if metric.primary)


def _compared(evaluations: Sequence[Evaluation]) -> tuple[Compared, ...]:
    ids = [str(evaluation.pk) for evaluation in evaluations]
    found = []
    for letter, evaluation, own in zip(LETTERS, evaluations, ids, strict=False):
        others = tuple(one for one in ids if one != own)
        found.append(
            Compared(
                letter=letter,
                evaluation=evaluation,
                notes=_notes(evaluation),
                others=others,
                first_then_others=(own, *others),
            )
        )
    return tuple(found)


def _notes(evaluation: Evaluation) -> tuple[str, ...]:
    notes = []
    if evaluation.state != EvaluationState.COMPLETED:
        label = evaluation.get_state_display().lower()
        notes.append(f"Not completed ({label}): only the tasks that have a score are compared.")
    if hasattr(evaluation, "own_worker_run") and evaluation.own_worker_run.verified_by_id is None:
        notes.append("Measured on the owner's self-hosted worker and not verified by this site.")
    return tuple(notes)


def _metric_rows(*, comparison: Comparison, chosen: Column) -> tuple[MetricRow, ...]:
    scales = _scales(comparison.pairs)
    parts = companions(comparison.metrics)
    rows = []
    for metric in comparison.metrics:
        if metric.key in parts:
            continue
        found = [pair.of(metric.key) for pair in comparison.pairs]
        if not any(found):
            continue
        undecided = [pair.of(metric.undecided) if metric.undecided else None for pair in comparison.pairs]
        rows.append(
            MetricRow(
                key=metric.key,
                label=metric.label,
                direction="" if not metric.ordered else "higher" if metric.higher_is_better else "lower",
                is_primary=metric.primary,
                is_chosen=metric.key == chosen.key,
                first_mean=_first_mean(found, undecided=undecided),
                cells=tuple(
                    one and _difference_cell(found=one, undecided=share, scale=scales[metric.ordered])
                    for one, share in zip(found, undecided, strict=True)
                ),
            )
        )
    return tuple(rows)


def _first_mean(found: Sequence[MetricDifference | None], *, undecided: Sequence[MetricDifference | None]) -> str:
    """The first's mean; "varies" if the pairs have different tasks in common."""
    means = {
        _mean(one.first_mean, undecided=share.first_mean if share else 0.0)
        for one, share in zip(found, undecided, strict=True)
        if one is not None
    }
    return means.pop() if len(means) == 1 else "varies"


def _mean(mean: float, *, undecided: float) -> str:
    """A mean; a range where a share of the tasks is undecided."""
    return figure({"mean": mean, **({"upper": mean + undecided} if undecided > 0 else {})})


def _scales(pairs: Sequence[Pair]) -> dict[bool, float]:
    """How far the bars reach to each side: one scale for all figures, and one for the sizes of plans."""
    ends: dict[bool, list[float]] = {True: [0.01], False: [0.01]}
    for pair in pairs:
        for one in pair.differences:
            ends[one.metric.ordered] += [abs(end) for end in (one.difference.mean, *(one.difference.ends or ()))]
    return {kind: max(found) for kind, found in ends.items()}


def _difference_cell(*, found: MetricDifference, undecided: MetricDifference | None, scale: float) -> DifferenceCell:
    interval = found.difference
    ends = interval.ends
    left, right = (_place(end, scale) for end in (ends or (interval.mean, interval.mean)))
    # Interval and test must agree.
    sure = found.adjusted is not None and found.adjusted < LEVEL and (ends is None or ends[0] > 0 or ends[1] < 0)
    better = (interval.mean > 0) == found.metric.higher_is_better
    width = max(right - left, 1) if ends else 0
    undecided_tasks = f", {found.undecided} undecided" if found.undecided else ""
    return DifferenceCell(
        mean=_mean(found.other_mean, undecided=undecided.other_mean if undecided else 0.0),
        difference=difference_text(found),
        low="" if ends is None else signed(ends[0]),
        high="" if ends is None else signed(ends[1]),
        no_interval=TOO_FEW if ends is None else "",
        p_value=p_text(found.adjusted),
        tasks=interval.count,
        counts=f"{found.wins} better, {found.losses} worse, {found.ties} equal{undecided_tasks}"
        if found.metric.ordered
        else "",
        bar=Bar(
            left=f"{left:.1f}",
            width=f"{width:.1f}",
            mean=f"{_place(interval.mean, scale):.1f}",
        ),
        tone=("better" if better else "worse") if sure and found.metric.ordered else "",
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
    *, evaluations: Sequence[Evaluation], comparison: Comparison, found: Sequence[TaskDifference], reader: Reader
) -> tuple[ShownTask, ...]:
    """Texts and plans of the tasks of one page: one query."""
    pks = [comparison.tasks[task.index].pk for task in found]
    open_ones = [one for one in evaluations if not withheld_from(reader=reader, evaluation=one).plan]
    results = TaskResult.objects.filter(evaluation__in=open_ones, task__in=pks)
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
        for task in found
    )
