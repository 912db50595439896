"""Tasks of arc-mini's training split as lessons: prompts of the compact style with the right replies.

Prompts equal those of the strategies. Some contain a wrong program and its feedback: another rule's program, or the
gold program with one value changed. A record is `{"task": str, "view": str, "is_feedback": bool, "prompt": str,
"reply": str}`, in a file of JSON lines; one with feedback also has its `messages`.
"""

import json
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from evaluator.arc.candidates import ArcCandidate, Track, Work, run_all
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.mini.draws import Drawn, Source, draw_family
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.strategies.agents import Agent
from evaluator.arc.strategies.styles import COMPACT
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Message
from evaluator.miniature.seeds import Split
from evaluator.sandbox.programs.runner import Runner
from evaluator.training.causal import OF_PROMPTS, Exchange
from evaluator.training.lessons import DataError, Lesson, chat_lessons

_VALUE = re.compile(r"(?<=')[a-i](?=')|\b\d+\b")
_COLOURS = "abcdefghi"
_CHANGED, _OF_FAMILY = 0.5, 0.85
"""Cumulative probabilities: one value is changed, or the program is from the same family; otherwise from any family."""


def wrong_program(*, drawn: Drawn, others: Sequence[Drawn], rng: random.Random) -> str | None:
    """A program other than the gold program of a task; None if the draw gives the gold program.

    Args:
        drawn: the task.
        others: tasks whose programs may be used, of its family and of others.
        rng: random numbers.
    """
    gold = drawn.rule.program()
    chance = rng.random()
    if chance < _CHANGED:
        wrong = changed(gold, rng=rng)
    else:
        families = {drawn.family} if chance < _OF_FAMILY else {other.family for other in others}
        wrong = rng.choice([other for other in others if other.family in families]).rule.program()
    return wrong if wrong != gold else None


def changed(program: str, *, rng: random.Random) -> str:
    """A program with one of its colours or numbers changed, if it has any."""
    values = list(_VALUE.finditer(program))
    if not values:
        return program
    match = rng.choice(values)
    new = rng.choice(_COLOURS) if match[0] in _COLOURS else str(max(0, int(match[0]) + rng.choice((-1, 1))))
    if match[0] in {"90", "180", "270"}:
        new = rng.choice(("90", "180", "270"))
    return program[: match.start()] + new + program[match.end() :]


FILE = "lessons.jsonl"
_AT_ONCE = 100
"""Tasks of each family whose wrong programs run together."""


def write_lessons(*, folder: Path, count: int, start: int = 0, families: Collection[str] = tuple(FAMILIES)) -> int:
    """Write lessons from the tasks `start` to `start + count - 1` of each family, and return their number.

    Raises:
        UnconfinedError: programs cannot be confined here.
        OSError: the file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    partial = folder / f"{FILE}.partial"
    with Runner(library=[library()]) as runner, partial.open("w", encoding="utf-8") as file:
        for records in _chunks(families=families, count=count, start=start, runner=runner):
            file.writelines(json.dumps(record) + "\n" for record in records)
            written += len(records)
    partial.replace(folder / FILE)
    return written


def _chunks(
    *, families: Collection[str], count: int, start: int, runner: Runner
) -> Iterator[list[dict[str, JsonValue]]]:
    source = Source(split=Split.TRAIN)
    streams = [draw_family(family=family, source=source, count=count, start=start) for family in families]
    tasks = zip(*streams, strict=True)
    while chunk := list(islice(tasks, _AT_ONCE)):
        drawn = [task for same_number in chunk for task in same_number]
        yield [
            *(_record(task, agent=agent) for task in drawn for agent in COMPACT.agents),
            *_with_feedback(drawn, runner=runner),
        ]


def reply_of(program: str) -> str:
    """A program in the form of the writer's replies."""
    return f"```python\n{program}\n```"


def prompt_of(messages: Sequence[Message]) -> str:
    """The prompt for a model without a chat template."""
    return "\n\n".join(message.content for message in messages)


def _with_feedback(drawn: Sequence[Drawn], *, runner: Runner) -> Iterator[dict[str, JsonValue]]:
    """A lesson per task: a wrong program in one of the views, its feedback, and the right program."""
    wrong: list[tuple[Drawn, str]] = []
    for task in drawn:
        # Deterministic, and not for secrets.
        program = wrong_program(drawn=task, others=drawn, rng=random.Random(task.key))  # noqa: S311
        if program is not None:
            wrong.append((task, program))
    works = [
        Work(
            candidate=ArcCandidate(Track.PROGRAM, program),
            demonstrations=[pair.input for pair in task.demonstrations], tests=[],
        )
        for task, program in wrong
    ]  # fmt: skip
    for (task, program), outputs in zip(wrong, run_all(works, runner=runner), strict=True):
        agent = COMPACT.agents[task.number // len(FAMILIES[task.family].kinds) % len(COMPACT.agents)]
        rights = [pair.output for pair in task.demonstrations]
        if list(outputs.demonstrations) != rights:
            correction = COMPACT.correction(
                reply=reply_of(program), problem="", outputs=outputs.demonstrations, rights=rights
            )
            yield _record(task, agent=agent, correction=correction)


def _record(task: Drawn, *, agent: Agent, correction: tuple[Message, ...] = ()) -> dict[str, JsonValue]:
    tests = [pair.input for pair in task.tests]
    request = COMPACT.first(agent=agent, demonstrations=task.demonstrations, test_inputs=tests, before=())
    return {
        "task": task.key, "view": agent.name, "is_feedback": bool(correction),
        "prompt": prompt_of((*request, *correction)), "reply": reply_of(task.rule.program()),
        **({"messages": _messages(task, before=(*request, *correction))} if correction else {}),
    }  # fmt: skip


def _messages(task: Drawn, *, before: Sequence[Message]) -> list[JsonValue]:
    """The conversation for models with a chat template."""
    messages = (*before, Message("assistant", reply_of(task.rule.program())))
    return [{"role": message.role, "content": message.content} for message in messages]


def writer_lessons(record: Mapping[str, Any]) -> Sequence[Lesson]:
    """The lessons of a line, for a given model. A conversation with feedback contains a wrong program, so that only its
    last reply is one.

    Raises:
        FieldError: the line has no conversation.
    """
    lessons = chat_lessons(record)
    return lessons[-1:] if record.get("is_feedback") else lessons


def read_lessons(path: Path) -> list[Exchange]:
    """Read lessons. Prompts with feedback have no weight in the loss, because they contain wrong programs.

    Raises:
        DataError: the file cannot be read, or a line is invalid.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    return [_exchange(line, path=path, number=number) for number, line in enumerate(lines, start=1)]


def _exchange(line: str, *, path: Path, number: int) -> Exchange:
    try:
        record = json.loads(line)
        weight = 0.0 if record["is_feedback"] else OF_PROMPTS
        prompt, reply = record["prompt"], record["reply"]
    except (ValueError, KeyError, TypeError) as error:
        what = '{"task", "view", "is_feedback", "prompt", "reply"}'
        raise DataError(f"{path}: line {number} is not {what}: {error!r}") from None
    if not isinstance(prompt, str) or not isinstance(reply, str):
        raise DataError(f"{path}: line {number}: prompt and reply must be texts")
    return Exchange(prompt, reply, weight)
