"""`manage.py seal_again`: encrypt users' secrets under the first key of PLANARENA_SECRETS_KEY."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import Model

from leaderboard.catalog.models import SealedEntry
from leaderboard.catalog.sealed.bodies import encrypt_bodies_again
from leaderboard.messages.models import Webhook
from leaderboard.messages.webhooks import encrypt_secret_again
from leaderboard.people.second_factor import seal_secrets_again
from leaderboard.planners.models import EndpointSecret, RoleSecret
from leaderboard.planners.secret_headers import PURPOSE
from leaderboard.platform.encryption import UnreadableSecretError, encrypt_again


class Command(BaseCommand):
    """Afterwards the older keys are only needed for earlier backups."""

    help = "Encrypt users' secrets under the newest key, so that older ones can be removed from the environment."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        done, lost = seal_secrets_again()
        lost = [f"second factor of {username}" for username in lost]
        for model, field, again in (
            (EndpointSecret, "sealed", lambda stored: encrypt_again(stored, purpose=PURPOSE)),
            (RoleSecret, "sealed", lambda stored: encrypt_again(stored, purpose=PURPOSE)),
            (Webhook, "secret", encrypt_secret_again),
            (SealedEntry, "body", encrypt_bodies_again),
            (SealedEntry, "findings", encrypt_bodies_again),
        ):
            count, unreadable = _rows_again(model=model, field=field, again=again)
            done, lost = done + count, lost + unreadable
        self.stdout.write(f"{done} secret{'' if done == 1 else 's'} encrypted under the first key.")
        if lost:
            raise CommandError(f"No key decrypts these, whose owners must enter them again: {', '.join(lost)}.")


def _rows_again(*, model: type[Model], field: str, again: Callable[[str], str]) -> tuple[int, list[str]]:
    """The number of re-encrypted secrets of a kind, and those that no key decrypts."""
    done, lost = 0, []
    rows = model._default_manager
    for key in rows.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            row = rows.select_for_update().filter(pk=key).first()
            if row is None:
                continue
            try:
                setattr(row, field, again(getattr(row, field)))
            except UnreadableSecretError:
                lost.append(str(row))
            else:
                row.save(update_fields=[field])
                done += 1
    return done, lost
