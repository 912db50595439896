"""Which steps of several plans belong together. Pure."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple


class AlignedStep(NamedTuple):
    """Steps of the same tool that stand beside each other."""

    tool: str
    places: tuple[int | None, ...]
    """Place in each plan; None where a plan has no such step."""

    @property
    def is_in_all(self) -> bool:
        """Whether every plan has it."""
        return None not in self.places


def aligned(plans: Sequence[Sequence[str]]) -> list[AlignedStep]:
    """The steps of several plans, one row for each step that they share in this order.

    The longest runs of equal tools are matched first (Ratcliff and Metzener's gestalt matching), plan after plan
    against the rows so far.

    Args:
        plans: the tools of each plan, in the order of its steps.

    Returns:
        Rows in which each step of each plan comes once, and in the order of its plan.
    """
    rows: list[AlignedStep] = []
    for number, tools in enumerate(plans):
        rows = _with(rows, tools=tools, before=number)
    return rows


def _with(rows: Sequence[AlignedStep], *, tools: Sequence[str], before: int) -> list[AlignedStep]:
    matcher = SequenceMatcher(None, [row.tool for row in rows], list(tools), autojunk=False)
    found: list[AlignedStep] = []
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            pairs = zip(rows[start:end], range(first, last), strict=True)
            found += [AlignedStep(row.tool, (*row.places, place)) for row, place in pairs]
            continue
        found += [AlignedStep(row.tool, (*row.places, None)) for row in rows[start:end]]
        found += [AlignedStep(tools[place], (*(None,) * before, place)) for place in range(first, last)]
    return found
