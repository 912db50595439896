"""Whoever is killed, and at whatever effect: the final rows are those of an undisturbed run.

The points are not listed anywhere: `effects.py` records what leaves the processes of undisturbed runs, and each of
these effects is a point before and a point after it. Each place in the code is tried once; `CRASH_POINTS=all` tries
every effect.
"""

import pytest

from tests.crash.driving import Ground
from tests.crash.effects import Effect
from tests.crash.matrix import ALL, ONLY, Undisturbed, chosen, points, run_points, undisturbed

FILES = "filesystem://localhost//"


def files() -> str:
    """The broker that needs no server: every run has a folder of its own."""
    return FILES


@pytest.mark.timeout(7200 if ALL else 1800)
def test_whoever_is_killed_the_rows_are_those_of_an_undisturbed_run(ground: Ground):
    runs = [undisturbed(ground=ground, journey=name, broker=files) for name in ("by_messages", "by_sweeps")]
    wanted = chosen(runs)
    print(f"\n{sum(len(points(run.effects)) for run in runs)} crash points found, {len(wanted)} tried", flush=True)
    assert ONLY or len(wanted) >= 40
    assert ONLY or {point.effect.role for _, point in wanted} == {"web", "celery", "beat", "worker"}
    problems = run_points(ground=ground, wanted=wanted, broker=files)
    assert not problems, "\n".join(problems)


def test_each_place_is_chosen_once_and_with_both_moments():
    effects = (Effect("web", "a", 1), Effect("web", "a", 2), Effect("celery", "b", 1))
    first = Undisturbed(journey="x", effects=effects, outcome={})
    second = Undisturbed(journey="y", effects=(*effects, Effect("beat", "c", 1)), outcome={})
    few = [str(point) for _, point in chosen([first, second], only="")]
    assert few == [
        "web before a #1", "web after a #1", "celery before b #1", "celery after b #1",
        "beat before c #1", "beat after c #1",
    ]  # fmt: skip
    assert len(chosen([first, second], only="all")) == 8
    assert [str(point) for _, point in chosen([first, second], only="after .*c")] == ["beat after c #1"]
