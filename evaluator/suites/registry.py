"""The suites there are, by slug. A suite is built when it is first asked for."""

from collections.abc import Callable
from functools import cache

from evaluator.suites.model import Suite
from evaluator.suites.openagi.suite import openagi_suite

_SUITES: dict[str, Callable[[], Suite]] = {"openagi": openagi_suite}


def suite_names() -> tuple[str, ...]:
    """Slugs of all suites."""
    return tuple(_SUITES)


@cache
def suite_of(slug: str) -> Suite:
    """The suite with this slug.

    Raises:
        LookupError: there is none; the message lists those there are.
    """
    try:
        build = _SUITES[slug]
    except KeyError:
        raise LookupError(f"there is no suite {slug!r}; there are: {', '.join(_SUITES)}") from None
    return build()
