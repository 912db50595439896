"""Optional columns that a language model rates: GPT-Score of plans, and answers as a reader would take them.

The operator names the rater, a pinned model behind an OpenAI-compatible endpoint, by `PLANARENA_RATER`. Its identity is
part of the column's key (`key_of`), so that no column mixes raters or prompts. Ratings never rank, and a rater that
fails leaves the value out with the reason.
"""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Measured, Rated, Suite
from evaluator.network.guarded_connections import EgressRefusedError
from evaluator.scoring.arbiters.base import ArbiterError, parse_arbiter
from evaluator.scoring.metrics.judge import (
    LEAST_VOTES,
    VOTES,
    EndpointJudge,
    Judge,
    JudgeError,
    JudgeSettings,
    conversation,
)

VARIABLE, KEY_VARIABLE = "PLANARENA_RATER", "PLANARENA_RATER_KEY"
SEED = 20240229
"""Of the first vote; incremented for each further vote."""
TIMEOUT_SECONDS = 30.0
TRIES = 2
MOST_BYTES = 64 * 1024
"""Of a response."""
MOST_FAILURES = 3
"""Failures in a row after which a rater is not asked again in this run."""
MOST_SECONDS = 600.0
"""Time of a rater in one run, after which it is not asked again: an evaluation waits for its ratings."""
LONGEST_TEXT = 16_000
"""Most characters of a text of a planner for a rater; the rest is cut, with a note."""


class RaterError(LookupError):
    """The name of the rater is invalid; the message has the valid form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterName:
    """A rater that is not called yet."""

    url: str
    """Without `/chat/completions`."""
    model: str
    """The exact model name in the endpoint's responses."""


def rater_from(environment: Mapping[str, str]) -> RaterName | None:
    """The rater in an operator's environment; None if there is none.

    Raises:
        RaterError: its name is invalid.
    """
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return None
    try:
        name = parse_arbiter(text)
    except ArbiterError:
        name = None
    if name is None or name.kind != "chat":
        raise RaterError(f"{VARIABLE} is {text!r}; it has the form chat:URL#MODEL, as chat:http://127.0.0.1:8001/v1#m")
    return RaterName(url=name.url, model=name.model)


def configured_rater() -> RaterName | None:
    """The rater of this process's environment; raises as `rater_from` does."""
    return rater_from(os.environ)


def key_of(*, rated: Rated, rater: RaterName) -> str:
    """The key of a rated column: equal keys are equal models, prompts and settings, wherever the endpoint is."""
    identity: dict[str, JsonValue] = {
        "model": rater.model, "prompt": rated.prompt,
        "prompt_sha256": hashlib.sha256(rated.system.encode()).hexdigest(),
        "temperature": rated.temperature, "seed": SEED, "max_tokens": rated.most_tokens, "votes": VOTES,
    }  # fmt: skip
    return f"{rated.column.key}_{digest(identity)[:8]}"


def with_rated_column(suite: Suite, *, rated: Rated) -> Suite:
    """The suite with a rated column, if this installation has a rater.

    Raises:
        RaterError: the rater's name is invalid.
    """
    rater = configured_rater()
    if rater is None:
        return suite
    description = f"{rated.column.description} Rated by {rater.model}: {VOTES} votes ({rated.prompt})."
    column = replace(rated.column, key=key_of(rated=rated, rater=rater), description=description)
    return replace(suite, metrics=(*suite.metrics, column), rated=replace(rated, column=column))


def majority(votes: Sequence[float | None]) -> float | None:
    """The vote that at least two of three agree on; None if there is none."""
    counts = Counter(vote for vote in votes if vote is not None)
    return next((vote for vote, count in counts.items() if count >= LEAST_VOTES), None)


def cut(text: str) -> str:
    """A text of a planner in a length that a rater reads. Lone surrogates, which UTF-8 cannot encode, are escaped."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} [cut: {len(text)} characters]"


class Rater:
    """Rates the results of one run. Not thread-safe."""

    def __init__(self, *, judge: Judge, model: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        judge: answers with votes.
        model: its name, for explanations.
        clock: for tests.
        """
        self._judge, self._model, self._clock = judge, model, clock
        self._failures = 0
        self._seconds = 0.0

    def rate(self, *, rated: Rated, material: Mapping[str, JsonValue]) -> tuple[float | None, str]:
        """The value of the votes on some material, None if there is none, and the reason as a sentence."""
        if self._failures >= MOST_FAILURES:
            return None, f"Not rated: {self._model} failed {self._failures} times in a row and was not asked again."
        if self._seconds >= MOST_SECONDS:
            return (
                None,
                f"Not rated: {self._model} took {self._seconds:.0f} s for earlier tasks and was not asked again.",
            )
        messages = conversation(system=rated.system, material=material)
        started = self._clock()

        def vote(number: int) -> float | None:
            return rated.vote_in(self._judge.vote(messages=messages, number=number))

        try:
            with ThreadPoolExecutor(VOTES) as pool:
                votes = list(pool.map(vote, range(VOTES)))
        except (JudgeError, EgressRefusedError, OSError, ValueError) as error:
            self._failures += 1
            return None, f"Not rated: {error}."
        finally:
            self._seconds += self._clock() - started
        self._failures = 0
        value = rated.value_of(votes)
        given = ", ".join("malformed" if own is None else f"{own:g}" for own in votes)
        by = f"{VOTES} calls of {self._model} ({rated.prompt})"
        if value is None:
            return None, f"Not rated: the votes {given} of {by} decide nothing."
        return value, f"The votes {given} of {by}."


def endpoint_rater(*, rated: Rated, name: RaterName, api_key: str = "") -> Rater:
    """The rater that calls the operator's endpoint."""
    settings = JudgeSettings(
        url=name.url, model=name.model, api_key=api_key, temperature=rated.temperature, seed=SEED,
        max_tokens=rated.most_tokens, timeout_seconds=TIMEOUT_SECONDS, answer_bytes=MOST_BYTES, tries=TRIES,
    )  # fmt: skip
    return Rater(judge=EndpointJudge(settings), model=name.model)


def with_ratings(
    records: Iterable[ResultRecord],
    *,
    suite: Suite,
    api_key: str = "",
    opened: Callable[..., Rater] = endpoint_rater,
) -> Iterator[ResultRecord]:
    """Add the ratings of the suite's rated column, if it has one, to the records of tasks that the planner answered or
    failed.

    Args:
        records: finished records of the suite.
        suite: as planners were asked.
        api_key: of the rater's endpoint.
        opened: opens the rater.
    """
    rated, name = suite.rated, configured_rater()
    if rated is None or name is None:
        yield from records
        return
    rater = opened(rated=rated, name=name, api_key=api_key)
    for record in records:
        if record.outcome not in (Outcome.SCORED, Outcome.PLANNER_FAULT):
            yield record
            continue
        material = rated.material(suite.task(record.task), record)
        value: float | None
        if isinstance(material, Measured):
            value, why = material.value, material.why
        else:
            value, why = rater.rate(rated=rated, material=material)
        key = rated.column.key
        indicators = record.indicators if value is None else {**record.indicators, key: value}
        update = {"indicators": indicators, "explanations": {**record.explanations, key: why}}
        yield record.model_copy(update=update)
