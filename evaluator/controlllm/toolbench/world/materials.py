"""Draws the files of a request deterministically: pictures, clips and signs that meet its demands."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evaluator.controlllm.toolbench.world.contents import Demand, Given, Material
from evaluator.miniature import annotations
from evaluator.miniature.scenes import Scene, SceneObject, contrasting_colour, contrasts, direction_between, draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.signs import Sign, draw_sign
from evaluator.miniature.tableaux.clips import ClipRecord, draw_clip
from evaluator.miniature.tableaux.drawing import Content, Painting, base_of, draw_tableau, is_clear, paint, tableau_of
from evaluator.miniature.tableaux.records import Tableau

_ATTEMPTS = 4000
_INDICES = 2**40


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with its ground truth."""

    tableau: Tableau
    painting: Painting
    scene: Scene | None = None
    """For pictures of a scene."""
    wanted: Tableau | None = None
    """For layouts: the same parts in the colours of the sketch."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of randomness for the files of one request and sample."""

    split: Split
    hidden_seed: str | None
    key: str
    """Of the request."""
    sample: int

    def attempts(self, name: str) -> Iterator[tuple[int, np.random.Generator]]:
        """Indices of the world for a file, each with its own random stream."""
        for attempt in range(_ATTEMPTS):
            material = f"{self.key}\n{name}\n{self.sample}\n{attempt}".encode()
            index = int.from_bytes(hashlib.sha256(material).digest()[:8], "big") % _INDICES
            yield index, generator(split=self.split, index=index, purpose="request", hidden_seed=self.hidden_seed)


def picture(*, given: Given, source: Source) -> Picture:
    """A picture that meets the demands of a file.

    Raises:
        LookupError: there is none; this does not happen for published requests.
    """
    counts: tuple[int, ...] | None = None
    for index, rng in source.attempts(given.name):
        if counts is None:  # drawn once: otherwise rare pictures would make large counts rare
            counts = tuple(int(rng.integers(demand.least, demand.most + 1)) for demand in given.demands)
        drawing = _DRAW[given.material](given, source, _Attempt(index=index, rng=rng, counts=counts))
        if drawing is not None:
            return drawing
    raise LookupError(f"no picture meets the demands of {given.name} in {source.key}")


def clip(*, given: Given, source: Source) -> ClipRecord:
    """A clip with the motion of a file or, in half of the samples, another motion."""
    has_motion: bool | None = None
    for index, rng in source.attempts(given.name):
        if has_motion is None:
            has_motion = given.always or bool(rng.random() < 0.5)
        record = draw_clip(split=source.split, index=index, hidden_seed=source.hidden_seed)
        if given.motion is None or (record.motion is given.motion) is has_motion:
            return record
    raise LookupError(f"no clip meets the demands of {given.name} in {source.key}")


def sign(*, given: Given, source: Source) -> Sign:
    """A sign with a word of the kind that a file requires."""
    for index, _ in source.attempts(given.name):
        drawing = draw_sign(split=source.split, index=index, hidden_seed=source.hidden_seed)
        annotated = annotations.of_words(drawing.words)
        if {"": True, "name": bool(annotated.names), "tag": bool(annotated.tags)}[given.writes]:
            return drawing
    raise LookupError(f"no sign meets the demands of {given.name} in {source.key}")


@dataclass(frozen=True, slots=True)
class _Attempt:
    index: int
    """Of the initial scene or tableau."""
    rng: np.random.Generator
    counts: tuple[int, ...]
    """For each demand, the number of objects with its name."""


def _scene(given: Given, source: Source, draw: _Attempt) -> Picture | None:
    scene = draw_scene(split=source.split, index=draw.index, hidden_seed=source.hidden_seed)
    counts = tuple(sum(demand.means(thing) for thing in scene.things) for demand in given.demands)
    if counts != draw.counts:
        return None
    tableau = tableau_of(scene)
    return Picture(tableau=tableau, painting=paint(tableau), scene=scene)


def _things(given: Given, source: Source, draw: _Attempt) -> Picture | None:
    content = Content.FIGURE if given.material is Material.FIGURE else Content.THINGS
    tableau = draw_tableau(split=source.split, index=draw.index, content=content, hidden_seed=source.hidden_seed)
    for demand, count in zip(given.demands, draw.counts, strict=True):
        changed = _with(demand=demand, count=count, tableau=tableau, rng=draw.rng)
        if changed is None:
            return None
        tableau = changed
    # A later demand may have renamed an object of an earlier one.
    things = [part for part in tableau.parts if isinstance(part, SceneObject)]
    if tuple(sum(map(demand.means, things)) for demand in given.demands) != draw.counts:
        return None
    return Picture(tableau=tableau, painting=paint(tableau))


def _with(*, demand: Demand, count: int, tableau: Tableau, rng: np.random.Generator) -> Tableau | None:
    """The tableau with `count` objects of a name; None if it cannot have them."""
    things = {number: part for number, part in enumerate(tableau.parts) if isinstance(part, SceneObject)}
    others = [number for number, thing in things.items() if not demand.means(thing)]
    missing = count - (len(things) - len(others))
    if missing < 0 or len(things) < count + (count == 0):
        return None
    assert demand.colour is not None
    if not contrasts(colour=demand.colour, background=tableau.background):
        return None
    parts = list(tableau.parts)
    for n in rng.permutation(len(others))[:missing]:
        thing = things[others[int(n)]]
        parts[others[int(n)]] = replace(thing, colour=demand.colour, shape=demand.shape or thing.shape)
    if not is_clear(parts):
        return None
    return replace(tableau, parts=tuple(sorted(parts, key=base_of)))


def _layout(given: Given, source: Source, draw: _Attempt) -> Picture | None:
    sketch = given.sketch
    assert sketch is not None
    if sketch.shape is None:
        tableau = draw_tableau(
            split=source.split, index=draw.index, content=Content.FIGURE, hidden_seed=source.hidden_seed
        )
        figure = tableau.figure
        assert figure is not None
        tableau = replace(tableau, parts=(figure,))
        right = replace(tableau, parts=(replace(figure, colour=sketch.colour),), background=sketch.background)
        return Picture(tableau=tableau, painting=paint(tableau), wanted=right)
    scene = draw_scene(split=source.split, index=draw.index, hidden_seed=source.hidden_seed)
    shapes = [sketch.shape] if sketch.direction is None else [sketch.shape, sketch.other_shape]
    if len(scene.things) < len(shapes):
        return None
    things = [replace(thing, shape=shape) for thing, shape in zip(scene.things, shapes, strict=False)]
    if sketch.direction is not None and (direction_between(subject=things[0], other=things[1]) is not sketch.direction):
        return None
    colours = [sketch.colour, sketch.other_colour][: len(things)]
    if not all(contrasts(colour=colour, background=sketch.background) for colour in colours):
        raise LookupError(f"a sketch of {given.name} has a colour like its background")
    recoloured = [
        replace(thing, colour=contrasting_colour(rng=draw.rng, background=scene.background)) for thing in things
    ]
    tableau = tableau_of(replace(scene, things=tuple(recoloured)))
    things = [replace(thing, colour=colour) for thing, colour in zip(things, colours, strict=True)]
    right = tableau_of(replace(scene, things=tuple(things), background=sketch.background))
    return Picture(tableau=tableau, painting=paint(tableau), wanted=right)


_DRAW = {
    Material.SCENE: _scene,
    Material.THINGS: _things,
    Material.FIGURE: _things,
    Material.LAYOUT: _layout,
}
