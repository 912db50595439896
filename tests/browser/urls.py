"""The site's addresses, and some that break in ways for which there is a page."""

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.csrf import csrf_failure

from leaderboard.wiring import urls


def malformed(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("broken on purpose, for its page to be looked at")


def too_many(request: HttpRequest) -> HttpResponse:
    from allauth.core.ratelimit import respond_429

    return respond_429(request)


urlpatterns = [
    *urls.urlpatterns,
    path("broken/400/", malformed),
    path("broken/403/", csrf_failure),
    path("broken/429/", too_many),
    path("broken/500/", broken),
]
