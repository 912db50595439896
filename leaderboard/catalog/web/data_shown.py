"""What the data of a suite look like: inputs of a few tasks, as a published evaluation had them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.records import SampleResult
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.base import Task as LibraryTask
from leaderboard.boards.services import published
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading, Shown

MOST_TASKS = 6
SAMPLES = 3
"""Of each task."""
MOST_TEXT = 1200


class Preview(NamedTuple):
    """One task with what is given with it."""

    key: str
    text: str
    inputs: tuple[Shown, ...]
    """Of some of its samples."""
    values: str
    """What is given by value, as JSON; empty where there is nothing or `inputs` show it."""


def examples(library: LibrarySuite) -> tuple[LibraryTask, ...]:
    """A few tasks that are given different things, in the suite's order; then others, until there are enough."""
    kinds: dict[str, LibraryTask] = {}
    for task in library.tasks:
        kinds.setdefault(" ".join(sorted(map(str, task.resources.values()))), task)
    chosen = list(kinds.values())[:MOST_TASKS]
    if len(chosen) < MOST_TASKS // 2:
        others = (task for task in library.tasks if all(task.key != one.key for one in chosen))
        chosen += [task for task, _ in zip(others, range(MOST_TASKS // 2 - len(chosen)), strict=False)]
    return tuple(chosen)


def previews(*, tasks: Sequence[LibraryTask], evaluation: str, split: str) -> tuple[Preview, ...]:
    """These tasks with the inputs that the records of an evaluation have; none without anything to show.

    Args:
        tasks: of the suite.
        evaluation: id of a published evaluation; empty for none.
        split: that of the evaluation, whose data everybody may see.
    """
    samples = _samples(keys=[task.key for task in tasks], evaluation=evaluation, split=split) if evaluation else {}
    reading = Reading(store=server_store(split=split), split=split)
    found = (_preview(task=task, samples=samples.get(task.key, ()), reading=reading) for task in tasks)
    return tuple(one for one in found if one.inputs or one.values)


def _samples(*, keys: Sequence[str], evaluation: str, split: str) -> Mapping[str, Sequence[SampleResult]]:
    results = TaskResult.objects.filter(evaluation__in=published().filter(pk=evaluation), task__key__in=keys)
    store = server_store(split=split)
    found = {}
    for key, digest in results.exclude(record_digest="").values_list("task__key", "record_digest"):
        record = read_record(digest=digest, store=store)
        found[key] = [] if record is None else sorted(record.samples, key=lambda sample: sample.index)[:SAMPLES]
    return found


def _preview(*, task: LibraryTask, samples: Sequence[SampleResult], reading: Reading) -> Preview:
    values = _as_text(task.values_given)
    return Preview(task.key, task.text, tuple(_inputs(task=task, samples=samples, reading=reading)), values)


def _inputs(*, task: LibraryTask, samples: Sequence[SampleResult], reading: Reading) -> Iterator[Shown]:
    for sample in samples:
        for name, reference in sample.inputs.items():
            alt = f"{name} of task {task.key}, sample {sample.index + 1}"
            yield reading.show(name=name, reference=reference, alt=alt)


def _as_text(values: Mapping[str, Any]) -> str:
    if not values:
        return ""
    text = json.dumps(dict(values), ensure_ascii=False, indent=1)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …"
