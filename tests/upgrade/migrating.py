"""The migration beside a running site."""

import os
from typing import Any


def migrate(run: Any) -> None:
    """As the chart's Job does it: a statement that waits for a lock gives up."""
    from django.core.management import call_command

    os.environ["PLANARENA_MIGRATION_LOCK_SECONDS"] = "5"
    os.environ["DATABASE_URL"] = run.extra["DATABASE_URL"]
    call_command("migrate", verbosity=0)
