"""`manage.py prioritise`: set weights and priorities."""

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
"""Model and name field of each weighted object."""


class Command(BaseCommand):
    """Sets the weight of a user or a team, or the priority of an evaluation."""

    help = (
        "Set the weight of a user or a team (2: twice the workers of others; the default is 1), or the priority of an "
        "evaluation (the highest goes first among evaluations that are equally due; the default is 0)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=["user", "team", "evaluation"])
        parser.add_argument("which", help="user name, short name of the team, or id of the evaluation")
        parser.add_argument("value", type=int)

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        try:
            exists = _change(what=options["what"], which=options["which"], value=options["value"])
        except (ValueError, NotPossibleError) as error:
            raise CommandError(str(error)) from error
        if not exists:
            raise CommandError(f"There is no {options['what']} {options['which']}.")


def _change(*, what: str, which: str, value: int) -> bool:
    """Apply the change; False if there is no such object."""
    if what in _WEIGHED:
        model, name = _WEIGHED[what]
        owner = model._default_manager.filter(**{name: which}).first()
        if owner is not None:
            set_weight(of=owner, weight=value)
        return owner is not None
    try:
        evaluation = Evaluation.runs.filter(pk=UUID(which)).first()
    except ValueError:
        return False
    if evaluation is not None:
        prioritise(evaluation, priority=value)
    return evaluation is not None
