"""Pages of the documentation."""

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.help.documents.chapters import BY_SLUG, GROUPS, example, page_of, picture, size_of
from leaderboard.help.documents.reference import api_topics
from leaderboard.platform.http.well_known import contact_link


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Two short guides, and all chapters."""
    pictures = {name: size_of(f"{name}.png") for name in ("board", "submit")}
    return render(request, "help/index.html", {"groups": GROUPS, "slug": "index", "pictures": pictures})


@require_safe
def chapter(request: HttpRequest, slug: str) -> HttpResponse:
    """One chapter."""
    if slug not in BY_SLUG:
        raise Http404(f"There is no chapter {slug!r}.")
    context = {"page": page_of(slug), "groups": GROUPS, "slug": slug}
    if slug == "privacy":
        context |= {"operator": settings.OPERATOR, "contact": settings.CONTACT, "contact_link": contact_link()}
    return render(request, "help/chapter.html", context)


@require_safe
def reference(request: HttpRequest) -> HttpResponse:
    """Every call of the API, with examples."""
    return render(request, "help/reference.html", {"topics": api_topics(), "groups": GROUPS, "slug": "reference"})


@require_safe
def example_file(request: HttpRequest, name: str) -> FileResponse:  # noqa: ARG001 - the view's signature
    """A file that a chapter links to, as plain text."""
    path = example(name)
    if path is None:
        raise Http404(f"There is no example {name!r}.")
    return FileResponse(path.open("rb"), content_type="text/plain; charset=utf-8", filename=path.name)


@require_safe
def picture_file(request: HttpRequest, name: str) -> FileResponse:  # noqa: ARG001 - the view's signature
    """A picture of a chapter."""
    path = picture(name)
    if path is None:
        raise Http404(f"There is no picture {name!r}.")
    return FileResponse(path.open("rb"), content_type="image/png", filename=path.name)
