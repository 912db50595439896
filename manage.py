#!/usr/bin/env python
"""Django's commands. Without DATABASE_URL they use a PostgreSQL of their own in the data folder."""

import os
import sys


def main() -> int:
    """Run one command and return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.platform.settings")
    from leaderboard.platform.managing import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
