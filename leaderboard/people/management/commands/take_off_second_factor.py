"""`manage.py take_off_second_factor NAME`: for users who lost their device and recovery codes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.people.models import User
from leaderboard.people.second_factor import take_off


class Command(BaseCommand):
    """Removes a user's two-factor authentication."""

    help = "Let a user sign in with the password alone. Confirm the requester's identity first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="whose two-factor authentication is removed")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no user called {options['username']!r}.")
        if not take_off(user=user, by=None):
            raise CommandError(f"{user.username} has no two-factor authentication.")
        self.stdout.write(f"{user.username} signs in with the password alone.")
