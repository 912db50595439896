"""The tables of the comparison: variants, paired differences, gains by feedback, and families."""

from collections.abc import Mapping, Sequence

from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.training.variants import AS_MANY, MULTI, NO_FEEDBACK_MANY, VARIANTS, VIEWS, WITHOUT
from evaluator.scoring.metrics.statistics import Interval, clustered_mean
from evaluator.training.causal.comparing import Measured, by_seed, differences, in_words, paired

_CAPTION = (
    "Share of {count} tasks of arc-mini ({tasks}) that are solved by one of three candidates. Seeds {seeds}. Means "
    "with 95 % intervals, bootstrapped over tasks; a task's results of all seeds are one cluster. The best single view "
    "is the best one on these very tasks, which favours it."
)


def markdown(*, measured: Sequence[Measured], seeds: Sequence[int], tasks: str) -> str:
    """All tables with their caption.

    Args:
        measured: scores of any variants.
        seeds: those that were asked for.
        tasks: what was measured on, such as `public-10`.
    """
    count = len({task for one in measured for task in one.scores})
    parts = [
        _table(("variant", "replies at most", "solved", "by seed"), rows(measured)),
        _table(("difference", "mean"), [(name, in_words(one, signed=True)) for name, one in compared(measured)]),
        _table(("feedback", "solved only with it", "solved only without"), gains(measured)),
        _table(("variant", *FAMILIES), by_family(measured)),
        _CAPTION.format(count=count, tasks=tasks, seeds=", ".join(map(str, seeds))),
    ]
    return "\n\n".join(parts) + "\n"


def rows(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """A row for each variant that was measured."""
    return [
        (name, str(variant.replies), in_words(_mean(own)), by_seed(own))
        for name, variant in VARIANTS.items()
        if (own := _scores(measured, variant=name))
    ]


def compared(measured: Sequence[Measured]) -> list[tuple[str, Interval]]:
    """The paired differences of the paper's claims."""
    best = [(MULTI, one) for ending in ("", AS_MANY) if (one := best_single(measured, ending=ending))]
    feedback = [(name, name + WITHOUT) for name in (MULTI, *VIEWS)]
    return differences(measured, pairs=[*best, *feedback, (MULTI, MULTI + NO_FEEDBACK_MANY)])


def best_single(measured: Sequence[Measured], *, ending: str = "") -> str:
    """The single view that solves most of these tasks, the first of several; empty if none was measured."""
    means = {
        view + ending: _mean(own).mean for view in VIEWS if (own := _scores(measured, variant=view + ending))
    }  # fmt: skip
    return max(means, key=lambda name: means[name], default="")


def gains(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """The shares of tasks that only the planner with feedback solves, and only the one without."""
    found = []
    for name in (MULTI, *VIEWS):
        pairs = paired(measured, first=name, second=name + WITHOUT)
        if pairs:
            only = [_share(pairs, wanted=wanted) for wanted in ((True, False), (False, True))]
            found.append((name, *map(in_words, only)))
    return found


def by_family(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """The share of solved tasks of each family, for all views and single ones, with feedback."""
    found = []
    for name in (MULTI, *VIEWS):
        own = _scores(measured, variant=name)
        if own:
            values: list[list[float]] = [
                [score for scores in own for task, score in scores.items() if task.partition("/")[0] == family]
                for family in FAMILIES
            ]
            found.append((name, *(f"{sum(one) / len(one):.2f}" if one else "" for one in values)))
    return found


def _share(pairs: Mapping[str, Sequence[tuple[float, float]]], *, wanted: tuple[bool, bool]) -> Interval:
    return clustered_mean(
        [[float((bool(one), bool(other)) == wanted) for one, other in pairs[task]] for task in sorted(pairs)]
    )


def _scores(measured: Sequence[Measured], *, variant: str) -> list[Mapping[str, float]]:
    return [one.scores for one in measured if one.variant == variant]


def _mean(scores: Sequence[Mapping[str, float]]) -> Interval:
    return clustered_mean([[one[task] for one in scores if task in one] for task in sorted({*scores[0]})])


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *lines))
