"""An imported run and its document `import/1`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans_file import GivenPlan, PlansFile, PlansFileError, plans_of
from evaluator.core.storable import unkeepable

VERSION = "import/1"
LABEL = "imported, plans re-scored here"
"""What every presentation of such a run says."""
_LONGEST_SUITE = 50
_LONGEST_TEXT = 200
_MOST_TOKENS = 2**31
USAGE = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
"""Counts of a task's usage. Those of the prompt contain the cached ones, those of the completion the reasoning."""


class RunError(ValueError):
    """The run cannot be imported; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a run has on one task."""

    task: str
    plan: JsonValue = None
    """As the model wrote it: a text, or a message with tool calls. None: the run has no answer."""
    usage: Mapping[str, int] = field(default_factory=dict)
    lacks: str = ""
    """Why there is no answer, as a clause; empty: there is one."""


IN_TURNS = "in_turns"
"""Field of a task that our adapters of other harnesses write for suites in turns."""
EPISODE = "it was answered in turns, and one message of them is no plan"
"""`Answer.lacks` of such a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """A run of another harness."""

    format: str
    producer: str
    """Package with its version, as the run says."""
    model: str
    """The language model, as the run names it; empty: it does not say."""
    run: str
    """Id of the run in its harness; empty: it has none."""
    created: str
    """When it was made, as the run says."""
    conditions: Mapping[str, JsonValue]
    """Settings of the run, such as the temperature. Not checked."""
    answers: Sequence[Answer]
    """At most one for each task."""
    ignored: Sequence[str] = ()
    """What of the run was left out, as sentences."""

    def plans(self) -> PlansFile:
        """The plans as a plans file.

        Raises:
            RunError: there is none, or one is too large.
        """
        plans = {answer.task: {"plan": answer.plan} for answer in self.answers if not answer.lacks}
        if not plans:
            raise RunError(f"The run has no answer to any task{self._reasons()}.")
        try:
            return plans_of(plans)
        except PlansFileError as error:
            raise RunError(str(error)) from None

    def to_json(self, *, suite: str, file_sha256: str, missing: Sequence[str]) -> dict[str, Any]:
        """The document `import/1`.

        Args:
            suite: slug of the suite whose tasks it answers.
            file_sha256: of the imported file; of a folder, over its files.
            missing: tasks of the suite without an answer.
        """
        return {
            "version": VERSION,
            "label": LABEL,
            "suite": suite,
            "source": {
                "format": self.format,
                "producer": self.producer[:_LONGEST_TEXT],
                "model": self.model[:_LONGEST_TEXT],
                "run": self.run[:_LONGEST_TEXT],
                "created": self.created[:_LONGEST_TEXT],
                "conditions": dict(self.conditions),
                "sha256": file_sha256,
            },
            "plans": {answer.task: {"plan": answer.plan} for answer in self.answers if not answer.lacks},
            "usage": {answer.task: dict(answer.usage) for answer in self.answers if answer.usage},
            "lacking": {answer.task: answer.lacks[:_LONGEST_TEXT] for answer in self.answers if answer.lacks},
            "missing": list(missing),
            "ignored": list(self.ignored),
        }

    def _reasons(self) -> str:
        lacking = [f"{answer.task}: {answer.lacks}" for answer in self.answers[:3]]
        return f" ({'; '.join(lacking)})" if lacking else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportDocument:
    """A document `import/1`, checked."""

    suite: str
    source: Mapping[str, JsonValue]
    plans: Mapping[str, GivenPlan]
    usage: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, value: Any) -> "ImportDocument":
        """Check a document, which a stranger may have written.

        Raises:
            RunError: it is no such document.
        """
        if not isinstance(value, Mapping) or value.get("version") != VERSION:
            raise RunError(f"It is no document {VERSION!r} of `planarena import`.")
        source, usage, suite = value.get("source"), value.get("usage"), value.get("suite")
        if not (isinstance(source, Mapping) and isinstance(usage, Mapping) and isinstance(suite, str)):
            raise RunError('It lacks "suite", "source" or "usage".')
        if not 1 <= len(suite) <= _LONGEST_SUITE or unkeepable(suite):
            raise RunError('"suite" is no name of a suite.')
        try:
            plans = plans_of(value.get("plans")).plans
        except PlansFileError as error:
            raise RunError(str(error)) from None
        counts = {task: usage_of(usage.get(task)) for task in plans}
        return cls(suite=suite, source=dict(source), plans=plans, usage=counts)


def import_in(data: bytes) -> ImportDocument | None:
    """The document `import/1` in these bytes; None if they are something else, such as a plans file.

    Raises:
        RunError: it is damaged.
    """
    if f'"{VERSION}"'.encode() not in data:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return ImportDocument.of(value) if isinstance(value, Mapping) and value.get("version") == VERSION else None


def usage_of(value: Any) -> dict[str, int]:
    """The valid counts of a usage, named as in `USAGE`; others are dropped."""
    if not isinstance(value, Mapping):
        return {}
    return {name: count for name in USAGE if type(count := value.get(name)) is int and 0 <= count < _MOST_TOKENS}


def message_of(*, text: str, calls: Sequence[tuple[str, Any]]) -> JsonValue:
    """The answer of a model: its text, or a message of Chat Completions if it has tool calls.

    Args:
        text: of the answer.
        calls: name and arguments of each call; arguments are an object, or a text as the model wrote it.
    """
    if not calls:
        return text
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given, ensure_ascii=False),
                },
            }
            for number, (name, given) in enumerate(calls, start=1)
        ],
    }


def text_of(value: Any) -> str:
    """The text of a message's content, which is a text or a list of parts; reasoning and pictures are left out."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    return "".join(
        str(part["text"])
        for part in parts
        if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def once(answers: Sequence[Answer], *, ignored: list[str], what: str) -> list[Answer]:
    """The first answer to each task; says how many others were left out.

    Args:
        answers: in the order of the run.
        ignored: gets a sentence.
        what: the others, in the plural, such as `further epochs`.
    """
    first: dict[str, Answer] = {}
    for answer in answers:
        first.setdefault(answer.task, answer)
    if more := len(answers) - len(first):
        ignored.append(f"{more} answers of {what} were left out: a task has one plan.")
    return list(first.values())
