"""What the stages that ask a language model share: how a call is made, and how a scored answer is read."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.core.language_model import Answer, Completion, GenerateCall, Message
from evaluator.core.plans.literals import load_literal
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.tools.types import Tool

SCORES = (1, 2, 3, 4, 5)
_TAGGED = re.compile(r"<Solution>(.*?)</Solution>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReadScore:
    """A score from 1 to 5 with the reason that was given for it."""

    score: float
    thought: str = ""
    problem: str = ""
    """Why the answer could not be read, in which case the score is a stand-in; empty if it could."""


def ask(*, instructions: str, question: str, max_tokens: int) -> GenerateCall:
    """One call: what to do, and on what."""
    messages = (Message(role="system", content=instructions), Message(role="user", content=question))
    return GenerateCall(messages=messages, max_tokens=max_tokens)


def text_of(answer: Answer) -> str:
    """The text of an answer to a `GenerateCall`."""
    assert isinstance(answer, Completion)
    return answer.text


def was_cut(answer: Answer) -> bool:
    """Whether an answer reached the bound on its length."""
    return isinstance(answer, Completion) and answer.truncated


def inside(text: str, *, opening: str, closing: str) -> str:
    """The part of an answer that holds its JSON: between the tags, else from the first bracket to the last.

    What stands before it is blanks, so that positions in errors are those of the answer.
    """
    tagged = _TAGGED.search(text)
    start, end = tagged.span(1) if tagged else (text.find(opening), text.rfind(closing) + 1)
    if not 0 <= start < end:
        return text
    return re.sub(r"[^\n]", " ", text[:start]) + text[start:end]


def read_score(answer: Answer, *, instead: float) -> ReadScore:
    """The score of an answer `{"thought": ..., "score": n}`; `instead` where it has none that can be read."""
    try:
        value, _ = load_literal(inside(text_of(answer), opening="{", closing="}"))
    except PlanSyntaxError as error:
        cut = "cut off, and so " if was_cut(answer) else ""
        return ReadScore(score=instead, problem=f"{cut}not JSON: {error}")
    if not isinstance(value, Mapping):
        return ReadScore(score=instead, problem="the answer is not an object")
    fields = {str(key).lower(): item for key, item in value.items()}
    score = _whole(fields.get("score"))
    if score not in SCORES:
        return ReadScore(score=instead, problem=f'"score" must be one of 1 to 5, not {json.dumps(fields.get("score"))}')
    return ReadScore(score=float(score), thought=str(fields.get("thought", "")))


def _whole(value: object) -> int | None:
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*[1-5]\s*", value) else None
    # Compared, not converted: NaN and infinity are numbers of JSON as Python reads it.
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in SCORES:
        return None
    return int(value)


def signature(tool: Tool) -> str:
    """A tool as the prompts describe it."""
    takes = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items()) or "nothing"
    gives = ", ".join(f"{name}: {kind}" for name, kind in tool.outputs.items())
    return f"{tool.name}: {tool.description} Takes {takes}. Gives {gives}."
