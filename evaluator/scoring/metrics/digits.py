"""As many digits of a mean as its 95 % interval allows. Files and the API keep the exact values."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from evaluator.scoring.metrics.statistics import ends_of

MOST_PLACES = 3
"""Decimal places of an exact value on pages, and of a mean without an interval."""
_TWO_DIGITS_FROM = 0.1
"""Half width from which two digits of it are shown, so that shares have at least two decimal places."""


class Rounded(NamedTuple):
    """A mean and its interval as texts with the same number of decimal places."""

    mean: str
    margin: str
    """Half of the interval's width, if the mean is in its middle; otherwise empty."""
    ends: tuple[str, str] | None
    """The ends of the interval, if the mean is not in its middle."""
    upper: str
    """The mean if all undecided tasks are right; empty if that is the mean."""

    @property
    def interval(self) -> str:
        """The interval, such as `± 0.03` or `0.81 to 0.90`; empty without one."""
        if self.ends is not None:
            return f"{self.ends[0]} to {self.ends[1]}"
        return f"± {self.margin}" if self.margin else ""

    @property
    def note(self) -> str:
        """What undecided tasks leave open, such as `up to 0.50 if the undecided are right`; empty if nothing."""
        return f"up to {self.upper} if the undecided are right" if self.upper else ""

    def __str__(self) -> str:
        """Such as `0.87 ± 0.03`, or `0.40 (0.35 to 0.55), up to 0.50 if the undecided are right`."""
        interval = f"({self.interval})" if self.ends is not None else self.interval
        text = f"{self.mean} {interval}" if interval else self.mean
        return f"{text}, {self.note}" if self.upper else text


def rounded(value: Mapping[str, Any]) -> Rounded:
    """Round a value by the half width of its interval, the wider half if they differ.

    The half width keeps its first digit, or two digits if it is at least 0.1 or begins with 1.

    Args:
        value: `{"mean", "low", "high"}`, and `upper` if tasks are undecided (`undecided.ranged`).
    """
    mean, upper = float(value["mean"]), value.get("upper")
    ends = ends_of(low=value.get("low"), high=value.get("high"))
    places = MOST_PLACES if ends is None else _places(max(mean - ends[0], ends[1] - mean))
    above = "" if upper is None else _text(float(upper), places)
    texts = _text(mean, places), "" if above == _text(mean, places) else above
    if ends is None:
        return Rounded(texts[0], "", None, texts[1])
    halves = [_text(max(half, 10.0**-MOST_PLACES), places) for half in (mean - ends[0], ends[1] - mean)]
    if halves[0] == halves[1] and not texts[1]:
        return Rounded(texts[0], halves[0], None, texts[1])
    return Rounded(texts[0], "", (_text(ends[0], places), _text(ends[1], places)), texts[1])


def _places(half: float) -> int:
    """Decimal places of a half width."""
    if half <= 0:
        return MOST_PLACES
    power = math.floor(math.log10(half))
    has_two = half >= _TWO_DIGITS_FROM or half < 2 * 10.0**power
    return min(max(has_two - power, 0), MOST_PLACES)


def _text(value: float, places: int) -> str:
    # Adding zero turns -0.0 into 0.0.
    return f"{round(value, places) + 0.0:.{places}f}"
