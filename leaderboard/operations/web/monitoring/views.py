"""`GET /metrics`, for Prometheus and the scalers of worker pools alone, and `/status/` for everybody."""

import hmac
from collections.abc import Callable, Iterator
from dataclasses import asdict
from ipaddress import ip_address

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from leaderboard.operations.monitoring.figures import DatabaseFigures
from leaderboard.operations.monitoring.requests import POOL, measured
from leaderboard.operations.monitoring.status import checked_status, verdict
from leaderboard.platform.operators import is_operator
from leaderboard.queue.pools import demand_of, pool_named

_FIGURES = DatabaseFigures()


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All figures in Prometheus's text format, or in OpenMetrics's, which has exemplars.

    With PLANARENA_METRICS_TOKEN set the caller must send it as a bearer token. Without it there is no such page, but
    in demo mode this machine itself may look.
    """
    if (refusal := _refusal(request)) is not None:
        return refusal
    POOL.look()
    encode, content_type = _format_for(request.headers.get("Accept", ""))
    return HttpResponse(encode(_AllFigures()), content_type=content_type)


@never_cache
@require_safe
def pool_demand(request: HttpRequest, pool: str) -> HttpResponse:
    """What a worker pool needs now (`Demand`), as JSON for its scaler. Who may call: as `metrics`."""
    if (refusal := _refusal(request)) is not None:
        return refusal
    found = pool_named(pool)
    if found is None:
        raise Http404("There is no such pool.")
    return JsonResponse(asdict(demand_of(found)))


@never_cache
@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """How the site is doing, for everybody: what waits, for how long, and why."""
    found = checked_status()
    shown = {"status": found, "verdict": verdict(found), "others": found.findings[1:]}
    if not found.is_known:
        # Who asks is in the database, too.
        return HttpResponse(render_to_string("operations/status.html", shown), status=503)
    return render(request, "operations/status.html", {**shown, "is_operator": is_operator(request.user)})


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """The answer to a caller who may not read figures; None to one who may.

    Raises:
        Http404: this installation shows none.
    """
    if settings.METRICS_TOKEN:
        if not _has_token(request):
            return HttpResponse("the token is wrong\n", content_type="text/plain", status=401)
    elif not (settings.DEMO and _is_from_here(request)):
        raise Http404("There is no such page.")
    return None


class _AllFigures:
    """The database's figures and those of this process, as one collector."""

    def collect(self) -> Iterator[Metric]:
        # Not registered when the process starts: registering a collector asks it, and the database, at once.
        yield from _FIGURES.collect()
        yield from measured().collect()


def _format_for(accepted: str) -> tuple[Callable[[Collector], bytes], str]:
    """What writes figures for a caller, and how it calls the result."""
    if "application/openmetrics-text" in accepted:
        return choose_encoder(accepted)
    return generate_latest, CONTENT_TYPE_LATEST


def _has_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())


def _is_from_here(request: HttpRequest) -> bool:
    """Whether the request comes from this machine and was not passed on by a proxy on it."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
