"""How often somebody may change something, and how they learn of it before they are refused."""

import math
from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import ScopedRateThrottle, SimpleRateThrottle

_DEFAULT_SCOPE = "changes"


class Throttle(ScopedRateThrottle):
    """Counts what changes something, by the view's `throttle_scope` and by user, or by address for who has none.

    Reading is not counted; nor are workers, whose lease and heartbeat say how often they call.
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
        """`RateLimit-Policy` and `RateLimit`, as the IETF's draft "RateLimit header fields for HTTP" has them."""
        left = max(0, self.num_requests - len(self.history))
        oldest = self.history[-1] if self.history else self.now
        resets = max(0, math.ceil(oldest + self.duration - self.now))
        return {
            "RateLimit-Policy": f'"{self.scope}";q={self.num_requests};w={self.duration}',
            "RateLimit": f'"{self.scope}";r={left};t={resets}',
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
