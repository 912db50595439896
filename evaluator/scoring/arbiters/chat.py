"""An arbiter behind an OpenAI-compatible chat endpoint: a majority of three votes at temperature 0."""

import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from evaluator.core.canonical_json import JsonValue
from evaluator.network.guarded_connections import EgressRefusedError
from evaluator.scoring.arbiters.base import MOST_TOKENS, PROMPT, SEED, VOTES, ArbiterName, Outcome, Question, Settled
from evaluator.scoring.metrics.judge import EndpointJudge, JudgeError, JudgeSettings

logger = logging.getLogger(__name__)

MOST_BYTES = 16 * 1024
"""Of a response with one line of text."""
TIMEOUT_SECONDS = 20.0
TRIES = 2
MOST_FAILURES = 3
REST_SECONDS = 60.0
"""Pause after `MOST_FAILURES` failures in a row, so that a broken endpoint does not delay an evaluation."""
_VERDICT = re.compile(r"Verdict: (same|different|unsure)")
_MAJORITY = VOTES // 2 + 1


class ChatArbiter:
    """Settles pairs by votes of a language model."""

    def __init__(
        self,
        *,
        name: ArbiterName,
        api_key: str = "",
        timeout_seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        settings = JudgeSettings(
            url=name.url, model=name.model, api_key=api_key, temperature=0.0, seed=SEED, max_tokens=MOST_TOKENS,
            timeout_seconds=timeout_seconds, answer_bytes=MOST_BYTES, tries=TRIES,
        )  # fmt: skip
        self._endpoint = EndpointJudge(settings)
        self._identity = name.identity()
        self._clock = clock
        self._failures = 0
        self._rests_until = 0.0

    def identity(self) -> Mapping[str, JsonValue]:
        """See `Arbiter`."""
        return self._identity

    def settle(self, questions: Sequence[Question]) -> Sequence[Settled]:
        """See `Arbiter`."""
        return [self._settle(question) for question in questions]

    def _settle(self, question: Question) -> Settled:
        if self._failures >= MOST_FAILURES and self._clock() < self._rests_until:
            text = f"The arbiter was not asked: it failed {self._failures} times in a row."
            return Settled(verdict="undecided", problem=text, is_final=False)
        messages = conversation(question)
        answers: list[str] = []
        try:
            for number in range(VOTES):
                answers.append(vote_in(self._endpoint.vote(messages=messages, number=number)))
        except (JudgeError, EgressRefusedError, OSError, ValueError) as error:
            self._failures += 1
            self._rests_until = self._clock() + REST_SECONDS
            if isinstance(error, JudgeError):
                logger.warning("arbiter: %s", error.for_operator)
            problem = f"{str(error)[:1].upper()}{str(error)[1:]}."
            return Settled(verdict="undecided", answers=tuple(answers), problem=problem, is_final=False)
        self._failures = 0
        return decided(answers)


def conversation(question: Question) -> list[dict[str, str]]:
    """The messages that ask for one vote. The pair is JSON, so that no text can escape its quotation marks."""
    material = {"kind": question.kind, "wanted": question.wanted, "given": question.given}
    return [{"role": "system", "content": PROMPT}, {"role": "user", "content": json.dumps(material, indent=1)}]


def vote_in(answer: str) -> str:
    """`same`, `different` or `unsure`; `malformed` unless the answer is exactly one verdict line."""
    verdict = _VERDICT.fullmatch(answer.strip())
    return verdict[1] if verdict else "malformed"


def decided(votes: Sequence[str]) -> Settled:
    """The verdict on which most votes agree."""
    counts = Counter(votes)
    decisions: tuple[Outcome, ...] = ("same", "different")
    for verdict in decisions:
        if counts[verdict] >= _MAJORITY:
            return Settled(verdict=verdict, answers=tuple(votes))
    return Settled(verdict="undecided", answers=tuple(votes), problem="The arbiter's votes have no majority.")
