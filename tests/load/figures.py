"""What the load test reports, computed from what was measured. Pure."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

LEASES_PER_USER_AND_WINDOW = 10
"""A window of fairness has so many leases for each user: with these, one lease more or less is a tenth."""


def distribution(values: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile, largest and number of these values; only the number if there are none."""
    if not values:
        return {"count": 0}
    ordered = sorted(values)
    p95 = ordered[max(0, math.ceil(0.95 * len(ordered)) - 1)]
    return {"median": median(ordered), "p95": p95, "max": ordered[-1], "count": len(ordered)}


def contested(*, leases: Sequence[str], shards: Mapping[str, int]) -> Sequence[str]:
    """The first leases, for as long as every user had a shard that waited.

    Args:
        leases: whose shard each lease was of, in order.
        shards: how many shards each user has.
    """
    left = Counter(shards)
    for position, user in enumerate(leases):
        left[user] -= 1
        if not left[user]:
            return leases[: position + 1]
    return leases


def fairness(*, leases: Sequence[str], shards: Mapping[str, int]) -> dict[str, Any]:
    """Each user's leases against an equal share, over the time in which everybody had work that waited.

    Returns:
        `overall` and `windows`, each with the least and the greatest share as ratios to an equal one; a window is
        `LEASES_PER_USER_AND_WINDOW` leases for each user, in order, and an unfilled one at the end is left out.
    """
    counted = contested(leases=leases, shards=shards)
    size = LEASES_PER_USER_AND_WINDOW * len(shards)
    starts = range(0, len(counted) - size + 1, size)
    windows = [_shares(leases=counted[start : start + size], users=list(shards)) for start in starts]
    return {
        "overall": _shares(leases=counted, users=list(shards)),
        "windows": {
            "count": len(windows),
            "leases_each": size,
            "least": min((window["least"] for window in windows), default=None),
            "greatest": max((window["greatest"] for window in windows), default=None),
        },
        "leases": dict(sorted(Counter(counted).items())),
    }


def _shares(*, leases: Sequence[str], users: Sequence[str]) -> dict[str, float]:
    had = Counter(leases)
    equal = len(leases) / len(users)
    ratios = [had[user] / equal for user in users] if equal else [0.0]
    return {"least": min(ratios), "greatest": max(ratios)}


def growth(samples: Sequence[float]) -> dict[str, float]:
    """The median of the first third against that of the last third; empty if there are too few samples."""
    third = len(samples) // 3
    if not third:
        return {}
    first, last = median(samples[:third]), median(samples[-third:])
    return {"last_to_first": last / first if first else 0.0, "first": first, "last": last, "max": max(samples)}


def gaps(attempts: Sequence[tuple[str, float, float]]) -> list[float]:
    """Seconds between the end of each attempt and the next lease of the same worker.

    Args:
        attempts: worker, when it was leased, when it ended.
    """
    found = []
    before: dict[str, float] = {}
    for worker, leased, ended in sorted(attempts, key=lambda attempt: attempt[1]):
        if worker in before:
            found.append(leased - before[worker])
        before[worker] = ended
    return found


def given_twice(attempts: Sequence[str]) -> int:
    """How many attempts came to more than one worker, or to one more than once, by what all workers wrote down."""
    return sum(count > 1 for count in Counter(attempts).values())
