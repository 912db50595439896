"""Pages of the workbench: ask, watch the plan run, edit it, go on."""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.crypto import salted_hmac
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from evaluator.core.canonical_json import JsonValue
from evaluator.core.marks import Mark, MarkError, MarkKind, mark_of
from evaluator.core.tools.types import ResourceType
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from evaluator.planners.named import planners_of_requests
from evaluator.workbench.files import FileRefusedError, type_of
from evaluator.workbench.own_tasks import task_of_run
from evaluator.workbench.saving import files_of_run
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.models import User
from leaderboard.platform.http.addresses import address_of
from leaderboard.platform.problems import FieldErrors
from leaderboard.workbench import asking
from leaderboard.workbench.asking import GivenFile, NewRun, TooManyRunsError
from leaderboard.workbench.models import Run
from leaderboard.workbench.web.live import stream_of
from leaderboard.workbench.web.presenters import run_page, submit_address

_RECENT = 10
_named = Run.objects.filter(is_blind=False)
_PREPARED = Path(__file__).parent.parent / "prepared"


class Prepared(NamedTuple):
    """A request for the first visit."""

    key: str
    text: str
    file: str


@cache
def prepared() -> tuple[Prepared, ...]:
    """The prepared requests."""
    entries = json.loads((_PREPARED / "requests.json").read_text(encoding="utf-8"))
    return tuple(Prepared(**entry) for entry in entries)


def asker_of(request: HttpRequest) -> tuple[User | None, str]:
    """Owner and asker of a new run."""
    if isinstance(request.user, User):
        return request.user, f"user {request.user.pk}"
    # Not the address itself, which is personal.
    return None, f"address {salted_hmac('workbench', address_of(request)).hexdigest()[:32]}"


def may_ask(request: HttpRequest) -> bool:
    """Whether this reader may start runs."""
    return request.user.is_authenticated or settings.WORKBENCH_IS_OPEN


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def bench(request: HttpRequest) -> HttpResponse:
    """The form, and one's recent runs. Errors have status 400; 429 for too many runs."""
    if request.method != "POST":
        return _form(request)
    if not may_ask(request):
        return redirect_to_login(request.get_full_path())
    chosen = next((one for one in prepared() if one.key == request.POST.get("prepared", "")), None)
    text = request.POST.get("text", "") if chosen is None else chosen.text
    files = uploaded_files(request) if chosen is None else [prepared_file(chosen)]
    try:
        marks = _marks(request, pictures=[file.name for file in files if _is_picture(file.name)])
    except MarkError as error:
        return _form(request, errors={"marks": [str(error)]}, status=400)
    new = NewRun(
        text=text, planner=request.POST.get("planner", ""), suite=request.POST.get("suite", ""), files=files,
        marks=marks,
    )  # fmt: skip
    return _started(request, new)


_LONGEST_MARK = 1000
"""Characters of the places of a mark."""


def _marks(request: HttpRequest, *, pictures: Sequence[str]) -> list[Mark]:
    """The mark of the form, if it has one; in the first picture unless the form names a picture.

    Raises:
        MarkError: it has no such kind, or too few, too many or malformed places.
    """
    written = request.POST.get("mark_at", "").strip().rstrip(";")
    if not written:
        return []
    picture = request.POST.get("mark_picture", "").strip() or next(iter(pictures), "")
    places = [[_side(side) for side in pair.split(",")] for pair in written[:_LONGEST_MARK].split(";")]
    return [mark_of(request.POST.get("mark_kind", MarkKind.POINT), picture=picture, at=places)]


def _side(text: str) -> int:
    """A coordinate; -1, which no mark takes, for a text that is none."""
    return int(text) if text.strip().isdecimal() and len(text) < 8 else -1


def _is_picture(name: str) -> bool:
    try:
        return type_of(name) is ResourceType.IMAGE
    except FileRefusedError:
        return False


def prepared_file(chosen: Prepared) -> GivenFile:
    """The file of a prepared request."""
    return GivenFile(name=chosen.file, data=(_PREPARED / chosen.file).read_bytes())


def uploaded_files(request: HttpRequest) -> list[GivenFile]:
    """The files of a form."""
    return [
        GivenFile(name=(upload.name or "").rpartition("/")[2].replace(" ", "_"), data=upload.read())
        for upload in request.FILES.getlist("files")
    ]


def _started(request: HttpRequest, new: NewRun) -> HttpResponse:
    user, asker = asker_of(request)
    try:
        run = asking.start(new, user=user, asker=asker)
    except FieldErrors as error:
        return _form(request, errors=error.errors, status=400)
    except TooManyRunsError as error:
        return _form(request, errors={"": [str(error)]}, status=429)
    return redirect("workbench:run", run_id=run.pk)


