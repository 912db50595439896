"""How long to wait before the next try. Pure."""

from datetime import timedelta

FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(minutes=30)


def wait_after(*, tries: int) -> timedelta:
    """How long to wait after so many tries, the first being 1."""
    doublings = min(max(tries, 1) - 1, 16)
    return min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)
