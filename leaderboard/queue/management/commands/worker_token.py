"""`manage.py worker_token NAME`: create or revoke an operator's worker token."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.models import WorkerToken
from leaderboard.queue.workers.tokens import create_worker_token, revoke_worker_token


class Command(BaseCommand):
    """Creates or revokes a token."""

    help = "Create an operator's worker token and print it, or revoke the tokens of a name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the token is for")
        parser.add_argument("--revoke", action="store_true", help="revoke the operator's tokens of this name")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        if options["revoke"]:
            tokens = WorkerToken.objects.filter(owner=None, name=options["name"], revoked_at=None)
            revoked = sum(revoke_worker_token(owner=None, token_id=token.pk) for token in tokens)
            if not revoked:
                raise CommandError(f"There is no operator's worker token named {options['name']!r}.")
            self.stdout.write(f"Revoked: {revoked}.")
            return
        try:
            self.stdout.write(create_worker_token(owner=None, name=options["name"]).token)
        except FieldErrors as error:
            raise CommandError(" ".join(text for texts in error.errors.values() for text in texts)) from error
