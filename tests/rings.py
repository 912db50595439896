"""Which cases of a parametrised test every run has (docs/extending.md#testing)."""

from collections.abc import Collection, Iterable
from typing import TypeVar

import pytest

_Case = TypeVar("_Case")


def usual(cases: Iterable[_Case], *, of: Collection[_Case]) -> list[object]:
    """The cases of a parametrised test, of which those not named are marked `full`.

    Args:
        cases: all of them; tuples are the values of several parameters.
        of: those that every run has.
    """
    return [case if case in of else _full(case) for case in cases]


def _full(case: object) -> object:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.full)
