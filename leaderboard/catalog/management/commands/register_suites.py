"""`manage.py register_suites`: bring the suites of the `evaluator` package into the database."""

from typing import Any

from django.core.management.base import BaseCommand

from evaluator.core.suites.registry import suite_names, suite_of
from leaderboard.catalog.services import register_suite


class Command(BaseCommand):
    """Registers every suite; running it again changes nothing."""

    help = "Register the suites and tasks of the evaluator package. Running it again changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        for name in suite_names():
            suite = suite_of(name)
            done = register_suite(suite)
            self.stdout.write(f"{name} {suite.version} ({len(suite.tasks)} tasks, {suite.digest[:12]}): {done}")
