"""`manage.py register_suites`: bring the suites of the `evaluator` package into the database."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evaluator.core.suites.registry import package_with, refused_packages, suite_names, suite_of
from leaderboard.catalog.services import register_suite


class Command(BaseCommand):
    """Registers every suite; running it again changes nothing."""

    help = "Register the suites and tasks of the evaluator package. Running it again changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        for name in suite_names():
            suite = suite_of(name)
            done = register_suite(suite)
            package = f" of {found}" if (found := package_with(name)) else ""
            self.stdout.write(
                f"{name} {suite.version}{package} ({len(suite.tasks)} tasks, {suite.digest[:12]}): {done}"
            )
        if refused := refused_packages():
            raise CommandError(" ".join(refused))
