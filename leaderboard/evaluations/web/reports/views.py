"""Pages of reports, for the reader of this machine."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from leaderboard.evaluations.web.reports.artefacts import media_type_of
from leaderboard.evaluations.web.reports.records import ShownReport
from leaderboard.evaluations.web.reports.state import STATE

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
CONTENT_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
"""Of the files of the built front end."""


def protect(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that lets a page load nothing of other hosts, and no other page embed or read it."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return respond


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All reports; with one report, its page."""
    reports = _reports()
    if len(reports) == 1:
        return redirect("evaluations:detail", next(iter(reports)))
    rows = [report.index_row for report in reports.values()]
    return render(request, "evaluations/reports/index.html", {"rows": rows, "several": True})


@require_safe
def detail(request: HttpRequest, evaluation_id: str) -> HttpResponse:
    """The evaluation of a report: scores, causes, groups, tasks."""
    context = _report(evaluation_id).context(request.GET.dict())
    return render(request, "evaluations/reports/evaluation.html", {**context, **_frame(request)})


@require_safe
def task(request: HttpRequest, evaluation_id: str, key: str) -> HttpResponse:
    """A task of a report: plan, faults, samples."""
    try:
        context = _report(evaluation_id).task_context(key, request.GET.dict())
    except KeyError:
        raise Http404("The report has no such task.") from None
    return render(request, "evaluations/reports/task.html", {**context, **_frame(request)})


@require_safe
def artefact(request: HttpRequest, evaluation_id: str, digest: str) -> HttpResponse:  # noqa: ARG001
    """An artefact in the folder of a report."""
    try:
        found = _report(evaluation_id).artefacts.get(digest)
    except (ObjectMissingError, ObjectDamagedError):
        raise Http404("There is no such artefact.") from None
    response = HttpResponse(found.data, content_type=media_type_of(found))
    # Prevents scripts in the artefact from running.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


@require_safe
def static_file(request: HttpRequest, name: str) -> HttpResponse:  # noqa: ARG001
    """A file of the built front end."""
    file = STATE.front_end.get(name)
    if file is None:
        raise Http404("There is no such file.")
    return HttpResponse(file.read_bytes(), content_type=CONTENT_TYPES.get(file.suffix, "application/octet-stream"))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """400, such as for an unknown Host header."""
    return _problem("Bad request", "Open the address that planarena view printed.", status=400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """404."""
    return _problem("Not found", "No report has this page.", status=404)


def server_error(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """500."""
    return _problem("This page cannot be shown", "The terminal of planarena view says why.", status=500)


def _problem(title: str, sentence: str, *, status: int) -> HttpResponse:
    # Without templates and the request: one of them may be what is wrong.
    html = (
        f'<!DOCTYPE html><html lang="en"><head><title>{title} · PlanArena</title><link rel="stylesheet" '
        f'href="/static/app.css"></head><body><main id="main"><h1>{title}</h1><p>{sentence}</p>'
        '<p><a href="/">To the report</a></p></main></body></html>'
    )
    return HttpResponse(html, status=status)


def _reports() -> Mapping[str, ShownReport]:
    return STATE.reports


def _report(evaluation_id: str) -> ShownReport:
    try:
        return _reports()[evaluation_id]
    except KeyError:
        raise Http404("There is no such report.") from None


def _frame(request: HttpRequest) -> dict[str, Any]:
    return {"several": len(_reports()) > 1, "links_only": getattr(request, "is_bundled", False)}
