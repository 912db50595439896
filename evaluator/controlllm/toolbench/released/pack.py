"""The files of Tool100's and Tool2K's requests, drawn from the miniature world, for use without an operator's folder.

The authors' files were never released. What a file of the pack shows fits its request: the names that the gold plan
selects or asks for, and names in the questions about the file, are there, each played by a thing or a motion
(`evaluator.miniature.roles`). Files are drawn when they are needed. No request shares a file with another one, and each
sample has its own files.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from PIL import Image as PillowImage

from evaluator.controlllm.toolbench.released.compared import compared_value
from evaluator.controlllm.toolbench.released.executed import REFERENCES_VERSION, ExecutedTask
from evaluator.core import canonical_json
from evaluator.core.plans.model import Plan, Step
from evaluator.core.sounds import sound_of
from evaluator.core.suites.base import Task
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Clip, Mask, Masks, Value
from evaluator.miniature.grammar.captions import caption
from evaluator.miniature.roles import CAST_VERSION, label_of, motion_of, names_in, parts_of
from evaluator.miniature.scenes import Scene, SceneObject, contrasting_colour, contrasts, draw_scene
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split, generator
from evaluator.miniature.sounds.speech import spoken, voice_of
from evaluator.miniature.tableaux.clips import Motion, draw_clip, frames_of
from evaluator.miniature.tableaux.drawing import Content, Painting, base_of, draw_tableau, is_clear, paint, tableau_of
from evaluator.miniature.tableaux.maps import MapKind, draw_map
from evaluator.miniature.tableaux.records import Tableau
from evaluator.miniature.vocabulary import Background

PACK_VERSION = "1"
"""Increment it whenever a file of the pack changes while world, pictures and cast do not."""
PROFILE = "lilliput"
"""The only profile whose experts know what the pack shows."""
NOTE = (
    "The files of the requests are PlanArena's own, drawn from its miniature world: the authors' files were never "
    "released. Scores on them are not comparable with scores on an operator's files."
)
_INDICES = 2**40
_ATTEMPTS = 2000
_MOST_THINGS = 4
_SELECTING = frozenset({"select_category", "select_bbox", "select_mask"})
_ASKING = {"image_question_answering": "text", "visual_grounding": "query"}
_COUNTING = frozenset({"count_objects", "count_masks", "count_categories"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a file of a request shows."""

    names: tuple[str, ...] = ()
    """Everyday names of the things or actions, the most important first."""
    is_counted: bool = False
    """Whether the things of the first name are counted."""
    has_figure: bool = False
    """Whether a pose is taken from it."""
    masks: str = ""
    """For masks: the file whose first thing they cover."""


def shown_in(*, task: ExecutedTask, name: str) -> Shown:
    """What a file of a request shows, by its gold plan and its text."""
    plan = task.gold or Plan(steps=(), answers=())
    derived = _derived(plan, file=name)
    selected = [step.inputs.get("condition", "") for step in derived if step.tool in _SELECTING]
    asked = [
        found
        for step in plan.steps
        if name in step.inputs.values() and step.tool in _ASKING
        for found in names_in(step.inputs.get(_ASKING[step.tool], ""))
    ]
    kinds = task.files[name]
    named = () if selected or asked else names_in(task.text)
    return Shown(
        names=tuple(dict.fromkeys([*filter(None, selected), *asked, *named])),
        is_counted=any(step.tool in _COUNTING for step in derived),
        has_figure=ResourceType.POSE in kinds or any(step.tool == "image_to_pose" for step in derived),
        masks=_masked_by(plan, mask=name) if ResourceType.MASK in kinds else "",
    )


_MAKING = frozenset({"image", "video", "audio"})
"""Names of outputs that show something else than their source."""


def _derived(plan: Plan, *, file: str) -> list[Step]:
    """The steps that work on findings of a file."""
    known, steps = {file}, []
    for step in plan.steps:
        if known & {value.removeprefix("$") for value in step.inputs.values()}:
            steps.append(step)
            known |= {reference for name, reference in step.outputs.items() if name not in _MAKING}
    return steps


def _masked_by(plan: Plan, *, mask: str) -> str:
    """The picture that a plan uses a mask for; empty if it uses it for none."""
    return next(
        (step.inputs["image"] for step in plan.steps if mask in step.inputs.values() and "image" in step.inputs), ""
    )


