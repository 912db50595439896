"""The suites there are, by slug. A suite is built when it is first asked for."""

from collections.abc import Callable
from functools import cache

from evaluator.suites.model import Suite
from evaluator.suites.openagi.suite import openagi_suite
from evaluator.suites.toolbench.source import fetched_folder
from evaluator.suites.toolbench.suite import tool2k_suite, tool100_suite, toolmini_suite

_SUITES: dict[str, Callable[[], Suite]] = {
    "openagi": openagi_suite,
    "toolmini": toolmini_suite,
    "tool100": tool100_suite,
    "tool2k": tool2k_suite,
}
_FETCHED = frozenset({"tool100", "tool2k"})


def suite_names() -> tuple[str, ...]:
    """Slugs of the suites that can be used here: those whose files must be fetched are left out until they are."""
    there = fetched_folder() is not None
    return tuple(slug for slug in _SUITES if there or slug not in _FETCHED)


@cache
def suite_of(slug: str) -> Suite:
    """The suite with this slug.

    Raises:
        LookupError: there is none, or its files were not fetched; the message says what to do.
    """
    try:
        build = _SUITES[slug]
    except KeyError:
        raise LookupError(f"there is no suite {slug!r}; there are: {', '.join(_SUITES)}") from None
    return build()
