"""`manage.py accept_lock`: rank results of checkpoints that an operator vouches for."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from leaderboard.catalog.library import library
from leaderboard.queue.publishing import accept_locks


class Command(BaseCommand):
    """Accepts the signature of the lock file of this site's profile."""

    help = (
        "Accept the signature of the lock file of PLANARENA_PROFILE, made by `planarena profiles sign` with a key of "
        "PLANARENA_LOCK_KEYS, and rank the completed evaluations that waited for it."
    )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        profile = settings.PROFILE
        if profile not in library().profiles_of_hubs():
            raise CommandError(f"The checkpoints of {profile} are shipped: results need no signature.")
        if problem := library().lock_problem(profile):
            raise CommandError(f"Nobody vouches for the checkpoints of {profile}: {problem}.")
        count = accept_locks()
        self.stdout.write(f"The lock of {profile} is accepted, and {count} more evaluations are ranked.")
