"""The server's stores, the views of their artefacts, and records without withheld parts.

There are two stores: a public one, and one for operators with the artefacts and records of the hidden split, which
planners could otherwise be trained on. Only the worker's protocol writes to them, and selects one by the evaluation's
split.
"""

import json
import re
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified, HttpResponseRedirect
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from evaluator.core import canonical_json
from evaluator.core.private_files import private_folder
from evaluator.core.records import ResultRecord
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.values import Artefact, MediaType, sound_of_clip
from evaluator.core.web_pages import POLICY, elements_of
from evaluator.execution.engine.store import DurableStore, LocalStore, ObjectDamagedError, ObjectMissingError, Store
from leaderboard.evaluations.visibility import is_gold_record, is_open_record
from leaderboard.evaluations.withheld import Withheld
from leaderboard.platform.operators import is_operator

_PRESIGNED_SECONDS = 300
_PARTS = frozenset({"sound", "page"})
_RANGE = re.compile(r"bytes=([0-9]{1,12})-([0-9]{0,12})")


def server_store(*, split: str) -> DurableStore:
    """The store of artefacts and records of evaluations on this split."""
    name = "hidden" if split == HIDDEN else "public"
    if settings.STORE_URL:
        return _bucket(settings.STORE_URL, name=name)
    return _store(settings.STORE_DIR / name)


@cache
def _store(path: Path) -> LocalStore:
    # Not readable by other users of this machine: the public store has results of private submissions, too.
    return LocalStore(private_folder(path), durable=True)


@cache
def _bucket(url: str, *, name: str) -> DurableStore:
    # Imported lazily: sites with a folder do not need it.
    from evaluator.execution.engine.s3.bucket import Bucket, client_for, place_from
    from evaluator.execution.engine.s3.durable import DurableS3Store

    place = place_from(url)
    # Fail fast: clients retry.
    client = client_for(place.endpoint, tries=2, read_timeout=10.0)
    return DurableS3Store(Bucket(place=place, client=client).below(name))


def read_record(*, digest: str, store: Store) -> ResultRecord | None:
    """The record with this digest; None if the store has lost it or it has another version."""
    try:
        return ResultRecord.model_validate_json(store.get(digest).data)
    except (ObjectMissingError, ObjectDamagedError, ValidationError):
        return None


def object_url(*, digest: str, split: str) -> str:
    """URL of an artefact of an evaluation on this split."""
    return reverse("hidden-object" if split == HIDDEN else "object", kwargs={"digest": digest})


@require_safe
def artefact(request: HttpRequest, digest: str) -> HttpResponse:
    """One immutable artefact: `GET /objects/<digest>`, the sound of a clip (`?part=sound`), or a text as the web page
    that a tool made (`?part=page`), for a sandboxed frame.

    Withheld records of gold plans are for operators only. Records of the hidden split are public once their data are.
    """
    part = request.GET.get("part")
    etag = f'"{digest}{f"/{part}" if part in _PARTS else ""}"'
    if settings.SPLIT == HIDDEN and is_gold_record(digest):
        return _for_operators(request, store=server_store(split=""), digest=digest)
    if request.headers.get("If-None-Match") == etag:
        return HttpResponseNotModified()
    store = server_store(split="")
    if redirect := _to_the_bucket(request, store=store, digest=digest):
        return redirect
    try:
        response = _served(request, store=store, digest=digest)
    except Http404:
        if not is_open_record(digest):
            raise
        response = _served(request, store=server_store(split=HIDDEN), digest=digest)
    if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        response["Cache-Control"] = "no-store"
        return response
    response["Cache-Control"] = "public, max-age=31536000, immutable"
    response["ETag"] = etag
    patch_vary_headers(response, ["Sec-Fetch-Dest"] if settings.STORE_ORIGIN else [])
    return response


@require_safe
def hidden_artefact(request: HttpRequest, digest: str) -> HttpResponse:
    """One artefact of the hidden split: `GET /hidden-objects/<digest>`, for staff only."""
    return _for_operators(request, store=server_store(split=HIDDEN), digest=digest)


