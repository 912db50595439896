"""Calls to a language model and parsing of scored answers, for the stages that use one."""

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
    """A score from 1 to 5 with its reason."""

    score: float
    thought: str = ""
    problem: str = ""
    """Why the answer could not be parsed, so that the score is the default; empty if it could."""


def ask(*, instructions: str, question: str, max_tokens: int) -> GenerateCall:
    """A call with a system prompt and a question."""
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
    """The JSON of an answer: between the tags, else from the first bracket to the last.

    The text before it becomes blanks, so that positions in errors are those of the answer.
    """
    tagged = _TAGGED.search(text)
    start, end = tagged.span(1) if tagged else (text.find(opening), text.rfind(closing) + 1)
    if not 0 <= start < end:
        return text
    return re.sub(r"[^\n]", " ", text[:start]) + text[start:end]


def read_score(answer: Answer, *, default: float) -> ReadScore:
    """The score of an answer `{"thought": ..., "score": n}`, or the default if it has no valid one."""
    try:
        value, _ = load_literal(inside(text_of(answer), opening="{", closing="}"))
    except PlanSyntaxError as error:
        cut = "cut off, and so " if was_cut(answer) else ""
        return ReadScore(score=default, problem=f"{cut}not JSON: {error}")
    if not isinstance(value, Mapping):
        return ReadScore(score=default, problem="the answer is not an object")
    fields = {str(key).lower(): item for key, item in value.items()}
    score = fields.get("score")
    if isinstance(score, str) and re.fullmatch(r"\s*[1-5]\s*", score):
        score = int(score)
    # Compared, not converted: Python's JSON parser accepts NaN and infinity.
    if isinstance(score, bool) or not isinstance(score, int | float) or score not in SCORES:
        return ReadScore(score=default, problem=f'"score" must be one of 1 to 5, not {json.dumps(score)}')
    return ReadScore(score=float(score), thought=str(fields.get("thought", "")))


def signature(tool: Tool) -> str:
    """A tool in the format of the prompts."""
    takes = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items()) or "nothing"
    gives = ", ".join(f"{name}: {kind}" for name, kind in tool.outputs.items())
    return f"{tool.name}: {tool.description} Takes {takes}. Gives {gives}."
