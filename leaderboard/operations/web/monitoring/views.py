"""`GET /metrics` for Prometheus and the scalers of worker pools, and the public page `/status/`."""

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
from leaderboard.operations.monitoring.history import KEPT_DAYS, outages, part_histories
from leaderboard.operations.monitoring.requests import POOL, measured
from leaderboard.operations.monitoring.status import checked_status, verdict
from leaderboard.operations.web.monitoring.history import outage_row, part_row
from leaderboard.platform.operators import is_operator
from leaderboard.queue.pools import demand_of, pool_named
from leaderboard.queue.workers.doctor_reports import latest

_FIGURES = DatabaseFigures()


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All figures in the text format of Prometheus, or of OpenMetrics with exemplars.

    If PLANARENA_METRICS_TOKEN is set, callers must send it as a bearer token. Otherwise the page exists only in demo
    mode and for requests from this machine.
    """
    if (refusal := _refusal(request)) is not None:
        return refusal
    POOL.look()
    accepted = request.headers.get("Accept", "")
    encode: Callable[[Collector], bytes]
    encode, content_type = generate_latest, CONTENT_TYPE_LATEST
    if "application/openmetrics-text" in accepted:
        encode, content_type = choose_encoder(accepted)
    return HttpResponse(encode(_AllFigures()), content_type=content_type)


@never_cache
@require_safe
def pool_demand(request: HttpRequest, pool: str) -> HttpResponse:
    """The current `Demand` of a worker pool, as JSON for its scaler. Same access as `metrics`."""
    if (refusal := _refusal(request)) is not None:
        return refusal
    known = pool_named(pool)
    if known is None:
        raise Http404("There is no such pool.")
    return JsonResponse(asdict(demand_of(known)))


@never_cache
@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """The public status: what waits, for how long, and why."""
    current = checked_status()
    context = {"status": current, "verdict": verdict(current), "others": current.findings[1:]}
    if not current.is_known:
        # Without context processors, which need the database for the user.
        return HttpResponse(render_to_string("operations/status.html", context), status=503)
    context |= {
        "is_operator": is_operator(request.user),
        "parts": [part_row(part) for part in part_histories(now=current.at)],
        "outages": [outage_row(outage, now=current.at) for outage in outages()],
        "kept_days": KEPT_DAYS,
        "reports": latest(with_problems=is_operator(request.user)),
    }
    return render(request, "operations/status.html", context)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """The response to a caller who may not read figures; else None.

    Raises:
        Http404: this installation has no metrics page.
    """
    if settings.METRICS_TOKEN:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        is_right = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
        if scheme.lower() != "bearer" or not is_right:
            return HttpResponse("the token is wrong\n", content_type="text/plain", status=401)
    elif not (settings.DEMO and _is_local(request)):
        raise Http404("There is no such page.")
    return None


class _AllFigures:
    """The database's figures and those of this process, as one collector."""

    def collect(self) -> Iterator[Metric]:
        # Not registered at start-up, because registration collects once and thus queries the database.
        yield from _FIGURES.collect()
        yield from measured().collect()


def _is_local(request: HttpRequest) -> bool:
    """Whether the request comes from this machine, and not through a proxy."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
