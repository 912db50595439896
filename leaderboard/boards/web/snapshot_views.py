"""The page that lists every snapshot of a board."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import NOT_SHOWN
from leaderboard.boards.signing.services import signature_of
from leaderboard.boards.web.page_cache import tagged_page
from leaderboard.catalog.models import Suite

PER_PAGE = 50


@require_safe
def snapshots(request: HttpRequest, suite: str) -> HttpResponse:
    """Every published state of a suite's boards, the newest first, over all its versions and conditions."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    rows = Snapshot.objects.filter(suite__slug=suite).select_related("suite", "signature").order_by("-number")
    rows = rows.defer(*NOT_SHOWN)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    shown = [[one.pk, signature_of(one) is not None] for one in page.object_list]
    parts = [found.digest, found.title, found.description, page.paginator.count, shown]
    newest = page.object_list[0] if shown else None
    context = {"suite": found, "page": page, "snapshot": newest, "here": "snapshots"}
    return tagged_page(
        request=request,
        parts=parts,
        make=lambda: render(request, "boards/snapshots.html", context),
        is_kept=False,
    )
