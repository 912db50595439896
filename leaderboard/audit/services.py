"""Writing the audit log, within the transaction of what is told of."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Model

from leaderboard.accounts.models import User
from leaderboard.audit.models import Action, AuditEntry

_LONGEST_LABEL = 200


def record(
    *,
    by: User | None,
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
        target_kind=target._meta.model_name,
        target=target_id or str(target.pk),
        label=(label or str(target))[:_LONGEST_LABEL],
        details=dict(details or {}),
    )
