"""`manage.py prioritise`: the operator's say in whose turn it is."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from leaderboard.accounts.models import User
from leaderboard.evaluations.models import Evaluation

_LARGEST = 1000


class Command(BaseCommand):
    """Sets the weight of a user, or the priority of an evaluation."""

    help = (
        "Set the weight of a user (2: twice the workers of others; the default is 1), or the priority of an evaluation "
        "(the higher goes first among what is equally due; the default is 0)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What, which, and how much."""
        parser.add_argument("what", choices=["user", "evaluation"])
        parser.add_argument("which", help="user name, or id of the evaluation")
        parser.add_argument("value", type=int)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Change one row."""
        value: int = options["value"]
        least = 1 if options["what"] == "user" else -_LARGEST
        if not least <= value <= _LARGEST:
            raise CommandError(f"Give a number from {least} to {_LARGEST}.")
        if not _change(what=options["what"], which=options["which"], value=value):
            raise CommandError(f"There is no {options['what']} {options['which']}.")


def _change(*, what: str, which: str, value: int) -> bool:
    if what == "user":
        return bool(User.objects.filter(username=which).update(queue_weight=value))
    try:
        return bool(Evaluation.objects.filter(pk=UUID(which)).update(priority=value))
    except ValueError:
        return False
