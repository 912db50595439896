"""A language model that answers from a script: for tests, demonstrations and replaying what another model said.

A script is a JSONL file. The first line whose `pattern` (a regular expression, searched in the conversation's last
message) is found gives the answer:

    {"pattern": "noisy", "text": "Image Denoising"}
    {"pattern": "blurry", "texts": ["Image Deblurring", "Image Denoising, Image Deblurring"]}
    {"pattern": "which tool", "scores": {"Colorization": -0.2}, "otherwise": -9.0}
    {"pattern": "", "failure": "unavailable", "message": "It is closed."}

`texts` are beams, the best first; `scores` are log-probabilities of continuations. A call that no line answers is
refused.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    Usage,
)

Script = Callable[[Call], Answer | Failure | str]
"""Answers a call; a text is completed to a `Completion` with its names and usage."""
_SETTINGS = frozenset({"pattern", "text", "texts", "scores", "otherwise", "failure", "message"})


class ScriptError(ValueError):
    """A script cannot be read; the message names the file and the line."""


class ScriptedModel:
    """A `LanguageModel` whose answers come from a function or a file."""

    abilities = frozenset(Ability)

    def __init__(self, script: Script, *, name: str = "scripted", source: str = "function") -> None:
        """Args:
        script: answers each call; what it raises is raised by `answer`, as a defect of a model would be.
        name: of the model.
        source: what `identity` says of where the answers come from.
        """
        self.name = name
        self.calls: list[Call] = []
        """Every call so far, in the order in which they were asked."""
        self._script = script
        self._source = source

    @classmethod
    def from_file(cls, path: Path) -> "ScriptedModel":
        """The model whose script is a JSONL file.

        Raises:
            ScriptError: the file is missing, or a line of it is not as described above.
        """
        lines = _read(path)
        source = digest([line.settings for line in lines])
        return cls(_LinesScript(lines=lines, path=path), name=f"scripted:{path.name}", source=source)

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        """See `LanguageModel.answer`."""
        self.calls += calls
        return [self._one(call) for call in calls]

    def count_tokens(self, text: str) -> int:
        """Words: there is no tokeniser."""
        return len(text.split())

    def identity(self) -> Mapping[str, JsonValue]:
        """See `LanguageModel.identity`."""
        return {"kind": "scripted", "name": self.name, "script": self._source, "token_counts": "words"}

    def _one(self, call: Call) -> Answer | Failure:
        found = self._script(call)
        if not isinstance(found, str):
            return found
        if not isinstance(call, GenerateCall):
            return _refused("the script has a text for a call that asks for scores")
        return completion(call=call, texts=[found], count=self.count_tokens)


def completion(*, call: GenerateCall, texts: Sequence[str], count: Callable[[str], int]) -> Completion | Failure:
    """The completion that consists of these texts, the best first; they must keep to the call's constraint."""
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
    """The names that a text consists of, or None where the constraint forbids one, or ending after the last."""
    names = tuple(name.strip() for name in text.split(constraint.separator)) if text.strip() else ()
    for length, name in enumerate(names):
        if name not in constraint.following(names[:length]).names:
            return None
    return names if constraint.following(names).may_end else None


@dataclass(frozen=True, slots=True)
class _Line:
    pattern: re.Pattern[str]
    settings: dict[str, Any] = field(repr=False)

    def answer(self, call: Call) -> Answer | Failure | None:
        if "failure" in self.settings:
            kind = FailureKind(self.settings["failure"])
            return Failure(kind=kind, message=self.settings.get("message", f"The script says {kind}."))
        if isinstance(call, ScoreCall):
            known, otherwise = self.settings.get("scores"), self.settings.get("otherwise", -20.0)
            if known is None:
                return None
            return Scores(log_probabilities=tuple(float(known.get(text, otherwise)) for text in call.continuations))
        texts = self.settings.get("texts", [self.settings["text"]] if "text" in self.settings else None)
        return None if texts is None else completion(call=call, texts=texts, count=lambda text: len(text.split()))


@dataclass(frozen=True, slots=True)
class _LinesScript:
    lines: Sequence[_Line]
    path: Path

    def __call__(self, call: Call) -> Answer | Failure:
        last = call.messages[-1].content if call.messages else ""
        for line in self.lines:
            answer = line.answer(call) if line.pattern.search(last) else None
            if answer is not None:
                return answer
        return _refused(f"no line of the script {self.path} answers {last[:80]!r}")


def _refused(message: str) -> Failure:
    return Failure(kind=FailureKind.REFUSED, message=f"{message[:1].upper()}{message[1:]}.")


def _read(path: Path) -> list[_Line]:
    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"the script {path} cannot be read: {error}") from None
    return [_line(row, where=f"{path}, line {number}") for number, row in enumerate(rows, start=1) if row.strip()]


def _line(row: str, *, where: str) -> _Line:
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
        return _Line(pattern=re.compile(settings["pattern"]), settings=settings)
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
    if not {"text", "texts", "scores", "failure"} & set(settings):
        return 'it has none of "text", "texts", "scores" and "failure"'
    return None
