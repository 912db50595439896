"""`manage.py worker_token NAME`: a worker token of the operator's, which can be revoked by itself."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.models import WorkerToken
from leaderboard.queue.workers.tokens import create_worker_token, revoke_worker_token


class Command(BaseCommand):
    """Makes or revokes a token."""

    help = "Make a worker token of the operator's and print it, or revoke those of a name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the token is for")
        parser.add_argument("--revoke", action="store_true", help="revoke the operator's tokens of this name")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        if options["revoke"]:
            found = WorkerToken.objects.filter(owner=None, name=options["name"], revoked_at=None)
            ended = sum(revoke_worker_token(owner=None, token_id=token.pk) for token in found)
            if not ended:
                raise CommandError(f"There is no worker token of the operator's called {options['name']!r}.")
            self.stdout.write(f"Revoked: {ended}.")
            return
        try:
            self.stdout.write(create_worker_token(owner=None, name=options["name"]).token)
        except FieldErrors as error:
            raise CommandError(" ".join(text for texts in error.errors.values() for text in texts)) from error
