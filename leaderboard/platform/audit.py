"""Writing the audit log, within the transaction of the recorded action."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.postgres.fields import ArrayField
from django.db import connection, transaction
from django.db.models import F, Func, JSONField, Model, QuerySet, TextField, Value

from leaderboard.platform.models import Action, AuditEntry

_LONGEST_LABEL = 200
_BATCH = 1000
_PERSONAL_KINDS = ("user", "authtoken", "workertoken", "webhook")
"""Kinds of targets whose labels are personal data: a person's name, or text they wrote."""


def record(
    *,
    by: AbstractBaseUser | None,
    action: Action,
    target: Model,
    label: str = "",
    target_id: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry in the current transaction.

    Args:
        by: the user; None for a command on the operator's machine.
        action: what was done.
        target: the object.
        label: of the object; by default its text.
        target_id: replaces a primary key that is a secret.
        details: JSON values without secrets, since the log is append-only.
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
    """Replace the name of a deleted user by a pseudonym in every entry that they made or that names them.

    Before: nothing; it may be repeated after an interruption. Works in batches, with a transaction each.
    After: no entry has their name, their key as the actor's, or the labels of their tokens and webhooks. Actions and
    targets remain. The pseudonym is random and cannot be traced back to the person.
    """
    own = AuditEntry.objects.filter(actor_key=key)
    labelled = own.filter(target_kind__in=_PERSONAL_KINDS).exclude(label="").exclude(target_kind="user")
    about = AuditEntry.objects.filter(target_kind="user", target=str(key)).exclude(label=pseudonym)
    details = Func(
        F("details"), Value(["user"], ArrayField(TextField())), Value(pseudonym, JSONField()),
        template="jsonb_set(%(expressions)s)", output_field=JSONField(),
    )  # fmt: skip
    _replace(labelled, label="")
    _replace(about, label=pseudonym)
    _replace(AuditEntry.objects.filter(details__user=name), details=details)
    _replace(own, actor=pseudonym, actor_key=None)


def _replace(entries: QuerySet[AuditEntry], **values: Any) -> None:
    """Update entries in batches. The update must make them stop matching the query."""
    while batch := list(entries.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('planarena.erasing_a_person', 'on', true)")
            AuditEntry.objects.filter(pk__in=batch).update(**values)
