"""A season: the requests that follow from a seed."""

import random
from collections.abc import Set

from evaluator.openagi.season.compositions import drawn, stratum_of
from evaluator.openagi.season.tasks import SeasonTask, season_task
from evaluator.openagi.season.wording import worded

_TRIES = 100


def season(*, seed: str, count: int, taken: Set[str] = frozenset()) -> tuple[SeasonTask, ...]:
    """The requests of a season.

    Args:
        seed: the same seed always gives the same requests.
        count: how many; the first ones of a larger season are those of a smaller one.
        taken: texts that no request may have.

    Raises:
        RuntimeError: no new words were found for a request.
    """
    found: list[SeasonTask] = []
    texts = set(taken)
    for number in range(count):
        task = _request(number=number, seed=seed, taken=texts)
        texts.add(task.text)
        found.append(task)
    return tuple(found)


def _request(*, number: int, seed: str, taken: Set[str]) -> SeasonTask:
    rng = random.Random(f"openagi-season {seed} {number}")  # noqa: S311 - the seed is what is secret
    for _ in range(_TRIES):
        wish = drawn(stratum=stratum_of(number), rng=rng)
        text = worded(wish=wish, rng=rng).text
        if text not in taken:
            return season_task(key=str(number), text=text, wish=wish)
    raise RuntimeError(f"no new words for request {number} after {_TRIES} tries")
