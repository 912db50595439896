"""How often votes agree with measured scores. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from evaluator.scoring.metrics.statistics import Interval, clustered_mean
from leaderboard.votes.bradley_terry import Comparison


def agreement_of(
    comparisons: Sequence[Comparison], *, measured: Mapping[str, float], higher_is_better: bool
) -> tuple[Interval, int] | None:
    """The share of decided votes that the planner with the better measured score won, with its 95 % interval over
    voters, and the number of these votes.

    Args:
        comparisons: the votes that count.
        measured: score by planner. Votes on planners without one, and on equal scores, are left out.
        higher_is_better: direction of the scores.

    Returns:
        None if no vote is left.
    """
    by_voter: dict[str, list[float]] = defaultdict(list)
    for one in comparisons:
        if one.won == 0.5 or one.first not in measured or one.second not in measured:
            continue
        difference = measured[one.first] - measured[one.second]
        if difference:
            is_first_better = (difference > 0) == higher_is_better
            by_voter[one.voter].append(float((one.won == 1) == is_first_better))
    if not by_voter:
        return None
    return clustered_mean(list(by_voter.values())), sum(map(len, by_voter.values()))