def _form(request: HttpRequest, *, errors: dict[str, list[str]] | None = None, status: int = 200) -> HttpResponse:
    user, asker = asker_of(request)
    suites = asking.suites()
    slug = request.POST.get("suite") or request.GET.get("suite") or (suites[0].slug if suites else "")
    context = {
        "may_ask": may_ask(request), "suites": suites, "suite": slug, "has_own_worker": settings.LOCAL_RUN_WORKERS > 0,
        "bundled": planners_of_requests(slug) if slug else [], "planners": asking.planners_for(user),
        "prepared": prepared(), "errors": [text for texts in (errors or {}).values() for text in texts],
        "text": request.POST.get("text", "")[: asking.LONGEST_REQUEST], "chosen": request.POST.get("planner", ""),
        "recent": _named.filter(asker=asker).select_related("planner").order_by("-created")[:_RECENT],
    }  # fmt: skip
    return render(request, "workbench/bench.html", context, status=status)


def _run(run_id: UUID) -> Run:
    return get_object_or_404(_named.select_related("planner", "owner", "after"), pk=run_id)


def _is_own(request: HttpRequest, *, run: Run) -> bool:
    return run.asker == asker_of(request)[1]


@never_cache
@require_safe
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """One run, for everybody who knows its address."""
    found = _run(run_id)
    asking.note_reader(found.pk)
    context: dict[str, Any] = {
        "page": run_page(found), "is_own": _is_own(request, run=found), "may_ask": may_ask(request),
        "submit_address": submit_address(found, reader=request.user),
    }  # fmt: skip
    return render(request, "workbench/run.html", context)


@require_GET
def events(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """Stream the events of a run until it has ended."""
    return stream_of(request, run=_run(run_id))


@require_POST
def cancel(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Cancel one's own run."""
    found = _run(run_id)
    if not _is_own(request, run=found):
        raise Http404
    asking.cancel(found.pk, reason="You cancelled it.")
    return redirect("workbench:run", run_id=run_id)


@require_POST
def again(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Run the edited plan: only what changed is executed, since the worker's store has the rest."""
    found = _run(run_id)
    if not may_ask(request):
        return redirect_to_login(request.get_full_path())
    plan = request.POST.get("plan", "")
    return _started(request, _following(found, text=found.text, plan=plan, after=found.after, files=found))


@require_POST
def follow(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Ask the next request of a dialogue, which may name the files and results of this one."""
    found = _run(run_id)
    if not may_ask(request):
        return redirect_to_login(request.get_full_path())
    try:
        marks = _marks(request, pictures=())
    except MarkError as error:
        return _form(request, errors={"marks": [str(error)]}, status=400)
    new = _following(found, text=request.POST.get("text", ""), plan=None, after=found, files=None)
    return _started(request, replace(new, marks=marks))


def _following(run: Run, *, text: str, plan: JsonValue | None, after: Run | None, files: Run | None) -> NewRun:
    planner = run.bundled_name or (str(run.planner_id) if run.planner_id else "")
    given = (
        []
        if files is None
        else [GivenFile(name=file.name, data=bytes(file.data)) for file in files.files.all() if file.data is not None]
    )
    before = [] if after is None else after.marks
    marks = () if files is None else asking.stored_marks(files.marks[len(before) :])
    return NewRun(text=text, planner=planner, suite=run.suite, files=given, marks=marks, plan=plan, after=after)


@require_safe
def bundle(request: HttpRequest, run_id: UUID) -> HttpResponse:  # noqa: ARG001 - the view's signature
    """A run as a zip: its events, its plan, its files and results."""
    found = _run(run_id)
    out = io.BytesIO()
    seen = [event.body for event in found.events.all()]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files_of_run(request=found.text, suite=found.suite, events=seen, fetch=_stored):
            archive.writestr(path, data)
    headers = {"Content-Disposition": f'attachment; filename="run-{str(run_id)[:8]}.zip"'}
    return HttpResponse(out.getvalue(), content_type="application/zip", headers=headers)


@require_safe
def task(request: HttpRequest, run_id: UUID) -> HttpResponse:  # noqa: ARG001 - the view's signature
    """A run as a task of one's own suite; 404 unless its plan ran to the end."""
    found = _run(run_id)
    made = task_of_run(suite=found.suite, request=found.text, events=[event.body for event in found.events.all()])
    if made is None:
        raise Http404("Its plan did not run to the end.")
    headers = {"Content-Disposition": f'attachment; filename="task-{str(run_id)[:8]}.json"'}
    return HttpResponse(json.dumps(made, indent=2), content_type="application/json", headers=headers)


def _stored(digest: str) -> bytes | None:
    try:
        return server_store(split="").get(digest).data
    except (ObjectMissingError, ObjectDamagedError):
        return None
