"""The page of a search, and its results alone for the palette."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from leaderboard.help.web.search.finding import LONGEST, search


@require_safe
@cache_control(private=True, max_age=30)
def find(request: HttpRequest) -> HttpResponse:
    """What `q` finds; with `in=docs` in the documentation alone, with `part=results` without the page around it."""
    query, only_docs = request.GET.get("q", "").strip(), request.GET.get("in") == "docs"
    groups = search(query=query, reader=request.user, only_docs=only_docs)
    context = {"query": query[:LONGEST], "only_docs": only_docs, "groups": groups}
    template = "help/search/results.html" if request.GET.get("part") == "results" else "help/search/page.html"
    return render(request, template, context)
