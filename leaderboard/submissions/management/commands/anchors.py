"""`manage.py anchors`: put the bundled planners on the boards."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluator.core.suggestions import as_sentence, no_such
from leaderboard.catalog.hidden_data import DataRefusedError
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.models import Suite
from leaderboard.platform.problems import FieldErrors
from leaderboard.submissions.anchors import anchors_of, submit_anchors


class Command(BaseCommand):
    """Submits every bundled planner that understands a suite and has no evaluation there yet."""

    help = (
        "Submit the bundled planners to suites under today's conditions: gold, no-op, five seeds of random-valid, the "
        "strategies that need nothing that is not shipped, and where plans are judged also parrot, ask-everything and "
        "gold-minus-one. Running it again submits only what is missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which suites."""
        parser.add_argument("suite", nargs="*", help="slugs; by default all current suites")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        """Submit them, and print each with its state."""
        known = list(Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True))
        for suite in options["suite"] or known:
            if suite not in known:
                raise CommandError(as_sentence(no_such("suite", suite, known)))
            try:
                found = submit_anchors(suite=suite, names=anchors_of(suite))
            except (FieldErrors, NotReadyError, DataRefusedError) as error:
                raise CommandError(f"{suite}: {error}") from error
            for evaluation in found:
                self.stdout.write(f"{suite}  {evaluation.submission.planner.name}  {evaluation.state}")
