"""A language model that answers from a script: for tests, demonstrations and replays of another model.

A script is a JSONL file. The first line whose `pattern` (a regular expression) matches in the conversation's last
message gives the answer:

    {"pattern": "noisy", "text": "Image Denoising"}
    {"pattern": "blurry", "texts": ["Image Deblurring", "Image Denoising, Image Deblurring"]}
    {"pattern": "which tool", "scores": {"Colorization": -0.2}, "otherwise": -9.0}
    {"pattern": "gray", "calls": [{"name": "Colorization", "arguments": {"image": "$image"}}], "text": "I colour it."}
    {"pattern": "", "failure": "unavailable", "message": "It is closed."}

`texts` are beams, best first; `scores` are log-probabilities of continuations. `calls` are calls of tools, with
arguments as an object or a text, and answer only calls that offer tools. A call that matches no line is refused.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.language_model import (
    Ability,
    Answer,
    Beam,
    Call,
    Completion,
    Constraint,
    Failure,
    FailureKind,
    GenerateCall,
    ScoreCall,
    Scores,
    ToolCall,
    Usage,
)

Script = Callable[[Call], Answer | Failure | str]
"""Answers a call; a text is completed to a `Completion` with its names and usage."""
_SETTINGS = frozenset({"pattern", "text", "texts", "scores", "otherwise", "failure", "message", "calls"})


class ScriptError(ValueError):
    """A script cannot be read; the message names the file and the line."""


class ScriptedModel:
    """A `LanguageModel` whose answers come from a function or a file."""

    abilities = frozenset(Ability)

    def __init__(self, script: Script, *, name: str = "scripted", source: str = "function") -> None:
        """Args:
        script: answers each call; its exceptions propagate, like the defects of a model.
        name: name of the model.
        source: origin of the answers, for `identity`.
        """
        self.name = name
        self.calls: list[Call] = []
        """All calls so far, in order."""
        self._script = script
        self._source = source

    @classmethod
    def from_file(cls, path: Path) -> "ScriptedModel":
        """The model of a script file.

        Raises:
            ScriptError: the file is missing, or a line is invalid.
        """
        try:
            rows = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ScriptError(f"the script {path} cannot be read: {error}") from None
        lines = [_line(row, where=f"{path}, line {number}") for number, row in enumerate(rows, start=1) if row.strip()]

        def script(call: Call) -> Answer | Failure:
            last = call.messages[-1].content if call.messages else ""
            for pattern, settings in lines:
                answer = _answer(call, settings=settings) if pattern.search(last) else None
                if answer is not None:
                    return answer
            return _refused(f"no line of the script {path} answers {last[:80]!r}")

        return cls(script, name=f"scripted:{path.name}", source=digest([settings for _, settings in lines]))

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        self.calls += calls
        return [self._answered(call) for call in calls]

    def count_tokens(self, text: str) -> int:
        """The number of words, for want of a tokenizer."""
        return len(text.split())

    def identity(self) -> Mapping[str, JsonValue]:
        return {"kind": "scripted", "name": self.name, "script": self._source, "token_counts": "words"}

    def _answered(self, call: Call) -> Answer | Failure:
        answer = self._script(call)
        if not isinstance(answer, str):
            return answer
        if not isinstance(call, GenerateCall):
            return _refused("the script has a text for a call that asks for scores")
        return completion(call=call, texts=[answer], count=self.count_tokens)


def completion(*, call: GenerateCall, texts: Sequence[str], count: Callable[[str], int]) -> Completion | Failure:
    """The completion with these beams, best first. A text that breaks the call's constraint is refused."""
    prompt = sum(count(message.content) for message in call.messages)
    beams = []
    for number, text in enumerate(texts[: max(1, call.beams)]):
        names = () if call.constraint is None else constrained_names(text=text, constraint=call.constraint)
        if names is None:
            return _refused(f"the script's text {text!r} breaks the call's constraint")
        beams.append(Beam(text=text, log_probability=-float(number), names=names))
    return Completion(
        text=beams[0].text,
        usage=Usage(prompt_tokens=prompt, completion_tokens=sum(count(beam.text) for beam in beams)),
        beams=tuple(beams) if call.constraint is not None else (),
    )