class PackInputs:
    """The pack's files of a suite's requests."""

    origin = NOTE
    """See `WithOrigin`."""

    def __init__(self, *, tasks: Sequence[Task]) -> None:
        """Args: tasks: the tasks of the suite."""
        self._tasks = [cast(ExecutedTask, task) for task in tasks if task.gold is not None]
        self.digest = canonical_json.digest(
            {
                "data": f"controlllm-pack/{PACK_VERSION}",
                "references": REFERENCES_VERSION,
                "cast": CAST_VERSION,
                "world": WORLD_VERSION,
                "pictures": PICTURES_VERSION,
            }
        )
        """SHA-256 over the versions of the pack, of the roles and of the world."""

    def missing(self, *, task: Task) -> str | None:  # noqa: ARG002 - the pack has every file
        """See `SampleSource`."""
        return None

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """See `SampleSource`."""
        own = cast(ExecutedTask, task)
        return {name: _File(task=own, name=name, sample=index).value() for name in own.types_given}

    def inputs_key(self, *, task: Task) -> str:
        """See `SharingSource`: requests share no files."""
        return task.key

    def reference_key(self, *, task: Task) -> str:
        """See `SharingSource`; there is no reference."""
        return task.key

    def reference(self, *, task: Task, index: int) -> Value:
        """Always raises `LookupError`: references come from executing the gold plan (`compared`)."""
        raise LookupError(f"no right result of {task.key} was released (sample {index})")

    def compared(self, *, task: Task, result: Value, given: Callable[[str], Value]) -> Value:
        """See `GoldComparedSource`."""
        return compared_value(task=cast(ExecutedTask, task), result=result, given=given)

    def listed(self) -> Iterator[tuple[str, str, ResourceType, tuple[str, ...]]]:
        """Request, name and type of each file, and the names of what it shows; none if it shows anything."""
        for task in self._tasks:
            for name, kinds in task.files.items():
                yield task.key, name, min(kinds), shown_in(task=task, name=name).names


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a request and sample."""

    task: ExecutedTask
    name: str
    sample: int

    def value(self) -> Value:
        kind, shown = min(self.task.files[self.name]), shown_in(task=self.task, name=self.name)
        if kind is ResourceType.VIDEO:
            return self._clip(shown)
        if kind is ResourceType.AUDIO:
            return self._speech()
        if kind is ResourceType.MASK:
            other = shown.masks if shown.masks in self.task.files else self.name
            whole = replace(self, name=other)
            names = shown_in(task=self.task, name=other).names or shown.names
            return _mask(*whole.picture(replace(shown, names=names)), name=next(iter(names), ""))
        tableau, painting = self.picture(shown)
        if kind is ResourceType.IMAGE:
            return PillowImage.fromarray(painting.pixels)
        _, rng = next(self._attempts("map"))
        pixels = draw_map(
            kind=MapKind(str(kind)), tableau=tableau, owner=painting.owner, nearness=painting.nearness, rng=rng
        )
        return PillowImage.fromarray(pixels)

    def picture(self, shown: Shown) -> tuple[Tableau, Painting]:
        """The picture with its ground truth."""
        for index, rng in self._attempts("picture"):
            if shown.has_figure:
                tableau = draw_tableau(split=Split.PUBLIC, index=index, content=Content.FIGURE)
                return tableau, paint(tableau)
            scene = _with_names(draw_scene(split=Split.PUBLIC, index=index), shown=shown, rng=rng)
            if scene is not None:
                tableau = tableau_of(scene)
                return tableau, paint(tableau)
        raise LookupError(f"no scene shows {', '.join(shown.names)} for {self.name} in {self.task.key}")

    def _clip(self, shown: Shown) -> Clip:
        wanted: Motion | None = motion_of(shown.names[0]) if shown.names else None
        for index, _ in self._attempts("clip"):
            record = draw_clip(split=Split.PUBLIC, index=index)
            if wanted in (None, record.motion):
                return Clip(frames_of(record))
        raise LookupError(f"no clip shows {shown.names[0]} for {self.name} in {self.task.key}")

    def _speech(self) -> Value:
        index, rng = next(self._attempts("speech"))
        text = caption(draw_scene(split=Split.PUBLIC, index=index)).english
        return sound_of(spoken(text, voice=voice_of(split=Split.PUBLIC, index=index), rng=rng).levels)

    def _attempts(self, purpose: str) -> Iterator[tuple[int, np.random.Generator]]:
        """Indices of the world, each with its own random stream."""
        for attempt in range(_ATTEMPTS):
            material = f"{self.task.key}\n{self.name}\n{self.sample}\n{purpose}\n{attempt}".encode()
            index = int.from_bytes(hashlib.sha256(material).digest()[:8], "big") % _INDICES
            yield index, generator(split=Split.PUBLIC, index=index, purpose="file of the pack")


def _with_names(scene: Scene, *, shown: Shown, rng: np.random.Generator) -> Scene | None:
    """The scene with things that play the names, the first one as its main thing; None if it has no room for them."""
    labels = list(dict.fromkeys(map(label_of, shown.names)))[:_MOST_THINGS]
    if shown.is_counted and len(labels) < _MOST_THINGS:
        # One to three of them, within what scenes have room for.
        labels += labels[:1] * int(rng.integers(min(3, _MOST_THINGS + 1 - len(labels))))
    if len(scene.things) < len(labels):
        return None
    ground = _background(labels, drawn=scene.background)
    asked = [_cast(thing, label=label) for thing, label in zip(scene.things, labels, strict=False)]
    shapes = {thing.shape for thing in asked}
    others = [
        replace(thing, colour=contrasting_colour(rng=rng, background=ground))
        for thing in scene.things[len(labels) :]
        if thing.shape not in shapes
    ]
    things = (*asked, *others)
    return replace(scene, background=ground, things=things) if is_clear(things) else None


def _cast(thing: SceneObject, *, label: str) -> SceneObject:
    colour, shape = parts_of(label)
    return replace(thing, colour=colour, shape=shape)


def _background(labels: Sequence[str], *, drawn: Background) -> Background:
    """The drawn background if all colours contrast with it, else the first with which most do."""

    def share(ground: Background) -> int:
        return sum(contrasts(colour=parts_of(label)[0], background=ground) for label in labels)

    best = drawn
    for ground in Background:
        if share(ground) > share(best):
            best = ground
    return best


def _mask(tableau: Tableau, painting: Painting, *, name: str) -> Masks:
    """The pixels of what plays a name, else of the part at the front."""
    label = label_of(name) if name else ""
    parts = sorted(range(len(tableau.parts)), key=lambda place: base_of(tableau.parts[place]))
    place = next((place for place in parts if tableau.parts[place].name == label), parts[-1])
    pixels = painting.mask(place)
    return Masks(painting.owner.shape[::-1], (Mask(name, pixels),))
