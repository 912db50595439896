"""How often the judge of plans errs about texts, as measured on hidden texts and printed in the card of its network."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from evaluator.scoring.arbiters.network import FOLDER

_PART = "Texts as planners write them"
"""The part of the card that resembles plans; the other pairs are hard on purpose."""
_SHARE = r"([\d.]+) % \(([\d.]+) to ([\d.]+)\)"
_TABLE = re.compile(rf"^{_PART} .*?^\| all \| {_SHARE} \| {_SHARE} \| {_SHARE} \|", re.MULTILINE | re.DOTALL)


class ErrorRate(NamedTuple):
    """A share in [0, 1] with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f} %)"


class JudgeErrors(NamedTuple):
    """Errors of rules and network together."""

    refused: ErrorRate
    """Of texts that mean the same as the wanted one."""
    accepted: ErrorRate
    """Of texts that mean something else."""


@cache
def judge_errors(folder: Path = FOLDER) -> JudgeErrors:
    """Errors of the network that ships, behind the rules, on hidden texts as planners write them.

    Raises:
        ValueError: the card has no such table.
    """
    card = (folder / "card.md").read_text(encoding="utf-8")
    table = _TABLE.search(card)
    if table is None:
        raise ValueError(f"the network's card has no table “{_PART}” with a row “all”")
    # The first share is that of right texts that are accepted.
    _, refused, accepted = (map(float, table.groups()[start : start + 3]) for start in (0, 3, 6))
    return JudgeErrors(_rate(*refused), _rate(*accepted))


def _rate(percent: float, low: float, high: float) -> ErrorRate:
    return ErrorRate(percent / 100, low, high)
