"""The environment of the step-by-step form of a suite of executed plans."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from cachetools import LRUCache
from PIL import Image as PillowImage

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.records import ArtefactReference, Reason, ResultRecord
from evaluator.core.sounds import Sound
from evaluator.core.suites.base import ABSTENTION, Suite, Task
from evaluator.core.suites.samples import SampleSource, WithOrigin
from evaluator.core.tools.types import Catalogue
from evaluator.core.transcripts import Transcript
from evaluator.core.values import Boxes, Clip, Image, Labels, Masks, Value, encode
from evaluator.episodes.base import Setting
from evaluator.episodes.beside_gold import Pending, task_of
from evaluator.episodes.executed import ExecutedPlans
from evaluator.episodes.parts import not_run_reasons
from evaluator.episodes.samples import SampleArtefacts
from evaluator.episodes.scoring import UNREADABLE, ResultScorer
from evaluator.episodes.turns.environment import (
    Call,
    ExpertRun,
    FinishedEpisode,
    Made,
    Outcome,
    Refused,
    Shown,
    ToolFault,
    TurnScore,
    TypedTask,
    TypedValue,
)
from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools, Failed, Ran
from evaluator.episodes.turns.task_scores import TaskScorer
from evaluator.episodes.turns.typed_actions import ActionError, Bound, bind
from evaluator.execution.engine.jobs import Job

MOST_ITEMS = 20
"""Listed items of a result."""
LONGEST_SIDE = 256
"""Pixels of a picture for planners; larger ones are scaled down."""
MOST_BYTES = 96 * 1024
"""Size of a PNG for planners; larger ones are scaled down further."""


def in_words(value: Value, *, caption: str = "") -> str:
    """A value as a text: texts verbatim, other values as a description. `caption` describes a picture; may be empty."""
    match value:
        case str():
            return value
        case Image():
            words = f"a picture of {value.width}x{value.height} pixels"
            return f"{words}: {caption}" if caption else words
        case Clip():
            width, height = value.size
            heard = "" if value.sound is None else f", with a sound of {value.sound.seconds:.1f} s"
            return f"a clip of {len(value.frames)} frames of {width}x{height} pixels{heard}"
        case Sound():
            return f"a sound of {value.seconds:.1f} s"
        case Labels():
            items = [f"{item.name} ({item.score:.2f})" for item in value.items]
            return _listed(items, singular="label", plural="labels")
        case Boxes():
            items = [f"{item.label} at {', '.join(f'{side:.0f}' for side in item.corners)}" for item in value.items]
            return f"{_listed(items, singular='box', plural='boxes')} in {value.size[0]}x{value.size[1]} pixels"
        case Masks():
            items = [f"{item.label or 'unnamed'} of {int(item.pixels.sum())} pixels" for item in value.items]
            return f"{_listed(items, singular='mask', plural='masks')} in {value.size[0]}x{value.size[1]} pixels"


def as_png(picture: Image) -> str:
    """A picture as a PNG in base64, scaled down if large."""
    side = LONGEST_SIDE
    while True:
        smaller = picture
        if max(picture.size) > side:
            smaller = picture.copy()
            smaller.thumbnail((side, side), PillowImage.Resampling.LANCZOS)
        data = encode(smaller).data
        if len(data) <= MOST_BYTES:
            return base64.b64encode(data).decode("ascii")
        side //= 2


def _listed(items: list[str], *, singular: str, plural: str) -> str:
    if not items:
        return f"no {singular}"
    count = f"{len(items)} {plural if len(items) > 1 else singular}"
    more = f"; and {len(items) - MOST_ITEMS} more" if len(items) > MOST_ITEMS else ""
    return f"{count}: {'; '.join(items[:MOST_ITEMS])}{more}"


_VERSION = 1
"""Version of the display of results and of the scores; increment it if a reply may have another outcome."""
_CACHED_CAPTIONS = 20_000
_CACHED_PICTURES = 2_000
"""At most 128 KiB each."""


class ExecutedTasks:
    """The `SampleEnvironment` for the tasks of a suite of executed plans."""

    def __init__(
        self, *, setting: Setting, slug: str, plans: ExecutedPlans, catalogue: Catalogue, caption: str
    ) -> None:
        """Args:
        setting: profile, split, number of samples, store and device.
        slug: the suite of whole plans, with which calls share results.
        plans: that suite's episode.
        catalogue: its tools.
        caption: the tool that describes a picture in its only output.

        Raises:
            LookupError, ValueError: the data or the profile are missing.
        """
        self._setting, self._slug, self._plans, self._caption = setting, slug, plans, caption
        with_experts = replace(setting, profile=plans.extended.get(setting.profile, setting.profile))
        self._tools = ExpertTools.of_setting(with_experts, catalogue=catalogue, salt=slug)
        self._pending: dict[str, Pending] = {}
        """The gold plan's results by task key."""
        self._words: LRUCache[str, str] = LRUCache(maxsize=_CACHED_CAPTIONS)
        """Captions of pictures by digest."""
        self._pngs: LRUCache[str, str] = LRUCache(maxsize=_CACHED_PICTURES)

    @cached_property
    def _source(self) -> SampleSource:
        return self._plans.samples(self._setting)

    @cached_property
    def _samples(self) -> SampleArtefacts:
        return SampleArtefacts(source=self._source, engine=self._tools.engine)

    @cached_property
    def _scorer(self) -> TaskScorer:
        tools = self._tools
        results = ResultScorer(
            engine=tools.engine, samples=self._samples, count=self._setting.samples, profile=tools.profile,
            device=self._setting.device,
        )  # fmt: skip
        return TaskScorer(engine=tools.engine, results=results, samples=self._samples, judge=self._plans.judge)

    def digest(self) -> str:
        judge = self._plans.judge
        facts: dict[str, JsonValue] = {
            "environment": "executed", "version": _VERSION, "of": self._slug, "caption": self._caption,
            "judge": None if judge is None else judge.digest(), "beside_gold": self._plans.beside_gold,
        }  # fmt: skip
        return digest(facts)

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """See `Environment`: the same tasks as for whole plans."""
        return not_run_reasons(suite=suite, profile=self._tools.profile, samples=self._source)

    def offered(self, suite: Suite) -> frozenset[str]:
        del suite
        return self._tools.offered

    def source(self) -> str:
        return self._source.digest

    def facts(self) -> dict[str, JsonValue]:
        data: dict[str, JsonValue] = {
            "split": self._setting.split, "samples": self._setting.samples, "digest": self._source.digest,
        }  # fmt: skip
        if isinstance(self._source, WithOrigin):
            data["origin"] = self._source.origin
        return {**self._tools.facts(), "data": data}

    def scope(self, task: Task) -> str:
        """See `Environment`: tools act only on their arguments."""
        del task
        return ""

    def prepare(self, *, suite: Suite, tasks: Sequence[Task]) -> Mapping[str, str]:
        """See `SampleEnvironment`: stores the samples, and executes the gold plans for comparison."""
        del suite
        problems: dict[str, str] = {}
        jobs: list[Job] = []
        try:
            for task in tasks:
                try:
                    task_jobs = list(self._gold_jobs(task))
                except UNREADABLE as error:
                    problems[task.key] = f"The data of this task cannot be read: {type(error).__name__}: {error}."
                else:
                    jobs += task_jobs
            for result in self._tools.engine.run(jobs):
                self._pending[task_of(result.job)].take(result)
        except Exception:
            self._samples.forget()
            raise
        return problems

    def episodes(self, task: Task) -> int:
        """See `SampleEnvironment`. Samples do not matter for infeasible requests."""
        return 1 if task.metric == ABSTENTION else self._setting.samples

    def begin(self, *, task: Task, sample: int) -> TypedTask:
        inputs = self._samples.inputs(task=task, index=sample)
        types = (task.expects,) if task.expects else tuple(answer.expects for answer in task.answers if answer.expects)
        return TypedTask(
            inputs={name: TypedValue(task.resources[name], artefact) for name, artefact in inputs.items()},
            answer_types=types,
        )

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        outcomes: list[Outcome | Bound] = []
        for call in calls:
            try:
                outcomes.append(bind(call=call, catalogue=self._tools.catalogue, offered=self._tools.offered))
            except ActionError as error:
                outcomes.append(Refused(error.problem, str(error)))
        places = [place for place, outcome in enumerate(outcomes) if isinstance(outcome, Bound)]
        bound = [outcome for outcome in outcomes if isinstance(outcome, Bound)]
        expert_calls = [
            ExpertCall(tool=outcome.tool, inputs=outcome.values, sample=calls[place].sample)
            for place, outcome in zip(places, bound, strict=True)
        ]
        results = self._tools.run(expert_calls)
        try:
            self._caption_pictures(results)
            for place, outcome, result in zip(places, bound, results, strict=True):
                outcomes[place] = self._outcome(result, bound=outcome, call=calls[place])
        except Exception as error:  # noqa: BLE001 - losses of the store are not planner faults
            fault = ToolFault(f"The results could not be read: {type(error).__name__}: {error}.")
            return [fault if isinstance(outcome, Bound | Made) else outcome for outcome in outcomes]
        return [outcome for outcome in outcomes if not isinstance(outcome, Bound)]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """See `Environment`: `scored` scores all samples of a task together."""
        raise NotImplementedError(f"task {task.key} has samples; score them together")

    def scored(
        self, *, suite: Suite, task: Task, record: ResultRecord, episodes: Sequence[FinishedEpisode]
    ) -> ResultRecord:
        pending = self._pending.pop(task.key, Pending(gold=None, is_gold=False))
        return self._scorer.scored(suite=suite, task=task, record=record, episodes=episodes, pending=pending)

    def _gold_jobs(self, task: Task) -> Iterator[Job]:
        gold = task.gold if self._plans.beside_gold else None
        pending = Pending(gold=gold, is_gold=False)
        own: list[Job] = []
        for index in range(self.episodes(task)):
            resources = self._samples.inputs(task=task, index=index)
            self._scorer.store_references(task=task, index=index)
            if gold is not None:
                own.append(Job(task=task.key, sample=index, plan=gold, resources=resources))
        self._pending[task.key] = pending
        yield from pending.gold_jobs(own)

    def _caption_pictures(self, results: Sequence[Ran | Failed]) -> None:
        if self._caption not in self._tools.offered:
            return
        pictures = {
            result.step.outputs[name].digest: result.step.outputs[name]
            for result in results
            if isinstance(result, Ran)
            for name, value in result.outputs.items()
            if isinstance(value, Image) and result.step.outputs[name].digest not in self._words
        }
        (picture_input,) = self._tools.catalogue[self._caption].inputs
        calls = [ExpertCall(tool=self._caption, inputs={picture_input: reference}) for reference in pictures.values()]
        for key, caption in zip(pictures, self._tools.run(calls), strict=True):
            (words,) = caption.outputs.values() if isinstance(caption, Ran) else ("",)
            self._words[key] = words if isinstance(words, str) else ""

    def _outcome(self, result: Ran | Failed, *, bound: Bound, call: Call) -> Outcome:
        if isinstance(result, Failed):
            return result.outcome()
        kinds = self._tools.catalogue[bound.tool].outputs
        artefacts = result.step.outputs
        return Made(
            values=tuple(str(TypedValue(kinds[name], artefacts[name])) for name in bound.outputs),
            shown=tuple(
                self._shown(result.outputs[name], artefact=artefacts[name], pictures=call.pictures)
                for name in bound.outputs
            ),
            run=ExpertRun(tool=bound.tool, inputs=bound.inputs, outputs=bound.outputs, step=result.step),
        )

    def _shown(self, value: Value, *, artefact: ArtefactReference, pictures: bool) -> Shown:
        words = in_words(value, caption=self._words.get(artefact.digest, ""))
        if not pictures or not isinstance(value, Image):
            return Shown(words)
        if artefact.digest not in self._pngs:
            self._pngs[artefact.digest] = as_png(value)
        return Shown(words, self._pngs[artefact.digest])
