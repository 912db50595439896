"""`manage.py reopen_account NAME`: reopens a closed account at its owner's request."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.leaving.closing import reopen_account
from leaderboard.people.models import User


class Command(BaseCommand):
    """Reopens a closed account."""

    help = "Let the owner of a closed account sign in again. Confirm the requester's identity first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="user whose account to reopen")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no user called {options['username']!r}.")
        if not reopen_account(user=user, by=None):
            raise CommandError(f"The account of {user.username} is not closed.")
        self.stdout.write(f"{user.username} can sign in again with the old password. Revoked tokens stay revoked.")
