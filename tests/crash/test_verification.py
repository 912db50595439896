"""Whoever is killed while an own worker's results are verified: the verdict comes, once, and the board with it."""

import pytest

from tests.crash.driving import Ground, site, travel
from tests.crash.matrix import ALL, ONLY, chosen, run_points, undisturbed

FILES = "filesystem://localhost//"
SITE = frozenset({"web", "celery"})
"""What own workers do themselves is killed in `test_matrix.py`: it is the same program."""


def files() -> str:
    return FILES


def test_undisturbed_it_is_verified_and_published_once(ground: Ground):
    with site(ground=ground, instrumented=False) as going:
        outcome = travel(site=going, journey="by_own_worker").outcome
    own, again = outcome["evaluations"]
    assert (own["state"], own["reason"]) == ("completed", "verified")
    assert (again["state"], again["reason"]) == ("completed", "run_again")
    (verification,) = outcome["verifications"]
    assert (verification["verdict"], verification["tasks"]) == ("agrees", ["0", "1", "2", "3", "4"])
    (board,) = outcome["boards"]
    assert [row["run_by_owner"] for row in board["rows"]] == [True]


@pytest.mark.timeout(7200 if ALL else 1800)
def test_whoever_is_killed_it_ends_as_if_nobody_had_been(ground: Ground):
    runs = [undisturbed(ground=ground, journey=name, broker=files) for name in ("by_messages", "by_own_worker")]
    wanted = [
        (run, point) for run, point in chosen(runs) if run.journey == "by_own_worker" and point.effect.role in SITE
    ]
    print(f"\n{len(wanted)} crash points tried", flush=True)
    assert ONLY or len(wanted) >= 10
    problems = run_points(ground=ground, wanted=wanted, broker=files)
    assert not problems, "\n".join(problems)
