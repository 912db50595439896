"""What the migration Job of the chart does, beside the processes of the release before."""

import os
from pathlib import Path

UPGRADED = "upgraded"
"""File in the folder of a run whose tables are up to date."""


def upgrade(folder: Path) -> None:
    """Apply this release's migrations."""
    from django.core.management import call_command

    from leaderboard.wiring.management.commands.migrate import LOCK_SECONDS

    os.environ[LOCK_SECONDS] = "5"
    call_command("migrate", verbosity=0)
    (folder / UPGRADED).touch()
