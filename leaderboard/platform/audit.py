"""Writing the audit log, within the transaction of what is told of."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.postgres.fields import ArrayField
from django.db import connection, transaction
from django.db.models import F, Func, JSONField, Model, QuerySet, TextField, Value

from leaderboard.platform.models import Action, AuditEntry

_LONGEST_LABEL = 200
_BATCH = 1000
_TELL_OF_THEIR_OWNER = ("user", "authtoken", "workertoken", "webhook")
"""Kinds of targets whose labels are a person's name or their own words."""


def record(
    *,
    by: AbstractBaseUser | None,
    action: Action,
    target: Model,
    label: str = "",
    target_id: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry. It is there if and only if the present transaction is committed.

    `by` is None for a command on the operator's own machine. `target_id` stands in for a primary key that must not be
    told. `details` must hold no secret: the log can never be cleaned.
    """
    AuditEntry.objects.create(
        actor_key=None if by is None else by.pk,
        actor="" if by is None else by.get_username(),
        action=action,
        target_kind=target._meta.model_name or "",
        target=target_id or str(target.pk),
        label=(label or str(target))[:_LONGEST_LABEL],
        details=dict(details or {}),
    )


def pseudonymise(*, key: int, name: str, pseudonym: str) -> None:
    """Call a deleted user by their pseudonym in every entry that they made or that names them.

    Before: nothing; it may have been interrupted. It is done in batches, with a transaction each.
    After: no entry has their name, their key as that of who did something, or the labels of their tokens and webhooks.
    What they did, and to what, stays. The pseudonym is random: nothing leads from it back to the person.
    """
    theirs = AuditEntry.objects.filter(actor_key=key)
    of_theirs = theirs.filter(target_kind__in=_TELL_OF_THEIR_OWNER)
    about = AuditEntry.objects.filter(target_kind="user", target=str(key)).exclude(label=pseudonym)
    named = AuditEntry.objects.filter(details__user=name)
    _replace(of_theirs.exclude(label="").exclude(target_kind="user"), label="")
    _replace(about, label=pseudonym)
    _replace(named, details=_with_user(pseudonym))
    _replace(theirs, actor=pseudonym, actor_key=None)


def _with_user(pseudonym: str) -> Func:
    template = "jsonb_set(%(expressions)s)"
    return Func(
        F("details"), Value(["user"], ArrayField(TextField())), Value(pseudonym, JSONField()),
        template=template, output_field=JSONField(),
    )  # fmt: skip


def _replace(entries: QuerySet[AuditEntry], **values: Any) -> None:
    """Change entries that the condition then no longer finds."""
    while batch := list(entries.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('planarena.erasing_a_person', 'on', true)")
            AuditEntry.objects.filter(pk__in=batch).update(**values)
