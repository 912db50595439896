"""What the task page shows: the stored record of one task, with its plan drawn and its artefacts named."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from evaluator.engine.store import ObjectDamagedError, ObjectMissingError, Store
from evaluator.records import ArtefactReference, ResultRecord, SampleResult, StepRun
from evaluator.suites.model import Task as LibraryTask
from evaluator.suites.registry import suite_of
from evaluator.tools.types import Catalogue
from leaderboard.catalog.models import Task
from leaderboard.evaluations.conditions import HIDDEN_SPLIT
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.notes import NoteBlock, note_blocks
from leaderboard.evaluations.objects import object_url, server_store
from leaderboard.evaluations.plan_graph import Graph, draw
from leaderboard.evaluations.planning_presenters import PlanningPage, planning_page, step_problems

MAX_TEXT = 2000
"""Characters of a text artefact that the page shows; the whole text is behind its link."""


class Shown(NamedTuple):
    """One artefact as the page shows it."""

    name: str
    url: str
    is_image: bool
    text: str
    alt: str


class ShownStep(NamedTuple):
    """One executed step."""

    run: StepRun
    inputs: tuple[Shown, ...]
    outputs: tuple[Shown, ...]


class ShownSample(NamedTuple):
    """One sample with everything that the plan did to it."""

    number: int
    score: float | None
    inputs: tuple[Shown, ...]
    steps: tuple[ShownStep, ...]
    answer: Shown | None
    reference: Shown | None


class TaskPage(NamedTuple):
    """Everything on the page that comes from the record, or stands in for it."""

    record: ResultRecord | None
    record_missing: bool
    """The row names a record, but the store cannot give it."""
    graph: Graph | None
    gold: Graph | None
    samples: tuple[ShownSample, ...]
    received: str
    data_is_hidden: bool
    record_url: str
    """Where the record is shown; nothing if it is withheld."""
    planning: PlanningPage | None
    """Of suites that judge plans."""
    notes: tuple[NoteBlock, ...]
    """How a strategy came to the plan. As public as the plan: a planner never sees the data of a sample."""


def read_record(*, digest: str, store: Store) -> ResultRecord | None:
    """The record with this digest; None if the store has lost it or it is of another version."""
    try:
        return ResultRecord.model_validate_json(store.get(digest).data)
    except (ObjectMissingError, ObjectDamagedError, ValidationError):
        return None


def task_page(*, task: Task, result: TaskResult | None, split: str, sees_hidden: bool) -> TaskPage:
    """Gather the page. Data and gold plan of the hidden split are for operators only."""
    digest = result.record_digest if result else ""
    store = server_store(split=split)
    record = read_record(digest=digest, store=store) if digest else None
    hidden = split == HIDDEN_SPLIT and not sees_hidden
    judged = task.suite.judges_plans
    catalogue, library_task = _signatures(task)
    resources = {} if library_task is None else {name: str(kind) for name, kind in library_task.resources.items()}
    gold = None
    if task.gold and not hidden:
        gold = draw(plan=task.gold, catalogue=catalogue, resources=resources, texts_inside=judged)
    samples: tuple[ShownSample, ...] = ()
    if record and not hidden:
        texts = _Texts(store)
        samples = tuple(_sample(sample=sample, texts=texts, split=split) for sample in record.samples)
    return TaskPage(
        record=record,
        record_missing=bool(digest) and record is None,
        graph=_plan_graph(record=record, catalogue=catalogue, resources=resources, judged=judged),
        gold=gold,
        samples=samples,
        received=_as_text(record.plan_received) if record else "",
        data_is_hidden=hidden,
        record_url=object_url(digest=digest, split=split) if record and not hidden else "",
        planning=_planning(task=task, library_task=library_task, record=record, result=result) if judged else None,
        notes=note_blocks(record.planner_notes) if record else (),
    )


def _planning(
    *, task: Task, library_task: LibraryTask | None, record: ResultRecord | None, result: TaskResult | None
) -> PlanningPage:
    outcome = result.outcome if result is not None else ""
    return planning_page(task=task, library_task=library_task, record=record, outcome=outcome)


def _signatures(task: Task) -> tuple[Catalogue | None, LibraryTask | None]:
    """Tools and task of the library. What this release does not know, or knows otherwise, is drawn without types."""
    try:
        suite = suite_of(task.suite.slug)
        return suite.catalogue, suite.task(task.key) if suite.digest == task.suite.digest else None
    except LookupError:
        return None, None


def _plan_graph(
    *, record: ResultRecord | None, catalogue: Catalogue | None, resources: Mapping[str, str], judged: bool
) -> Graph | None:
    if record is None or not isinstance(record.plan, dict):
        return None
    problems = {problem.step: _words(problem.code) for problem in record.problems}
    for sample in record.samples:
        problems |= {run.step: "Failed when run" for run in sample.steps if run.error}
    if judged:
        problems = step_problems(record)
    return draw(plan=record.plan, catalogue=catalogue, resources=resources, problems=problems, texts_inside=judged)


def _words(code: str) -> str:
    words = code.replace("_", " ")
    return words[:1].upper() + words[1:]


class _Texts:
    """Reads text artefacts, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, str] = {}

    def of(self, digest: str) -> str:
        if digest not in self._read:
            try:
                text = self._store.get(digest).data.decode("utf-8", errors="replace")
            except (ObjectMissingError, ObjectDamagedError):
                text = "(not in the store any more)"
            self._read[digest] = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + " …"
        return self._read[digest]


def _sample(*, sample: SampleResult, texts: _Texts, split: str) -> ShownSample:
    number = sample.index + 1

    def show(name: str, reference: ArtefactReference, alt: str) -> Shown:
        is_image = reference.media_type.startswith("image/")
        text = "" if is_image else texts.of(reference.digest)
        url = object_url(digest=reference.digest, split=split)
        return Shown(name=name, url=url, is_image=is_image, text=text, alt=f"{alt}, sample {number}")

    def step(run: StepRun) -> ShownStep:
        where = f"step {run.step}, {run.tool}"
        return ShownStep(
            run=run,
            inputs=tuple(show(name, value, f"Input {name} of {where}") for name, value in run.inputs.items()),
            outputs=tuple(show(name, value, f"Output {name} of {where}") for name, value in run.outputs.items()),
        )

    return ShownSample(
        number=number,
        score=sample.score,
        inputs=tuple(show(f"${name}", value, f"Given {name}") for name, value in sample.inputs.items()),
        steps=tuple(step(run) for run in sample.steps),
        answer=show("answer", sample.answer, "The plan's answer") if sample.answer else None,
        reference=show("reference", sample.reference, "The reference") if sample.reference else None,
    )


def _as_text(received: Any) -> str:
    return received if isinstance(received, str) else json.dumps(received, indent=2, ensure_ascii=False)
