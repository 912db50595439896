"""The columns that suites in turns have in common."""

from functools import partial

from evaluator.core.suites.base import Column, IntervalMethod

_share = partial(Column, indicator=True, interval=IntervalMethod.WILSON)
_mean = partial(Column, indicator=True)
_size = partial(Column, indicator=True, ordered=False, fault=None, high=None)


def solved(description: str) -> Column:
    """The share of tasks that are solved, by which the board ranks."""
    return _share(
        key="solved", label="Solved", description=description, primary=True, title="Solved", good="solved",
        bad="not solved",
    )  # fmt: skip


def share(*, key: str, label: str, description: str) -> Column:
    """Another share of tasks."""
    return _share(key=key, label=label, description=description)


def mean(*, key: str, label: str, description: str) -> Column:
    """The mean of a value from 0 to 1."""
    return _mean(key=key, label=label, description=description)


EPISODES = (
    _share(
        key="ended", label="Ended by itself",
        description="Share of episodes that ended with an answer, not at a limit or with replies that cannot be read.",
    ),
    _mean(key="actions_done", label="Actions that worked", description="Share of an episode's actions with a result."),
    _size(key="turns", label="Turns", description="Mean number of turns."),
    _size(key="actions", label="Actions", description="Mean number of actions."),
)  # fmt: skip
