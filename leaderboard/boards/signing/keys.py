"""The signing key of this process, and the site's current and former public keys.

The secret comes from `PLANARENA_SIGNING_KEY`. A process without it (optionally the web processes) publishes unsigned
snapshots, which the queue's processes sign within seconds (`signing.tasks`).
"""

import logging
from datetime import datetime
from functools import cache

from django.conf import settings

from evaluator.core.signatures.documents import KeyEntry, digested_keys
from evaluator.core.signatures.envelope import Envelope, PrivateKey, PublicKey, seal
from evaluator.core.signatures.statements import KeysStatement, KeyStatement
from leaderboard.boards.models import SigningKey
from leaderboard.platform.coordination.locks import Lock, lock_until_commit
from leaderboard.platform.database import database_now

logger = logging.getLogger(__name__)


def signing_key() -> PrivateKey | None:
    """The current signing key; None if this process has none, or only a replaced one.

    Before: within a transaction.
    After: the key is registered among the site's public keys.
    """
    if not settings.SIGNING_KEYS:
        return None
    key = _private(settings.SIGNING_KEYS[0])
    row = SigningKey.objects.filter(pk=key.public.id).first()
    if row is None or row.listing is None:
        row = _register(key)
    if row.retired is not None:
        logger.warning(
            "nothing is signed: key %s was replaced at %s; restart this process with the current PLANARENA_SIGNING_KEY",
            row.pk, row.retired,
        )  # fmt: skip
        return None
    return key


def first_signed_at() -> datetime | None:
    """When this site first signed anything, or None."""
    return SigningKey.objects.order_by("created").values_list("created", flat=True).first()


def public_keys() -> dict[str, PublicKey]:
    """All public keys of this site, by id."""
    return {key.pk: PublicKey.from_text(key.public_key) for key in SigningKey.objects.all()}


def _register(key: PrivateKey) -> SigningKey:
    """Make a new key the current one, introduced by the previous key if its secret is available."""
    # Two processes may start with a new key; the second finds it registered.
    lock_until_commit(Lock.SIGNING_KEYS)
    row = SigningKey.objects.filter(pk=key.public.id).first()
    now = database_now()
    if row is None:
        before = SigningKey.objects.filter(retired=None).first()
        introduction = None if before is None else _introduction(key=key, before=before, created=now)
        SigningKey.objects.filter(retired=None).update(retired=now)
        row = SigningKey.objects.create(
            id=key.public.id, public_key=key.public.text, created=now, introduction=introduction
        )
    if row.listing is None and row.retired is None:
        statement = KeysStatement(key=row.pk, keys=digested_keys(key_entries()), signed=now)
        row.listing = seal(statement=statement, key=key).model_dump(mode="json")
        row.save(update_fields=["listing"])
    return row


def key_entries() -> list[KeyEntry]:
    """The public keys of this site, newest first."""
    return [
        KeyEntry(
            id=key.pk,
            algorithm="ed25519",
            public_key=key.public_key,
            created=key.created,
            retired=key.retired,
            introduction=None if key.introduction is None else Envelope.model_validate(key.introduction),
        )
        for key in SigningKey.objects.order_by("-created", "pk")
    ]


def _introduction(*, key: PrivateKey, before: SigningKey, created: datetime) -> dict[str, object] | None:
    for secret in settings.SIGNING_KEYS[1:]:
        old = _private(secret)
        if old.public.id == before.pk:
            statement = KeyStatement(key=old.public.id, introduces=key.public.text, created=created)
            return seal(statement=statement, key=old).model_dump(mode="json")
    logger.warning(
        "signing key %s is not introduced by %s, whose secret is not in PLANARENA_SIGNING_KEY: clients that know the "
        "old key will refuse the new one until their users confirm it",
        key.public.id, before.pk,
    )  # fmt: skip
    return None


@cache
def _private(secret: str) -> PrivateKey:
    return PrivateKey.from_secret(secret)
