"""How many tasks have each cause. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evaluator.scoring.causes.taxonomy import Cause, Finding


def tasks_by_cause(tasks: Iterable[Sequence[Finding]]) -> Mapping[Cause, int]:
    """How many tasks have each cause, the most frequent first, ties in the order of the taxonomy.

    A task with several causes counts for each, so that the counts may be more than the tasks.
    """
    counts = Counter(cause for findings in tasks for cause in {finding.cause for finding in findings})
    order = list(Cause)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], order.index(item[0]))))


def tasks_by_first_cause(tasks: Iterable[Sequence[Finding]]) -> Mapping[Cause, int]:
    """How many tasks have each cause as their weightiest, in the order of `tasks_by_cause`; each task counts once."""
    return tasks_by_cause(findings[:1] for findings in tasks)