def _to_the_bucket(request: HttpRequest, *, store: DurableStore, digest: str) -> HttpResponse | None:
    """Redirect a browser that loads a public picture of a page to the bucket; None: this site serves the artefact.

    Programs get a direct response, because not all of them follow redirects, and so do documents, because this site's
    headers prevent scripts in them from running.
    """
    if not settings.STORE_ORIGIN or request.headers.get("Sec-Fetch-Dest") != "image":
        return None
    from evaluator.execution.engine.s3.durable import DurableS3Store

    url = None
    if isinstance(store, DurableS3Store):
        url = store.presigned_picture(digest=digest, seconds=_PRESIGNED_SECONDS)
    if url is None:
        return None
    response = HttpResponseRedirect(url)
    # Cached for less time than the URL is valid.
    response["Cache-Control"] = f"private, max-age={_PRESIGNED_SECONDS // 2}"
    response["Referrer-Policy"] = "no-referrer"
    patch_vary_headers(response, ["Sec-Fetch-Dest"])
    return response


def _for_operators(request: HttpRequest, *, store: Store, digest: str) -> HttpResponse:
    if not is_operator(request.user):
        raise Http404("There is no such artefact.")
    response = _served(request, store=store, digest=digest)
    response["Cache-Control"] = "private, no-store"
    return response


def _served(request: HttpRequest, *, store: Store, digest: str) -> HttpResponse:
    try:
        artefact = store.get(digest)
        if request.GET.get("part") == "sound":
            artefact = Artefact(data=sound_of_clip(artefact.data), media_type=MediaType.SOUND)
    except (ObjectMissingError, ObjectDamagedError, ValueError) as error:
        raise Http404("There is no such artefact.") from error
    if request.GET.get("part") == "page":
        return _page(artefact)
    response = _whole_or_range(request, artefact)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = "inline"
    # Prevents scripts in the artefact from running.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def _page(artefact: Artefact) -> HttpResponse:
    """A text as a web page that only pages of this site may frame. It has an origin of its own and runs no scripts.

    Raises:
        Http404: it is no page, or not a passive one.
    """
    try:
        if artefact.media_type != MediaType.TEXT:
            raise ValueError
        page = artefact.data.decode("utf-8")
        elements_of(page)
    except ValueError as error:
        raise Http404("There is no such artefact.") from error
    response = HttpResponse(page, content_type="text/html; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    response["X-Frame-Options"] = "SAMEORIGIN"
    response["Content-Security-Policy"] = f"{POLICY}; frame-ancestors 'self'; sandbox"
    return response


def _whole_or_range(request: HttpRequest, artefact: Artefact) -> HttpResponse:
    """The bytes, or the requested range of a sound: some browsers play only what is served in ranges."""
    data, kind = artefact.data, MediaType(artefact.media_type).value
    if artefact.media_type != MediaType.SOUND:
        return HttpResponse(data, content_type=kind)
    found = _RANGE.fullmatch(request.headers.get("Range", ""))
    if found and found[2] and int(found[2]) < int(found[1]):
        found = None  # no range, and to be ignored
    first = int(found[1]) if found else 0
    last = min(int(found[2]) if found and found[2] else len(data) - 1, len(data) - 1)
    if first > last:
        return HttpResponse(
            status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers={"Content-Range": f"bytes */{len(data)}"}
        )
    response = HttpResponse(data[first : last + 1], content_type=kind, status=206 if found else 200)
    response["Accept-Ranges"] = "bytes"
    if found:
        response["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
    return response


def shown_record(*, digest: str, store: Store, withheld: Withheld) -> bytes:
    """A record as JSON: the stored bytes, or a copy without withheld fields.

    Raises:
        ObjectMissingError: the store has lost it.
        ObjectDamagedError: the stored bytes are corrupt.
    """
    data = store.get(digest).data
    fields = withheld.without()
    if not fields:
        return data
    record: dict[str, Any] = json.loads(data)
    return canonical_json.dumps({**record, **fields}).encode()
