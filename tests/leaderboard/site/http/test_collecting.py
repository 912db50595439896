"""Garbage in cycles is still found, only less often."""

import gc
import subprocess
import sys

import pytest

LOOKS = """
import gc, os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
import leaderboard.wiring.asgi
looks = []
gc.callbacks.append(lambda phase, info: looks.append(info["generation"]) if phase == "start" else None)
kept = [{"number": number} for number in range(400_000)]
print(looks.count(2), gc.get_freeze_count() > 50_000, gc.isenabled(), len(kept))
"""


@pytest.mark.full
def test_a_board_that_comes_into_memory_starts_no_look_through_all_of_it():
    told = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["0", "True", "True", "400000"]
    assert gc.isenabled()
