"""Why an evaluation is below the gold score, in sentences. Pages, `evaluate`, reports and CI summaries share them."""

from evaluator.scoring.causes.costs import CauseCost, Costs, Mistake
from evaluator.scoring.causes.taxonomy import Cause
from evaluator.scoring.metrics.statistics import Interval

MOST_CAUSES = 3
"""Causes of a short explanation."""
MOST_EXAMPLES = 3
"""Tasks named with a mistake."""
FROM_BEST = "Where gold was not measured, costs count from the best score."


def explanation(costs: Costs, *, metric: str, most: int = MOST_CAUSES) -> list[str]:
    """The headline, and a line for each of the costliest causes.

    Args:
        costs: of an evaluation.
        metric: label of the primary metric.
        most: number of causes.
    """
    return [headline(costs, metric=metric), *map(cause_line, costs.causes[:most])]


def headline(costs: Costs, *, metric: str) -> str:
    """How many tasks are below the gold score or undecided, and what that costs.

    Args:
        costs: of an evaluation.
        metric: label of the primary metric.
    """
    if not costs.ran:
        return "No task has run."
    sentences = []
    if costs.below:
        sentences.append(_below(costs, metric=metric))
    elif not costs.unknown:
        only = costs.ran == 1
        sentences.append(
            f"{'The task that ran is' if only else f'All {costs.ran} tasks that ran are'} at the gold score."
        )
    if costs.unknown:
        sentences.append(f"The causes of {_tasks(costs.unknown)} are not known yet.")
    if not costs.against_gold and costs.gap is not None:
        sentences.append(FROM_BEST)
    return " ".join(sentences)


def _below(costs: Costs, *, metric: str) -> str:
    undecided = sum(one.tasks for one in costs.causes if one.cause is Cause.UNDECIDED)
    wrong = costs.below - undecided
    if not wrong:
        gain = "" if costs.gap is None else f"; deciding them can add up to {costs.gap.mean:.3f} to {metric}"
        return f"{undecided} of {_tasks(costs.ran)} {_are(undecided)} undecided, and none is known to be wrong{gain}."
    counts = f"{wrong} of {_tasks(costs.ran)} {_are(wrong)} below the gold score"
    if costs.gap is None:
        cost = ""
    elif undecided:
        counts += f" and {undecided} {_are(undecided)} undecided"
        cost = f"; together they cost up to {cost_words(costs.gap)} of {metric}"
    else:
        cost = f", which costs {cost_words(costs.gap)} of {metric}"
    return f"{counts}{cost}."


def cause_line(one: CauseCost) -> str:
    """A cause with its tasks, its cost, and its most frequent mistake."""
    label = one.cause.label
    parts = [f"{label[:1].upper()}{label[1:]}: {tasks_words(one)}"]
    if one.cost is not None:
        parts.append(f"{cost_label(one).lower()} {cost_words(one.cost)}")
    line = f"{', '.join(parts)}."
    return f"{line} {mistake_line(one.mistakes[0])}" if one.mistakes else line


def tasks_words(one: CauseCost) -> str:
    """The number of tasks, such as `12 tasks, and 3 beside a costlier cause`."""
    beside = f"{one.also} beside another main cause" if one.also else ""
    if not one.tasks:
        return f"{_tasks(one.also)} beside another main cause"
    return f"{_tasks(one.tasks)}{f' and {beside}' if beside else ''}"


def cost_label(one: CauseCost) -> str:
    """`Costs`, or `Costs up to` if the tasks may still be decided as right."""
    return "Costs up to" if one.cause is Cause.UNDECIDED else "Costs"


def cost_words(cost: Interval) -> str:
    """A cost with its 95 % interval, if there is one, such as `0.069 (0.041 to 0.102)`."""
    ends = cost.ends
    return f"{cost.mean:.3f}" + ("" if ends is None else f" ({ends[0]:.3f} to {ends[1]:.3f})")


def mistake_line(mistake: Mistake) -> str:
    """A mistake with its first tasks."""
    named = mistake.tasks[:MOST_EXAMPLES]
    if not named:
        return mistake.sentence
    further = len(mistake.tasks) - len(named)
    words = f"{', '.join(named)}{f' and {further} more' if further else ''}"
    return f"{mistake.sentence.removesuffix('.')} (task{'' if len(mistake.tasks) == 1 else 's'} {words})."


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
