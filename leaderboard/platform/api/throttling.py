"""Rate limits of reads and changes, and the headers that report them.

All processes of the site share the counters, in its cache. A window starts with a caller's first request; each request
is one atomic increment. A process that has seen a caller exceed a limit refuses the rest of the window without asking
the cache.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from leaderboard.platform.coordination.cache import count_up
from leaderboard.platform.http.addresses import address_of
from leaderboard.platform.lru_cache import SharedCache

_DEFAULT_SCOPE = "changes"
READS, ANONYMOUS_READS = "reads", "anonymous-reads"
_WINDOW = 60
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """The state of a counter after a request."""

    scope: str
    limit: int
    window: int
    used: int
    left: float
    """Seconds until the window ends."""

    @property
    def allowed(self) -> bool:
        return self.used <= self.limit

    def headers(self) -> dict[str, str]:
        """`RateLimit-Policy` and `RateLimit`, as in the IETF draft "RateLimit header fields for HTTP"."""
        return {
            "RateLimit-Policy": f'"{self.scope}";q={self.limit};w={self.window}',
            "RateLimit": f'"{self.scope}";r={max(0, self.limit - self.used)};t={math.ceil(self.left)}',
        }


_refused: SharedCache[str, float] = SharedCache(maxsize=_MOST_REMEMBERED)
"""By caller over a limit: the `time.monotonic()` at which the window ends. Forgetting one only costs a count."""


def forget_refused() -> None:
    """Ask the cache again about all callers."""
    _refused.clear()


class Throttle(BaseThrottle):
    """Limits changes, by the view's `throttle_scope` and by user, or by address for anonymous callers.

    Reads are limited by `ReadThrottle`. Workers are not limited: lease and heartbeat determine how often they call.
    """

    THROTTLE_RATES = SimpleRateThrottle.THROTTLE_RATES
    """Limits by scope, such as `20/min`; None: unlimited."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if request.method in {"GET", "HEAD", "OPTIONS"}:
            return True
        scope = getattr(view, "throttle_scope", _DEFAULT_SCOPE)
        if scope is None or (rate := self.THROTTLE_RATES[scope]) is None:
            return True
        limit, window = _parsed(rate)
        count = _count(scope=scope, who=_who(request), limit=limit, window=window)
        self._left = count.left
        view.headers.update(count.headers())
        return count.allowed

    def wait(self) -> float:
        """Seconds until it is free again."""
        return self._left


class ReadThrottle(BaseThrottle):
    """Limits reads, by user, or by address for anonymous callers."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if request.method not in {"GET", "HEAD"} or getattr(view, "throttle_scope", "") is None:
            return True
        scope = READS if request.user and request.user.is_authenticated else ANONYMOUS_READS
        limit: int = settings.API_READS_PER_MINUTE[scope]
        if not limit:
            return True
        count = _count(scope=scope, who=_who(request), limit=limit, window=_WINDOW)
        self._left = count.left
        view.headers.update(count.headers())
        return count.allowed

    def wait(self) -> float:
        """Seconds until it is free again."""
        return self._left


def seconds_to_wait(request: HttpRequest, *, scope: str) -> int:
    """Count a request of a page with those of the API's scope. Returns 0 if it is allowed, else the seconds to wait."""
    rate = Throttle.THROTTLE_RATES[scope]
    if rate is None:
        return 0
    limit, window = _parsed(rate)
    count = _count(scope=scope, who=_who(request), limit=limit, window=window)
    return 0 if count.allowed else max(1, math.ceil(count.left))


def _who(request: HttpRequest | Request) -> str:
    if request.user and request.user.is_authenticated:
        return f"user-{request.user.pk}"
    return address_of(request)


def _count(*, scope: str, who: str, limit: int, window: int) -> _Count:
    key = f"rate:{scope}:{who}"
    if (left := (_refused.get(key) or 0.0) - time.monotonic()) > 0:
        return _Count(scope=scope, limit=limit, window=window, used=limit + 1, left=left)
    used, left = count_up(key, seconds=window)
    if used > limit:
        _refused.put(key, time.monotonic() + left)
    return _Count(scope=scope, limit=limit, window=window, used=used, left=left)


def _parsed(rate: str) -> tuple[int, int]:
    number, period = rate.split("/")
    return int(number), {"s": 1, "m": 60, "h": 3600, "d": 86_400}[period[0]]
