"""The crash points: every effect that undisturbed runs had, times before and after. Pure but for `run_points`."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.crash.driving import Came, Ground, options_of, site, travel
from tests.crash.effects import Effect, Point, recorded

ONLY = os.environ.get("CRASH_POINTS", "")
"""Which points a full run tries: nothing for each place in the code once; `all` for every effect; or a regular
expression for those whose description it finds, as in
`CRASH_POINTS=CompleteView ./planarena test tests/crash/test_matrix.py`."""
ALL = ONLY == "all"
_INNERMOST = 2
AT_ONCE = 2
"""Runs side by side: they mostly wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    """What happens on a journey on which nobody is killed."""

    journey: str
    effects: tuple[Effect, ...]
    outcome: dict[str, Any]


def undisturbed(*, ground: Ground, journey: str, broker: Callable[[], str]) -> Undisturbed:
    """Go a journey twice: what happened both times happens every time. What depends on the clock drops out."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [pool.submit(_once, ground=ground, journey=journey, broker=broker()) for _ in range(2)]
        first, again = (run.result() for run in runs)
    assert first[1] == again[1], "two undisturbed runs ended differently"
    both = set(again[0])
    return Undisturbed(
        journey=journey,
        effects=tuple(effect for effect in first[0] if effect in both and not _by_the_clock(effect)),
        outcome=first[1],
    )


def _once(*, ground: Ground, journey: str, broker: str) -> tuple[list[Effect], dict[str, Any]]:
    with site(ground=ground, broker=broker, **options_of(journey)) as going:
        came = travel(site=going, journey=journey)
        return recorded(came.folder), came.outcome


def _by_the_clock(effect: Effect) -> bool:
    """The first heartbeat is made to come; whether a second one does is a matter of speed."""
    return "eartbeat" in effect.name and effect.ordinal > 1


def points(effects: Iterable[Effect]) -> list[Point]:
    """Just before and just after each effect."""
    return [Point(effect=effect, moment=moment) for effect in effects for moment in ("before", "after")]


def one_of_each_place(effects: Iterable[Effect]) -> list[Effect]:
    """The first effect of each role, kind and place in the code: the innermost functions, whoever called them."""
    first: dict[tuple[str, str, str], Effect] = {}
    for effect in effects:
        what, _, callers = effect.name.partition(" @ ")
        first.setdefault((effect.role, what, " > ".join(callers.split(" > ")[-_INNERMOST:])), effect)
    return list(first.values())


def chosen(runs: Sequence[Undisturbed]) -> list[tuple[Undisturbed, Point]]:
    """The points to try. Later journeys add only what happens on none before."""
    seen: set[Effect] = set()
    found: list[tuple[Undisturbed, Point]] = []
    for run in runs:
        new = [effect for effect in run.effects if effect not in seen]
        seen.update(new)
        if not ALL:
            places = set(one_of_each_place(effect for earlier in runs for effect in earlier.effects))
            new = [effect for effect in new if effect in places]
        found += [(run, point) for point in points(new)]
    return [(run, point) for run, point in found if ALL or re.search(ONLY, str(point))]


_NOBODY = "nobody came to this point"


def run_points(*, ground: Ground, wanted: Sequence[tuple[Undisturbed, Point]], broker: Callable[[], str]) -> list[str]:
    """Kill somebody at each of these points, each in a run of its own, and say where the end was another."""

    def attempt(numbered: tuple[int, tuple[Undisturbed, Point]]) -> str:
        number, (run, point) = numbered
        problem, seconds = _try(ground=ground, run=run, point=point, broker=broker())
        print(f"{number + 1}/{len(wanted)} {seconds:.1f} s {point}: {problem or 'ok'}", flush=True)
        return f"{point}: {problem}" if problem else ""

    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        return [problem for problem in pool.map(attempt, enumerate(wanted)) if problem]
    finally:
        # Whoever interrupts the tests does not want to wait for the rest.
        pool.shutdown(cancel_futures=True)


def _try(*, ground: Ground, run: Undisturbed, point: Point, broker: str) -> tuple[str, float]:
    """Some effects happen in the process that is first, which is not always the same: then in any of them."""
    problem, seconds = _NOBODY, 0.0
    for tried in (point, point, point.of_any_role()):
        if problem == _NOBODY:
            problem, seconds = _try_once(ground=ground, run=run, point=tried, broker=broker)
    return problem, seconds


def _try_once(*, ground: Ground, run: Undisturbed, point: Point, broker: str) -> tuple[str, float]:
    try:
        with site(ground=ground, broker=broker, **options_of(run.journey)) as going:
            came = travel(site=going, journey=run.journey, points=[point])
            return _problem(came=came, expected=run.outcome), came.seconds
    except AssertionError as error:
        return str(error), 0.0


def _problem(*, came: Came, expected: dict[str, Any]) -> str:
    if came.missed:
        return _NOBODY
    differing = [key for key in expected if came.outcome[key] != expected[key]]
    return "; ".join(f"{key} is {came.outcome[key]}, not {expected[key]}" for key in differing)
