"""Who has an operator's rights is asked at one place."""

from pathlib import Path

import leaderboard

ROOT = Path(leaderboard.__file__).parent
TOLD_APART = {"site/operators.py", "accounts/admin.py", "site/admin.py"}
"""Where being staff means being staff: who is asked for a second factor, and what the admin shows of users."""


def test_nobody_else_asks_who_is_staff():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if "migrations" not in path.parts and ".is_staff" in path.read_text()
    }
    assert found <= TOLD_APART
