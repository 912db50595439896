"""The search page, and its results alone for the palette. Finds only planners and evaluations that the reader can
see."""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from leaderboard.catalog.models import Task, current_suites
from leaderboard.evaluations.visibility import Reader, visible_evaluations
from leaderboard.help.documents.search import Piece, documentation
from leaderboard.people.web.profiles.services import planners_seen_by

LONGEST = 100
"""Maximum length of a query; the rest is ignored."""
MOST_WORDS = 8
"""Maximum number of words, since each is a condition on every planner and task."""
PER_GROUP = 6
_ID = re.compile(r"[0-9a-f][0-9a-f-]{5,35}")


class Hit(NamedTuple):
    """A search result."""

    title: str
    url: str
    about: str = ""
    excerpt: Sequence[Piece] = ()


class Group(NamedTuple):
    """Hits of one kind; empty groups are left out."""

    title: str
    hits: Sequence[Hit]


def search(*, query: str, reader: Reader, only_docs: bool = False) -> list[Group]:
    """Groups of at most `PER_GROUP` hits.

    Args:
        query: words, all of which must occur.
        reader: limits the results to visible ones.
        only_docs: search only the documentation, with twice as many hits.
    """
    words = query.replace("\x00", "")[:LONGEST].split()[:MOST_WORDS]
    if not words:
        return []
    groups = []
    if not only_docs:
        suites = [
            Hit(suite.title, reverse("suites:suite", args=[suite.slug]), about=suite.slug)
            for suite in current_suites()
            if all(word.lower() in f"{suite.title} {suite.slug}".lower() for word in words)
        ]
        groups = [
            Group("Suites", suites[:PER_GROUP]),
            Group("Planners", _planners(words, reader=reader)),
            Group("Evaluations", _evaluations(words, reader=reader)),
            Group("Tasks", _tasks(words)),
        ]
    groups.append(Group("Documentation", _docs(words, limit=2 * PER_GROUP if only_docs else PER_GROUP)))
    return [group for group in groups if group.hits]


def _planners(words: Sequence[str], *, reader: Reader) -> list[Hit]:
    condition = Q()
    for word in words:
        condition &= Q(name__icontains=word) | Q(owner__username__icontains=word) | Q(model_name__icontains=word)
    return [
        Hit(planner.name, reverse("profiles:planner", args=[planner.pk]), about=f"of {planner.owner.username}")
        for planner in planners_seen_by(reader).filter(condition).order_by("name", "pk")[:PER_GROUP]
    ]


def _evaluations(words: Sequence[str], *, reader: Reader) -> list[Hit]:
    """Evaluations whose id starts with the query."""
    start = words[0].lower()
    if len(words) > 1 or not _ID.fullmatch(start):
        return []
    seen = visible_evaluations(reader).annotate(text=Cast("id", TextField())).filter(text__startswith=start)
    matches = seen.select_related("suite", "submission__planner").order_by("-created")[:PER_GROUP]
    return [
        Hit(
            f"{evaluation.submission.planner.name} on {evaluation.suite.title}",
            reverse("evaluations:detail", args=[evaluation.pk]),
            about=str(evaluation.pk)[:8],
        )
        for evaluation in matches
    ]


def _tasks(words: Sequence[str]) -> list[Hit]:
    """Public requests of the current suites, with links to the list of the suite's tasks."""
    condition = Q()
    for word in words:
        condition &= Q(text__icontains=word) | Q(suite__slug__iexact=word) | Q(key__iexact=word)
    matches = Task.objects.filter(condition, suite__current=True).select_related("suite")
    return [
        Hit(
            task.text,
            f"{reverse('suites:suite', args=[task.suite.slug])}?{urlencode({'q': f'#{task.key}'})}#tasks",
            about=f"{task.suite.title}, {task.key}",
        )
        for task in matches.order_by("suite__slug", "position")[:PER_GROUP]
    ]


def _docs(words: Sequence[str], *, limit: int) -> list[Hit]:
    return [
        Hit(f"{match.page}: {match.heading}" if match.heading else match.page, match.url, excerpt=match.excerpt)
        for match in documentation().find(words=" ".join(words), limit=limit)
    ]


@require_safe
@cache_control(private=True, max_age=30)
def find(request: HttpRequest) -> HttpResponse:
    """Search for `q`; with `in=docs` only in the documentation, with `part=results` without the surrounding page."""
    query, only_docs = request.GET.get("q", "").strip(), request.GET.get("in") == "docs"
    groups = search(query=query, reader=request.user, only_docs=only_docs)
    context = {"query": query[:LONGEST], "only_docs": only_docs, "groups": groups}
    template = "help/search/results.html" if request.GET.get("part") == "results" else "help/search/page.html"
    return render(request, template, context)
