"""`manage.py prioritise`: the operator's say in whose turn it is."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.people.models import Team, User
from leaderboard.people.services import set_weight
from leaderboard.queue.operating import prioritise

_WEIGHED: Mapping[str, tuple[type[User | Team], str]] = {"user": (User, "username"), "team": (Team, "slug")}
"""What has a weight, and what it is called by."""


class Command(BaseCommand):
    """Sets the weight of a user or a team, or the priority of an evaluation."""

    help = (
        "Set the weight of a user or a team (2: twice the workers of others; the default is 1), or the priority of an "
        "evaluation (the higher goes first among what is equally due; the default is 0)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What, which, and how much."""
        parser.add_argument("what", choices=["user", "team", "evaluation"])
        parser.add_argument("which", help="user name, short name of the team, or id of the evaluation")
        parser.add_argument("value", type=int)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Change one row."""
        try:
            found = _change(what=options["what"], which=options["which"], value=options["value"])
        except (ValueError, NotPossibleError) as error:
            raise CommandError(str(error)) from error
        if not found:
            raise CommandError(f"There is no {options['what']} {options['which']}.")


def _change(*, what: str, which: str, value: int) -> bool:
    """Change it, and say whether there is such a user or evaluation."""
    if what in _WEIGHED:
        model, name = _WEIGHED[what]
        found = model._default_manager.filter(**{name: which}).first()
        if found is not None:
            set_weight(of=found, weight=value)
        return found is not None
    evaluation_id = _id(which)
    evaluation = None if evaluation_id is None else Evaluation.runs.filter(pk=evaluation_id).first()
    if evaluation is not None:
        prioritise(evaluation, priority=value)
    return evaluation is not None


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