def constrained_names(*, text: str, constraint: Constraint) -> tuple[str, ...] | None:
    """The names in a text; None if the constraint forbids one of them, or forbids to end after the last."""
    names = tuple(name.strip() for name in text.split(constraint.separator)) if text.strip() else ()
    for length, name in enumerate(names):
        if name not in constraint.following(names[:length]).names:
            return None
    return names if constraint.following(names).may_end else None


def _answer(call: Call, *, settings: Mapping[str, Any]) -> Answer | Failure | None:
    if "failure" in settings:
        kind = FailureKind(settings["failure"])
        return Failure(kind=kind, message=settings.get("message", f"The script says {kind}."))
    if isinstance(call, ScoreCall):
        scores, otherwise = settings.get("scores"), settings.get("otherwise", -20.0)
        if scores is None:
            return None
        return Scores(log_probabilities=tuple(float(scores.get(text, otherwise)) for text in call.continuations))
    texts = settings.get("texts", [settings["text"]] if "text" in settings else None)
    if "calls" in settings:
        return _completion_with_calls(call, settings=settings) if call.tools else None
    return None if texts is None else completion(call=call, texts=texts, count=lambda text: len(text.split()))


def _completion_with_calls(call: GenerateCall, *, settings: Mapping[str, Any]) -> Completion | Failure:
    made = completion(call=call, texts=[settings.get("text", "")], count=lambda text: len(text.split()))
    if isinstance(made, Failure):
        return made
    calls = tuple(
        ToolCall(
            id=f"call_{digest([number, each])[:24]}",
            name=each["name"],
            arguments=each["arguments"] if isinstance(each["arguments"], str) else json.dumps(each["arguments"]),
        )
        for number, each in enumerate(settings["calls"])
    )
    return replace(made, calls=calls)


def _refused(message: str) -> Failure:
    return Failure(kind=FailureKind.REFUSED, message=f"{message[:1].upper()}{message[1:]}.")


def _line(row: str, *, where: str) -> tuple[re.Pattern[str], dict[str, Any]]:
    try:
        settings = json.loads(row)
    except ValueError as error:
        raise ScriptError(f"{where} is not JSON: {error}") from None
    if not isinstance(settings, dict) or not isinstance(settings.get("pattern"), str):
        raise ScriptError(f'{where} is no object with a "pattern"')
    problem = _problem(settings)
    if problem is not None:
        raise ScriptError(f"{where}: {problem}")
    try:
        return re.compile(settings["pattern"]), settings
    except re.error as error:
        raise ScriptError(f"{where}: the pattern is no regular expression: {error}") from None


def _problem(settings: Mapping[str, Any]) -> str | None:
    unknown = sorted(set(settings) - _SETTINGS)
    if unknown:
        return f"unknown {', '.join(unknown)}; there are: {', '.join(sorted(_SETTINGS))}"
    texts = settings.get("texts", ["one"])
    scores = settings.get("scores", {})
    if not isinstance(settings.get("text", ""), str) or not isinstance(settings.get("message", ""), str):
        return '"text" and "message" are texts'
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        return '"texts" is a list of one or more texts'
    numbers = [*scores.values(), settings.get("otherwise", 0.0)] if isinstance(scores, dict) else ["none"]
    if not all(isinstance(number, int | float) and number <= 0 for number in numbers):
        return '"scores" and "otherwise" are log-probabilities, at most 0'
    if settings.get("failure", FailureKind.REFUSED) not in list(FailureKind):
        return f'"failure" is one of {", ".join(FailureKind)}'
    if not {"text", "texts", "scores", "failure", "calls"} & set(settings):
        return 'it has none of "text", "texts", "scores", "calls" and "failure"'
    if "calls" in settings and not _are_calls(settings["calls"]):
        return '"calls" is a list of objects with a "name" and "arguments", which are an object or a text'
    return None


def _are_calls(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict)
        and each.keys() == {"name", "arguments"}
        and isinstance(each["name"], str)
        and isinstance(each["arguments"], dict | str)
        for each in value
    )
