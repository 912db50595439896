"""A small run of the load test, and what its figures are computed by. Times are reported, never asserted."""

import json
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.load.figures import contested, distribution, fairness, gaps, given_twice, growth
from tests.processes import ROOT

USERS, EVALUATIONS, ENDED, WORKERS, TASKS = 4, 40, 20, 3, 3


@pytest.mark.full
@pytest.mark.timeout(240)
def test_everything_finishes_and_users_with_unequal_queues_get_the_same(tmp_path):
    out = tmp_path / "report.json"
    sizes = {"evaluations": EVALUATIONS, "users": USERS, "ended": ENDED, "workers": WORKERS, "tasks": TASKS}
    arguments = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, "-m", "tests.load", *arguments, "--out", str(out)],
        cwd=ROOT, capture_output=True, text=True, timeout=220,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(out.read_text())
    assert report["finished"] == 1
    assert report["states"] == {"completed": EVALUATIONS}
    assert report["attempts"] == {"completed": EVALUATIONS * TASKS}
    assert report["wrong_leases"] == dict.fromkeys(report["wrong_leases"], 0)
    leases = report["fairness"]["leases"]
    equal = sum(leases.values()) / USERS
    # One more or less for each worker that asks at the same moment as another.
    assert all(abs(count - equal) <= WORKERS for count in leases.values()), leases
    assert all(used < 1 for used in report["deadline_used_at_most"].values())
    folder = re.search(r"preparing .* in (\S+)", done.stderr)
    assert folder is not None
    assert _left_of(Path(folder[1])) == []


def _left_of(folder: Path) -> list[str]:
    """The folder, and command lines that name it."""
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [str(folder)] * folder.exists() + [line for line in lines if str(folder) in line]


def test_shares_count_only_while_every_user_has_work_that_waits():
    leases = ["ada", "bob", "ada", "bob", "ada", "ada"]
    assert contested(leases=leases, shards={"ada": 4, "bob": 2}) == ["ada", "bob", "ada", "bob"]


def test_a_window_shows_what_the_whole_hides():
    leases = ["ada"] * 20 + ["bob"] * 20 + ["ada", "bob"]
    found = fairness(leases=leases, shards={"ada": 30, "bob": 30})
    assert found["overall"] == {"least": 1.0, "greatest": 1.0}
    assert found["windows"] == {"count": 2, "leases_each": 20, "least": 0.0, "greatest": 2.0}
    assert fairness(leases=["ada"], shards={"ada": 2, "bob": 1})["overall"] == {"least": 0.0, "greatest": 2.0}


def test_distributions_growth_gaps_and_doubled_attempts():
    assert distribution([]) == {"count": 0}
    assert distribution([float(value) for value in range(1, 101)]) == {
        "median": 50.5, "p95": 95.0, "max": 100.0, "count": 100,
    }  # fmt: skip
    assert growth([1.0, 2.0]) == {}
    assert growth([100.0, 100.0, 150.0, 150.0, 200.0, 200.0]) == {
        "last_to_first": 2.0, "first": 100.0, "last": 200.0, "max": 200.0,
    }  # fmt: skip
    assert gaps([("a", 0.0, 1.0), ("b", 0.5, 3.0), ("a", 1.25, 2.0)]) == [0.25]
    assert given_twice(["a", "b", "a", "c", "c"]) == 2
