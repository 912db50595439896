"""The server's stores, the addresses of their artefacts, and records as a reader may have them: one store is public,
the other is for operators.

What evaluations on the hidden split consist of, records included, is kept in a store of its own: whoever could read it
could train on it. Both stores are filled through the worker's protocol alone, which chooses by the evaluation's split.
"""

import json
from functools import cache
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
from evaluator.core.values import MediaType
from evaluator.execution.engine.store import DurableStore, LocalStore, ObjectDamagedError, ObjectMissingError, Store
from leaderboard.evaluations.gold import Withheld, is_gold_record, is_open_record
from leaderboard.platform.operators import is_operator

_PRESIGNED_SECONDS = 300


def server_store(*, split: str) -> DurableStore:
    """Where artefacts and records of evaluations on this split are kept."""
    # Folders beside each other, and nothing else is ever served from this installation's data.
    hidden = split == HIDDEN
    name = "hidden" if hidden else "public"
    if settings.STORE_URL:
        return _bucket(settings.STORE_URL, name=name)
    return _store(settings.STORE_DIR / name)


@cache
def _store(path: Path) -> LocalStore:
    # Others on this machine are not to read it: the public one holds results of private submissions too.
    return LocalStore(private_folder(path), durable=True)


@cache
def _bucket(url: str, *, name: str) -> DurableStore:
    # Imported here: sites with a folder do not need it.
    from evaluator.execution.engine.s3.bucket import Bucket, client_for, place_from
    from evaluator.execution.engine.s3.durable import DurableS3Store

    place = place_from(url)
    # Requests do not wait long: whoever sent one tries again.
    client = client_for(place.endpoint, tries=2, read_timeout=10.0)
    return DurableS3Store(Bucket(place=place, client=client).below(name))


def read_record(*, digest: str, store: Store) -> ResultRecord | None:
    """The record with this digest; None if the store has lost it or it is of another version."""
    try:
        return ResultRecord.model_validate_json(store.get(digest).data)
    except (ObjectMissingError, ObjectDamagedError, ValidationError):
        return None


def object_url(*, digest: str, split: str) -> str:
    """Where an artefact of an evaluation on this split is shown to those who may see it."""
    return reverse("hidden-object" if split == HIDDEN else "object", kwargs={"digest": digest})


@require_safe
def artefact(request: HttpRequest, digest: str) -> HttpResponse:
    """One artefact: `GET /objects/<digest>`. It can never change, so browsers may keep it for ever.

    Records of gold plans are for operators only while these are withheld. Records of the hidden split are for everybody
    once their data are public.
    """
    etag = f'"{digest}"'
    if settings.SPLIT == HIDDEN and is_gold_record(digest):
        return _for_operators(request, store=server_store(split=""), digest=digest)
    if request.headers.get("If-None-Match") == etag:
        return HttpResponseNotModified()
    store = server_store(split="")
    if redirect := _to_the_bucket(request, store=store, digest=digest):
        return redirect
    try:
        response = _served(store=store, digest=digest)
    except Http404:
        if not is_open_record(digest):
            raise
        response = _served(store=server_store(split=HIDDEN), digest=digest)
    response["Cache-Control"] = "public, max-age=31536000, immutable"
    response["ETag"] = etag
    patch_vary_headers(response, ["Sec-Fetch-Dest"] if settings.STORE_ORIGIN else [])
    return response


@require_safe
def hidden_artefact(request: HttpRequest, digest: str) -> HttpResponse:
    """One artefact of the hidden split: `GET /hidden-objects/<digest>`, for staff only."""
    return _for_operators(request, store=server_store(split=HIDDEN), digest=digest)


def _to_the_bucket(request: HttpRequest, *, store: DurableStore, digest: str) -> HttpResponse | None:
    """Leads a browser that shows a public picture on a page to the bucket; None: this site serves what is asked for.

    Programs are served here, since not all of them follow redirections. So is everything else that a browser opens:
    this site's headers keep it from running anything.
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
    # Kept by this browser for less time than the address holds.
    response["Cache-Control"] = f"private, max-age={_PRESIGNED_SECONDS // 2}"
    response["Referrer-Policy"] = "no-referrer"
    patch_vary_headers(response, ["Sec-Fetch-Dest"])
    return response


def _for_operators(request: HttpRequest, *, store: Store, digest: str) -> HttpResponse:
    if not is_operator(request.user):
        raise Http404("There is no such artefact.")
    response = _served(store=store, digest=digest)
    response["Cache-Control"] = "private, no-store"
    return response


def _served(*, store: Store, digest: str) -> HttpResponse:
    try:
        found = store.get(digest)
    except (ObjectMissingError, ObjectDamagedError) as error:
        raise Http404("There is no such artefact.") from error
    response = HttpResponse(found.data, content_type=MediaType(found.media_type).value)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = "inline"
    # Whatever a text says, a browser that opens it runs nothing.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def shown_record(*, digest: str, store: Store, withheld: Withheld) -> bytes:
    """A record as JSON: the stored bytes, or without what is withheld.

    Raises:
        ObjectMissingError: the store has lost it.
        ObjectDamagedError: the same.
    """
    data = store.get(digest).data
    fields = withheld.without()
    if not fields:
        return data
    record: dict[str, Any] = json.loads(data)
    return canonical_json.dumps({**record, **fields}).encode()
