#!/usr/bin/env python
"""Django's commands. Without DATABASE_URL they use a PostgreSQL of their own in the data folder."""

import os
import sys


def main() -> None:
    """Run one command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.config.settings")
    if not os.environ.get("DATABASE_URL", "").strip():
        from leaderboard.config import embedded
        from leaderboard.config.environment import Environment

        os.environ["DATABASE_URL"] = embedded.start(Environment(os.environ).data_dir())
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
