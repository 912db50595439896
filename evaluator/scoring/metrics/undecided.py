"""Means over tasks of which some are undecided: their range, and who decided the others.

A value is `{"mean", "low", "high", "tasks"}`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from evaluator.core.suites.base import DECIDERS, Column

_SAME = 1e-9
"""Tolerance for sums in another order."""


def ranged(*, metrics: Mapping[str, Any], column: Column) -> dict[str, Any] | None:
    """The value of a column with its range and its deciders.

    Args:
        metrics: values by column.
        column: one of the columns.

    Returns:
        The value. If tasks are undecided, it has their share in (0, 1] as `undecided` and the upper end of the mean as
        `upper`; if the network or an arbiter settled some, both ends by the rules as `by_rules`. If it is recorded who
        decided, the shares of tasks as `decided_by`: `rules`, then `DECIDERS`. None without a value.
    """
    value = metrics.get(column.key)
    if not value or value.get("mean") is None:
        return None
    mean, share = value["mean"], _mean(metrics, column.undecided) or 0.0
    with_range = {**value, **({"undecided": share, "upper": mean + share} if share > 0 else {})}
    low, high = (_mean(metrics, key) for key in column.by_rules) if column.by_rules else (None, None)
    if low is not None and high is not None and max(abs(low - mean), abs(high - mean - share)) > _SAME:
        with_range["by_rules"] = low, high
    shares = {who: _mean(metrics, column.decided_by[who]) for who in DECIDERS if who in column.decided_by}
    known = {who: found for who, found in shares.items() if found is not None}
    if known and len(known) == len(shares):
        with_range["decided_by"] = {"rules": max(0.0, 1 - share - sum(known.values())), **known}
    return with_range


def _mean(metrics: Mapping[str, Any], key: str) -> float | None:
    value = metrics.get(key) or {}
    return value.get("mean")


def range_text(value: Mapping[str, Any], *, form: str = ".3f") -> str:
    """A mean, or its range if tasks are undecided."""
    mean = format(value["mean"], form)
    return f"{mean} \N{EN DASH} {format(value['upper'], form)}" if "upper" in value else mean


def range_in_words(value: Mapping[str, Any], *, form: str = ".3f") -> str:
    """The same in words, such as `0.400, up to 0.500 if the undecided are right`."""
    mean = format(value["mean"], form)
    return f"{mean}, up to {format(value['upper'], form)} if the undecided are right" if "upper" in value else mean


def undecided_words(value: Mapping[str, Any], *, form: str = ".3f") -> str:
    """`undecided_notes` in one line."""
    return ", ".join(undecided_notes(value, form=form))


def undecided_notes(value: Mapping[str, Any], *, form: str = ".3f") -> list[str]:
    """Notes on a value of `ranged`: the share, such as `5.0 % undecided`, and the range by the rules alone."""
    words = [f"{100 * value['undecided']:.1f} % undecided"] if "undecided" in value else []
    if "by_rules" in value:
        low, high = value["by_rules"]
        words.append(f"{format(low, form)} \N{EN DASH} {format(high, form)} by the rules alone")
    return words


def decider_words(value: Mapping[str, Any]) -> str:
    """The shares of tasks by who decided them, such as `rules 90.0 %, network 8.0 %, arbiter 0.0 %, undecided 2.0 %`;
    empty if that is not recorded."""
    if "decided_by" not in value:
        return ""
    shares = {**value["decided_by"], "undecided": value.get("undecided", 0.0)}
    return ", ".join(f"{who} {100 * share:.1f} %" for who, share in shares.items())


def decider_lines(*, columns: Iterable[Column], metrics: Mapping[str, Any]) -> list[str]:
    """`decider_words` of each column that others than the rules decide, as a line that begins with its label."""
    values = [(column, ranged(metrics=metrics, column=column)) for column in columns if column.decided_by]
    return [f"{column.label} decided by: {words}" for column, value in values if (words := decider_words(value or {}))]
