"""Asking once: a request that carries an `Idempotency-Key` submits once, however often it arrives.

The key is written in the transaction of the submission, so that neither is there without the other. Of two requests
that arrive at once the second waits in the database for the end of the first: it then finds the submission, or, if the
first was refused, makes its own.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from leaderboard.evaluations.models import IdempotencyKey, Submission
from leaderboard.people.models import User
from leaderboard.platform.field_errors import FieldErrors
from leaderboard.platform.problems import ProblemError

Prepared = TypeVar("Prepared")
LASTS = timedelta(hours=24)
LONGEST_KEY = 255


class KeyReusedError(ProblemError):
    """The key came before with another request; nothing was changed."""

    status = 422
    code = "idempotency_key_reused"

    def __init__(self, key: str) -> None:
        super().__init__(f"The Idempotency-Key {key!r} came before with another request: use a new one for this.")


class WrongKeyError(FieldErrors):
    """The key is invalid; nothing was changed."""

    def __init__(self) -> None:
        sentence = f"An Idempotency-Key has 1 to {LONGEST_KEY} printable ASCII characters."
        super().__init__({"Idempotency-Key": [sentence]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """The result of a request."""

    submission: Submission
    repeated: bool
    """Whether an earlier request with the same key made it."""


def submit_once(
    *,
    user: User,
    key: str | None,
    request: Any,
    prepare: Callable[[], Prepared],
    submit: Callable[[Prepared], Submission],
) -> Once:
    """Submit, unless the user's same request did within the last day.

    Args:
        key: of the request; None: every request submits.
        request: what must be the same, anything that is JSON.
        prepare: what precedes the transaction, since it may wait for others' servers.
        submit: submits what `prepare` returned.

    Raises:
        WrongKeyError: the key cannot be one.
        KeyReusedError: the key came with another request.
        Exception: whatever `prepare` and `submit` raise; the key is as if it had never come.
    """
    if key is None:
        return Once(submission=submit(prepare()), repeated=False)
    digest = digest_of(key=key, request=request)
    if (earlier := submission_for(user=user, key=key, digest=digest)) is not None:
        return Once(submission=earlier, repeated=True)
    prepared = prepare()
    with transaction.atomic():
        IdempotencyKey.objects.filter(user=user, created__lt=timezone.now() - LASTS).delete()
        # Waits here for a request with this key that is under way.
        IdempotencyKey.objects.bulk_create([IdempotencyKey(user=user, key=key, digest=digest)], ignore_conflicts=True)
        if (earlier := submission_for(user=user, key=key, digest=digest)) is not None:
            return Once(submission=earlier, repeated=True)
        submission = submit(prepared)
        IdempotencyKey.objects.filter(user=user, key=key).update(submission=submission)
    return Once(submission=submission, repeated=False)


def digest_of(*, key: str, request: Any) -> str:
    """The digest by which a request that came with a key is known again.

    Raises:
        WrongKeyError: the key cannot be one.
    """
    if not 1 <= len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise WrongKeyError
    # Escaped: a request may hold halves of surrogate pairs, which have no bytes of their own.
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode("ascii")).hexdigest()


def submission_for(*, user: User, key: str, digest: str) -> Submission | None:
    """What the user's request with this key submitted within the last day; None: nothing yet.

    Raises:
        KeyReusedError: the key came with another request.
    """
    recent = IdempotencyKey.objects.filter(user=user, key=key, created__gte=timezone.now() - LASTS)
    row = recent.select_related("submission").first()
    if row is not None and row.digest != digest:
        raise KeyReusedError(key)
    return None if row is None else row.submission
