"""The page of a search, and its results alone for the palette. Only planners and evaluations that the reader sees."""

import re
from collections.abc import Iterable, Sequence
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
from leaderboard.evaluations.visibility import Reader
from leaderboard.help.documents.search import Piece, documentation
from leaderboard.people.web.profiles.services import planners_seen_by, submitted_evaluations

LONGEST = 100
"""Characters of a query that count."""
MOST_WORDS = 8
"""Words of a query that count: each is a condition on every planner and task."""
PER_GROUP = 6
_ID = re.compile(r"[0-9a-f][0-9a-f-]{5,35}")


class Hit(NamedTuple):
    """One thing that was found."""

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
        query: words; all of them must occur.
        reader: sees what is found.
        only_docs: the documentation alone, with twice as many hits.
    """
    words = query.replace("\x00", "")[:LONGEST].split()[:MOST_WORDS]
    if not words:
        return []
    if only_docs:
        return _filled([Group("Documentation", _docs(words, limit=2 * PER_GROUP))])
    groups = [
        Group("Suites", _suites(words)),
        Group("Planners", _planners(words, reader=reader)),
        Group("Evaluations", _evaluations(words, reader=reader)),
        Group("Tasks", _tasks(words)),
        Group("Documentation", _docs(words, limit=PER_GROUP)),
    ]
    return _filled(groups)


def _filled(groups: Iterable[Group]) -> list[Group]:
    return [group for group in groups if group.hits]


def _suites(words: Sequence[str]) -> list[Hit]:
    found = []
    for suite in current_suites():
        text = f"{suite.title} {suite.slug}".lower()
        if all(word.lower() in text for word in words):
            found.append(Hit(suite.title, reverse("suites:suite", args=[suite.slug]), about=suite.slug))
    return found[:PER_GROUP]


def _planners(words: Sequence[str], *, reader: Reader) -> list[Hit]:
    wanted = Q()
    for word in words:
        wanted &= Q(name__icontains=word) | Q(owner__username__icontains=word) | Q(model_name__icontains=word)
    found = planners_seen_by(reader).filter(wanted).order_by("name", "pk")[:PER_GROUP]
    return [
        Hit(planner.name, reverse("profiles:planner", args=[planner.pk]), about=f"of {planner.owner.username}")
        for planner in found
    ]


def _evaluations(words: Sequence[str], *, reader: Reader) -> list[Hit]:
    """Those whose id begins with the query, which is how people name one."""
    start = words[0].lower()
    if len(words) > 1 or not _ID.fullmatch(start):
        return []
    seen = submitted_evaluations(reader).annotate(text=Cast("id", TextField())).filter(text__startswith=start)
    found = seen.select_related("suite", "submission__planner").order_by("-created")[:PER_GROUP]
    return [
        Hit(
            f"{evaluation.submission.planner.name} on {evaluation.suite.title}",
            reverse("evaluations:detail", args=[evaluation.pk]),
            about=str(evaluation.pk)[:8],
        )
        for evaluation in found
    ]


def _tasks(words: Sequence[str]) -> list[Hit]:
    """Public requests of the current suites; each leads to the list of its suite's tasks."""
    wanted = Q()
    for word in words:
        wanted &= Q(text__icontains=word) | Q(suite__slug__iexact=word) | Q(key__iexact=word)
    found = Task.objects.filter(wanted, suite__current=True).select_related("suite")
    return [
        Hit(
            task.text,
            f"{reverse('suites:suite', args=[task.suite.slug])}?{urlencode({'q': f'#{task.key}'})}#tasks",
            about=f"{task.suite.title}, {task.key}",
        )
        for task in found.order_by("suite__slug", "position")[:PER_GROUP]
    ]


def _docs(words: Sequence[str], *, limit: int) -> list[Hit]:
    return [
        Hit(f"{found.page}: {found.heading}" if found.heading else found.page, found.url, excerpt=found.excerpt)
        for found in documentation().find(words=" ".join(words), limit=limit)
    ]


@require_safe
@cache_control(private=True, max_age=30)
def find(request: HttpRequest) -> HttpResponse:
    """What `q` finds; with `in=docs` in the documentation alone, with `part=results` without the page around it."""
    query, only_docs = request.GET.get("q", "").strip(), request.GET.get("in") == "docs"
    groups = search(query=query, reader=request.user, only_docs=only_docs)
    context = {"query": query[:LONGEST], "only_docs": only_docs, "groups": groups}
    template = "help/search/results.html" if request.GET.get("part") == "results" else "help/search/page.html"
    return render(request, template, context)
