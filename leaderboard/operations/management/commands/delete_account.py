"""`manage.py delete_account NAME`: erases the data of a user who cannot sign in and requests it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.operations.leaving.closing import delete_account
from leaderboard.people.models import User


class Command(BaseCommand):
    """Deletes an account."""

    help = "Erase a user's personal data. This cannot be undone. Confirm the requester's identity first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="user whose account to delete")
        parser.add_argument("--yes", action="store_true", help="delete; without it, only describe what would happen")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        user = User.objects.filter(username=options["username"], deleted_at=None).first()
        if user is None:
            raise CommandError(f"There is no user called {options['username']!r}.")
        if not options["yes"]:
            count = user.submissions.count()
            raise CommandError(
                f"This erases {user.username} ({user.email}) permanently; {count} submissions remain. Add --yes to "
                "do it."
            )
        delete_account(user=user, by=None)
        self.stdout.write(f"{options['username']} is deleted. Boards and the audit log follow within a few minutes.")
