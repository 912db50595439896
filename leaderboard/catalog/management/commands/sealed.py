"""`manage.py sealed`: have two parsers read the proposed entries of the sealed pool, and count entries."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count

from evaluator.core.planner import Planner
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError
from leaderboard.catalog.models import SealedEntry, SealedState
from leaderboard.catalog.sealed.bodies import body_of
from leaderboard.catalog.sealed.pool import PoolError, derive, library_suite, pool_suites, proof_of, rules_reading
from leaderboard.catalog.sealed.second_parser import DEFAULT, planner_reading
from leaderboard.platform.encryption import UnreadableSecretError


class Command(BaseCommand):
    """Runs where the web process's secrets are set."""

    help = "Have two parsers read the proposed entries of the sealed pool, or count its entries."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="what", required=True)
        read = commands.add_parser("derive", help="compare what the rules and a planner read with the authors' goals")
        read.add_argument("--suite", help="only entries of this suite; by default of all")
        read.add_argument(
            "--planner",
            default=DEFAULT,
            help="the second parser: a planner by its name, such as one with a language model; by default %(default)s",
        )
        commands.add_parser("list", help="numbers of entries by suite and state")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        if options["what"] == "list":
            rows = SealedEntry.objects.order_by("suite", "state").values("suite", "state").annotate(entries=Count("pk"))
            for row in rows:
                self.stdout.write(f"{row['suite']}  {row['state']}  {row['entries']}")
            return
        try:
            for suite in [options["suite"]] if options["suite"] else pool_suites():
                self._derive(suite=suite, name=options["planner"])
        except (PoolError, UnreadableSecretError, PlannerNameError) as error:
            raise CommandError(str(error)) from error

    def _derive(self, *, suite: str, name: str) -> None:
        planner: Planner = planner_named(name=name, suite=library_suite(suite))
        agreed = disputed = failed = 0
        for entry in SealedEntry.objects.filter(suite=suite, state=SealedState.PROPOSED).order_by("added"):
            library, proof = proof_of(entry)
            try:
                second = planner_reading(planner, name=name, task=proof, suite=library)
            except PoolError as error:
                self.stderr.write(f"{entry}: {error}")
                failed += 1
                continue
            first = rules_reading(request=body_of(entry).request, suite=library)
            read = derive(entry.pk, readings=[first, second])
            agreed += read.state == SealedState.DERIVED
            disputed += read.state == SealedState.DISPUTED
        self.stdout.write(f"{suite}: {agreed} derived, {disputed} disputed, {failed} not read.")
