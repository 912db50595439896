"""Lessons, and their files of JSON lines: what a language model should reply to which conversation.

A file may be larger than the memory: it is checked once, and then only the positions of its lines are kept. No torch.
"""

import hashlib
import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from evaluator.core.language_model import Message

_MOST_LINE_BYTES = 8 * 1024 * 1024
_MOST_LINES = 10_000_000
_ROLES = ("system", "user", "assistant")
FORM = (
    '{"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]} or '
    '{"prompt": "...", "reply": "..."}'
)


class DataError(ValueError):
    """Invalid training data; the message names the file, the line and the expected form."""


class FieldError(ValueError):
    """A field of a line is invalid; the message names it and says what would be right."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and its expected answer."""

    messages: tuple[Message, ...]
    answer: str


Reader = Callable[[Mapping[str, Any]], Sequence[Lesson]]
"""The lessons of a line, at least one, in the order of the conversation.

Raises FieldError."""


def read_messages(record: Mapping[str, Any]) -> list[Message]:
    """The conversation of a line: perhaps a system message, then user and assistant in turns, an assistant last.

    Raises:
        FieldError: it is none.
    """
    if "messages" not in record and "prompt" in record:
        return [Message("user", _text(record, "prompt")), Message("assistant", _text(record, "reply"))]
    entries = record.get("messages")
    if not isinstance(entries, list) or not entries:
        raise FieldError(f"messages is missing or no list; a line is {FORM}")
    messages = []
    for place, entry in enumerate(entries):
        where = f"messages[{place}]"
        if not isinstance(entry, Mapping):
            raise FieldError(f"{where} must be an object with role and content")
        role = entry.get("role")
        if role not in _ROLES:
            raise FieldError(f"{where}.role is {str(role)[:40]!r}; it must be system, user or assistant")
        messages.append(Message(cast(Literal["system", "user", "assistant"], role), _text(entry, "content", at=where)))
    begin = 1 if messages[0].role == "system" else 0
    for place, message in enumerate(messages[begin:]):
        wanted = "assistant" if place % 2 else "user"
        if message.role != wanted:
            raise FieldError(f"messages[{begin + place}].role is {message.role!r}; it must be {wanted!r}")
    if messages[-1].role != "assistant":
        raise FieldError(f"messages[{len(messages) - 1}] must be a reply of the assistant, which is last")
    return messages


def _text(entry: Mapping[str, Any], field: str, *, at: str = "") -> str:
    value = entry.get(field)
    name = f"{at}.{field}" if at else field
    if not isinstance(value, str):
        raise FieldError(f"{name} is missing or no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise FieldError(f"{name} has half of a surrogate pair, which is no character") from None
    return value


def chat_lessons(record: Mapping[str, Any]) -> Sequence[Lesson]:
    """A lesson for each reply of the assistant: the messages before it as they are.

    Raises:
        FieldError: the line has no conversation.
    """
    messages = read_messages(record)
    return [
        Lesson(messages=tuple(messages[:place]), answer=message.content)
        for place, message in enumerate(messages)
        if message.role == "assistant"
    ]


@dataclass(frozen=True, slots=True)
class LessonFile:
    """A checked file: a conversation a line, with one or more lessons. Lines are counted from 0."""

    path: Path
    read: Reader
    digest: str
    """SHA-256 of the file."""
    positions: Sequence[int]
    """Where each line begins, in bytes."""
    training: Sequence[int]
    """The lines to learn from."""
    held_out: Sequence[int]
    """The lines of the held-out tasks."""
    held_out_tasks: int

    @classmethod
    def checked(cls, path: Path, *, read: Reader = chat_lessons, held_out: float) -> "LessonFile":
        """Read a file once and check every line.

        Args:
            path: JSON lines; empty lines are skipped.
            read: the lessons of a line.
            held_out: share of the tasks to hold out, at least 0 and less than 1. All lines of a task, which `dataset`
                and `id`, else `task`, else the first message of the user names, are held out together, in any file.

        Raises:
            DataError: the file cannot be read, a line is invalid, or no line is left to learn from.
        """
        hasher, position = hashlib.sha256(), 0
        positions, training, others = array("q"), array("q"), array("q")
        tasks: set[bytes] = set()
        try:
            with path.open("rb") as file:
                for number, line in enumerate(iter(lambda: file.readline(_MOST_LINE_BYTES + 1), b"")):
                    if len(line) > _MOST_LINE_BYTES:
                        raise DataError(f"{path}: line {number + 1} has more than {_MOST_LINE_BYTES // 1024**2} MiB")
                    if number == _MOST_LINES:
                        raise DataError(f"{path} has more than {_MOST_LINES} lines; split it")
                    hasher.update(line)
                    positions.append(position)
                    position += len(line)
                    if not line.strip():
                        continue
                    task = _task_of(_checked(line, read=read, where=f"{path}: line {number + 1}"))
                    if int.from_bytes(task[:8]) < held_out * 2**64:
                        others.append(number)
                        tasks.add(task)
                    else:
                        training.append(number)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from None
        if not training:
            held = f" besides {len(others)} held-out ones" if others else ""
            raise DataError(f"{path} has no conversation to learn from{held}; a line is {FORM}")
        return cls(
            path=path, read=read, digest=hasher.hexdigest(), positions=positions, training=training, held_out=others,
            held_out_tasks=len(tasks),
        )  # fmt: skip

    def lessons(self, lines: Sequence[int]) -> Iterator[Sequence[Lesson]]:
        """The lessons of each of these lines."""
        with self.path.open("rb") as file:
            for line in lines:
                file.seek(self.positions[line])
                yield self.read(_parsed(file.readline(), where=f"{self.path}: line {line + 1}"))


def _checked(line: bytes, *, read: Reader, where: str) -> Mapping[str, Any]:
    record = _parsed(line, where=where)
    try:
        lessons = read(record)
    except FieldError as error:
        raise DataError(f"{where}: {error}") from None
    if not any(lesson.answer.strip() for lesson in lessons):
        raise DataError(f"{where}: all replies are empty")
    return record


def _parsed(line: bytes, *, where: str) -> Mapping[str, Any]:
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DataError(f"{where} is not JSON in UTF-8; a line is {FORM}") from None
    if not isinstance(record, dict):
        raise DataError(f"{where} is no object; a line is {FORM}")
    return record


def _task_of(record: Mapping[str, Any]) -> bytes:
    """A digest of the task of a line."""
    named = record.get("id"), record.get("task")
    if named[0] is not None:
        name = f"{record.get('dataset')}\0{named[0]}"
    elif named[1] is not None:
        name = str(named[1])
    else:
        first = next(message for message in read_messages(record) if message.role == "user")
        name = first.content
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()
