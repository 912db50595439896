"""How often somebody may change or read something, and how they learn of it before they are refused.

Each process of the site counts what it answers itself.
"""

import math
import time
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle, ScopedRateThrottle, SimpleRateThrottle

_DEFAULT_SCOPE = "changes"
READS, ANONYMOUS_READS = "reads", "anonymous-reads"


class Throttle(ScopedRateThrottle):
    """Counts what changes something, by the view's `throttle_scope` and by user, or by address for who has none.

    Reading is counted by `ReadThrottle`; workers, whose lease and heartbeat say how often they call, by nobody.
    """

    def allow_request(self, request: Request, view: Any) -> bool:
        if request.method in {"GET", "HEAD", "OPTIONS"}:
            return True
        self.scope = getattr(view, "throttle_scope", _DEFAULT_SCOPE)
        if self.scope is None:
            return True
        self.rate = self.get_rate()
        if self.rate is None:
            return True
        self.num_requests, self.duration = self.parse_rate(self.rate)
        # Of the scope itself: the base class would read it from the view again.
        allowed = super(ScopedRateThrottle, self).allow_request(request, view)
        view.headers.update(self.headers())
        return allowed

    def headers(self) -> dict[str, str]:
        """What the answer says of the limit."""
        oldest = self.history[-1] if self.history else self.now
        return _headers(
            scope=str(self.scope),
            limit=self.num_requests,
            window=self.duration,
            used=len(self.history),
            resets=oldest + self.duration - self.now,
        )


class ReadThrottle(BaseThrottle):
    """Counts what is read, by user, or by address for who has not signed in. A window is a minute of the clock: one
    number to count up, however much is read."""

    window = 60
    clock = staticmethod(time.time)

    def allow_request(self, request: Request, view: Any) -> bool:
        if request.method not in {"GET", "HEAD"} or getattr(view, "throttle_scope", "") is None:
            return True
        user = request.user.pk if request.user and request.user.is_authenticated else None
        scope = ANONYMOUS_READS if user is None else READS
        limit: int = settings.API_READS_PER_MINUTE[scope]
        if not limit:
            return True
        now = self.clock()
        who = self.get_ident(request) if user is None else user
        used = self._count(key=f"{scope}:{who}:{int(now // self.window)}")
        self._left = self.window - now % self.window
        view.headers.update(_headers(scope=scope, limit=limit, window=self.window, used=used, resets=self._left))
        return used <= limit

    def wait(self) -> float:
        """Seconds until it is free again."""
        return self._left

    def _count(self, *, key: str) -> int:
        cache.add(key, 0, timeout=2 * self.window)
        try:
            return cache.incr(key)
        except ValueError:
            # It was thrown out between the two calls, by so many others that counting one reader less does no harm.
            return 1


def _headers(*, scope: str, limit: int, window: int, used: int, resets: float) -> dict[str, str]:
    """`RateLimit-Policy` and `RateLimit`, as the IETF's draft "RateLimit header fields for HTTP" has them."""
    return {
        "RateLimit-Policy": f'"{scope}";q={limit};w={window}',
        "RateLimit": f'"{scope}";r={max(0, limit - used)};t={max(0, math.ceil(resets))}',
    }


def seconds_to_wait(request: HttpRequest, *, scope: str) -> int:
    """Count a request of a page, with those of the same scope of the API; 0: it may go on, else how long to wait."""
    throttle = _OfPage(scope)
    if throttle.rate is None or throttle.allow_request(request, None):  # type: ignore[arg-type]
        return 0
    return max(1, math.ceil(throttle.wait() or 1))


class _OfPage(SimpleRateThrottle):
    """As `Throttle`, for views that are not of the API."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__()

    def get_cache_key(self, request: Request, view: Any) -> str:  # noqa: ARG002 - the base class's
        ident = request.user.pk if request.user.is_authenticated else self.get_ident(request)
        return str(self.cache_format % {"scope": self.scope, "ident": ident})
