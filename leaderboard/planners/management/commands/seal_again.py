"""`manage.py seal_again`: encrypt all that users entrusted to the site under the first key of PLANARENA_SECRETS_KEY."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from leaderboard.planners.models import EndpointSecret
from leaderboard.planners.sealing import UnreadableSecretError, seal_again


class Command(BaseCommand):
    """Afterwards the older keys are needed no more, but for backups that were made before."""

    help = "Encrypt users' secrets under the newest key, so that older ones can be taken out of the environment."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        done, lost = 0, []
        for key in EndpointSecret.objects.order_by("pk").values_list("pk", flat=True):
            with transaction.atomic():
                secret = EndpointSecret.objects.select_for_update().filter(pk=key).first()
                if secret is None:
                    continue
                try:
                    secret.sealed = seal_again(secret.sealed)
                except UnreadableSecretError:
                    lost.append(str(secret))
                else:
                    secret.save(update_fields=["sealed"])
                    done += 1
        self.stdout.write(f"{done} secret{'' if done == 1 else 's'} sealed under the first key.")
        if lost:
            raise CommandError(f"No key opens these, whose owners must enter them again: {', '.join(lost)}.")
