"""LUMOS's training data, released or of `planarena lumos convert`, as prompts and replies."""

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluator.lumos.strategies.templates import ASSISTANT, USER
from evaluator.training.causal import DataError, Exchange


def read_conversations(
    path: Path, *, datasets: Collection[str] = (), without: Collection[str] = ()
) -> Iterator[tuple[Exchange, ...]]:
    """The conversations of a file, each as its replies with their prompts.

    Args:
        path: `{"dataset": str, "id": str, "messages": [{"role": "user" | "assistant", "content": str}]}` in each line.
        datasets: only conversations of these; none: of all.
        without: no conversations of these.

    Raises:
        DataError: a line is something else, or the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            wanted = (not datasets or record["dataset"] in datasets) and record["dataset"] not in without
            conversation = tuple(exchanges_of(record["messages"])) if wanted else ()
        except (ValueError, KeyError, TypeError) as error:
            what = '{"dataset": str, "id": str, "messages": [{"role", "content"}, ...]}'
            raise DataError(f"{path}: line {number} is not {what}: {error!r}") from None
        if conversation:
            yield conversation


def exchanges_of(messages: Sequence[Any]) -> Iterator[Exchange]:
    """The replies of a conversation, each with its prompt: exactly what the strategies ask.

    Raises:
        ValueError: messages of the user and the assistant do not take turns.
    """
    text = ""
    for place, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role != ("assistant" if place % 2 else "user") or not isinstance(content, str):
            raise ValueError(f"message {place + 1} is of the role {role!r}, or its content is no text")
        if role == "user":
            text += f"{chr(10) if place else ''}{USER}{content}{ASSISTANT}"
        else:
            yield Exchange(text, content)
            text += content
