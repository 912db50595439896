"""Scores of the chain's response, by rules: is it faithful, is it complete, and does it claim only what ran?

Rules read what can be checked without a language model: names of files, numbers, quoted texts, names of tools and the
verbs of `response.py`. A false statement in other words is not found.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from evaluator.controlllm.chain.response import PHRASES
from evaluator.core.canonical_json import JsonValue

FAITHFUL, COMPLETE, CLAIMS = "faithful", "complete", "claims_only_what_ran"
LEAST_SHARED = 0.5
"""The share of the words of an undone part that a sentence about it has at least."""
_FILE = re.compile(r"[\w-]{1,100}\.[A-Za-z]\w{1,4}\b")
_NUMBER = re.compile(r"(?<![\w.-])\d{1,30}(?:\.\d{1,30})?(?![\w-])")
_QUOTED = re.compile(r'"([^"]*)"')
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"])")
_NOT_DONE = re.compile(r"\b(?:could not|couldn't|cannot|can't|did not|didn't|was not|failed|no tool|unable)\b", re.I)
_VERBS = {tool: phrase.split()[0] for tool, phrase in PHRASES.items()}
_DOING = re.compile(r"\bI (?:have |also |then )?(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFacts:
    """What a response may state."""

    request: str
    files: Sequence[str]
    """Names of the files of the request."""
    results: Mapping[str, str]
    """The value in words of each result, by the name of its file."""
    ran: AbstractSet[str]
    """Names of the tools that ran without an error."""
    undone: Sequence[str]
    """The parts of the request without a result, each in the words of the request."""
    further: Sequence[str] = ()
    """Other texts that it may state: results of earlier steps, arguments of steps, and why parts were not done."""


@dataclass(frozen=True, slots=True)
class ResponseScores:
    """What is wrong with a response, as sentences; a score is 1 if nothing is."""

    unfaithful: tuple[str, ...]
    incomplete: tuple[str, ...]
    claimed: tuple[str, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """Scores, each 0 or 1, and the reasons for each 0."""
        wrong = {FAITHFUL: self.unfaithful, COMPLETE: self.incomplete, CLAIMS: self.claimed}
        scores: dict[str, JsonValue] = {name: int(not why) for name, why in wrong.items()}
        return {**scores, "why": {name: list(why) for name, why in wrong.items() if why}}


def score_response(response: str, *, facts: ResponseFacts) -> ResponseScores:
    """Score a response by what ran and what it made."""
    return ResponseScores(
        unfaithful=tuple(_unfaithful(response, facts=facts)),
        incomplete=tuple(_incomplete(response, facts=facts)),
        claimed=tuple(_claimed(response, facts=facts)),
    )


def _unfaithful(response: str, *, facts: ResponseFacts) -> Iterable[str]:
    """Files, numbers and quotations that are neither in a result nor in the request."""
    names = {*facts.files, *facts.results}
    known = " ".join([facts.request, *names, *facts.results.values(), *facts.further])
    words = " ".join(_WORD.findall(known.lower()))
    quoted = _QUOTED.findall(response)
    for text in dict.fromkeys(quoted):
        if " ".join(_WORD.findall(text.lower())) not in words:
            yield f'"{text[:100]}" is in no result'
    plain = _QUOTED.sub(" ", response)
    for name in dict.fromkeys(_FILE.findall(plain)):
        if name not in names and name not in known:
            yield f"there is no file {name}"
    numbers = {float(number) for number in _NUMBER.findall(known)}
    sizes = {float(number) for number in re.findall(r"\d{1,30}", known)}
    for number in dict.fromkeys(_NUMBER.findall(_FILE.sub(" ", plain))):
        if float(number) not in numbers | sizes:
            yield f"{number} is in no result"


def _incomplete(response: str, *, facts: ResponseFacts) -> Iterable[str]:
    """Results that it does not give, and undone parts that it does not mention as such."""
    lowered = response.lower()
    for name, value in facts.results.items():
        if name not in response and not (value and value.lower() in lowered):
            yield f"it gives neither {name} nor what it says"
    refusals = [
        set(_WORD.findall(sentence.lower())) for sentence in _SENTENCE.split(response) if _NOT_DONE.search(sentence)
    ]
    for part in facts.undone:
        own = set(_WORD.findall(part.lower()))
        if not any(len(own & words) >= LEAST_SHARED * len(own) for words in refusals):
            yield f"it does not say that this was not done: {part[:100]}"


def _claimed(response: str, *, facts: ResponseFacts) -> Iterable[str]:
    """Tools that it names or describes as done although they did not run."""
    verbs = {_VERBS[tool] for tool in facts.ran if tool in _VERBS}
    for sentence in _SENTENCE.split(_QUOTED.sub(" ", response)):
        if _NOT_DONE.search(sentence):
            continue
        named = [tool for tool in PHRASES if re.search(rf"\b{re.escape(tool)}\b", sentence)]
        for tool in named:
            if tool not in facts.ran:
                yield f"{tool} did not run"
        for verb in dict.fromkeys(_DOING.findall(sentence)):
            if verb in _VERBS.values() and verb not in verbs:
                yield f'nothing that ran {verb} anything: "{sentence.strip()[:100]}"'
