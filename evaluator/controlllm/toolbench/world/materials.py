"""Draws the files of a request: pictures and clips that meet its demands, deterministically."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evaluator.controlllm.toolbench.world.contents import Demand, Given, Material, Sketch
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
    """What a file shows, with its ground truth."""

    tableau: Tableau
    painting: Painting
    scene: Scene | None = None
    """Where the picture is one of a scene."""
    wanted: Tableau | None = None
    """For layouts: the same parts in the colours of the sketch."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the files of one request and sample come from."""

    split: Split
    hidden_seed: str | None
    key: str
    """Of the request."""
    sample: int

    def attempts(self, name: str) -> Iterator[tuple[int, np.random.Generator]]:
        """Indices of the world to draw a file from, each with a stream of its own."""
        for attempt in range(_ATTEMPTS):
            material = f"{self.key}\n{name}\n{self.sample}\n{attempt}".encode()
            index = int.from_bytes(hashlib.sha256(material).digest()[:8], "big") % _INDICES
            yield (
                index,
                generator(split=self.split, index=index, purpose="request", hidden_seed=self.hidden_seed),
            )


def picture(*, given: Given, source: Source) -> Picture:
    """A picture that meets the demands of a file.

    Raises:
        LookupError: none was found; this happens for no published request.
    """
    counts: tuple[int, ...] | None = None
    for index, rng in source.attempts(given.name):
        if counts is None:  # drawn once: otherwise rare pictures would make large counts rare
            counts = tuple(int(rng.integers(demand.least, demand.most + 1)) for demand in given.demands)
        found = _DRAWN[given.material](given, source, _Draw(index=index, rng=rng, counts=counts))
        if found is not None:
            return found
    raise LookupError(f"no picture meets the demands of {given.name} in {source.key}")


def clip(*, given: Given, source: Source) -> ClipRecord:
    """A clip that shows the motion of a file or, on half of the samples, another one."""
    shown: bool | None = None
    for index, rng in source.attempts(given.name):
        if shown is None:
            shown = given.always or bool(rng.random() < 0.5)
        record = draw_clip(split=source.split, index=index, hidden_seed=source.hidden_seed)
        if given.motion is None or (record.motion is given.motion) is shown:
            return record
    raise LookupError(f"no clip meets the demands of {given.name} in {source.key}")


def sign(*, given: Given, source: Source) -> Sign:
    """A sign with words of the kind that a file must show."""
    for index, _ in source.attempts(given.name):
        drawn = draw_sign(split=source.split, index=index, hidden_seed=source.hidden_seed)
        said = annotations.of_words(drawn.words)
        if {"": True, "name": bool(said.names), "tag": bool(said.tags)}[given.writes]:
            return drawn
    raise LookupError(f"no sign meets the demands of {given.name} in {source.key}")


@dataclass(frozen=True, slots=True)
class _Draw:
    """One attempt."""

    index: int
    """Of the scene or tableau to begin with."""
    rng: np.random.Generator
    counts: tuple[int, ...]
    """For each demand, how many things have its name."""


def _scene(given: Given, source: Source, draw: _Draw) -> Picture | None:
    scene = draw_scene(split=source.split, index=draw.index, hidden_seed=source.hidden_seed)
    for demand, count in zip(given.demands, draw.counts, strict=True):
        if sum(demand.means(thing) for thing in scene.things) != count:
            return None
    tableau = tableau_of(scene)
    return Picture(tableau=tableau, painting=paint(tableau), scene=scene)


def _things(given: Given, source: Source, draw: _Draw) -> Picture | None:
    content = Content.FIGURE if given.material is Material.FIGURE else Content.THINGS
    tableau = draw_tableau(split=source.split, index=draw.index, content=content, hidden_seed=source.hidden_seed)
    for demand, count in zip(given.demands, draw.counts, strict=True):
        changed = _with(demand=demand, count=count, tableau=tableau, rng=draw.rng)
        if changed is None:
            return None
        tableau = changed
    # What came later may have taken a thing from what came before.
    if tuple(_count(demand, tableau) for demand in given.demands) != draw.counts:
        return None
    return Picture(tableau=tableau, painting=paint(tableau))


def _count(demand: Demand, tableau: Tableau) -> int:
    return sum(isinstance(part, SceneObject) and demand.means(part) for part in tableau.parts)


def _with(*, demand: Demand, count: int, tableau: Tableau, rng: np.random.Generator) -> Tableau | None:
    """The tableau with so many things of a name; None where that fails."""
    own = [n for n, part in enumerate(tableau.parts) if isinstance(part, SceneObject)]
    # Those that have the name already keep it; too many are as bad as too few things.
    there = [n for n in own if demand.means(_thing(tableau, n))]
    others = [n for n in own if n not in there]
    if len(there) > count or len(own) < count + (count == 0):
        return None
    assert demand.colour is not None
    if not contrasts(colour=demand.colour, background=tableau.background):
        return None
    parts = list(tableau.parts)
    for n in rng.permutation(len(others))[: count - len(there)]:
        number = others[int(n)]
        parts[number] = replace(
            _thing(tableau, number), colour=demand.colour, shape=demand.shape or _thing(tableau, number).shape
        )
    if not is_clear(parts):
        return None
    return replace(tableau, parts=tuple(sorted(parts, key=base_of)))


def _thing(tableau: Tableau, number: int) -> SceneObject:
    part = tableau.parts[number]
    assert isinstance(part, SceneObject)
    return part


def _layout(given: Given, source: Source, draw: _Draw) -> Picture | None:
    sketch = given.sketch
    assert sketch is not None
    if sketch.shape is None:
        return _figure_layout(sketch=sketch, source=source, draw=draw)
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
    shown = [replace(thing, colour=contrasting_colour(rng=draw.rng, background=scene.background)) for thing in things]
    wanted = [replace(thing, colour=colour) for thing, colour in zip(things, colours, strict=True)]
    tableau = tableau_of(replace(scene, things=tuple(shown)))
    right = tableau_of(replace(scene, things=tuple(wanted), background=sketch.background))
    return Picture(tableau=tableau, painting=paint(tableau), wanted=right)


def _figure_layout(*, sketch: Sketch, source: Source, draw: _Draw) -> Picture:
    tableau = draw_tableau(split=source.split, index=draw.index, content=Content.FIGURE, hidden_seed=source.hidden_seed)
    figure = tableau.figure
    assert figure is not None
    alone = replace(tableau, parts=(figure,))
    right = replace(alone, parts=(replace(figure, colour=sketch.colour),), background=sketch.background)
    return Picture(tableau=alone, painting=paint(alone), wanted=right)


_DRAWN = {
    Material.SCENE: _scene,
    Material.THINGS: _things,
    Material.FIGURE: _things,
    Material.LAYOUT: _layout,
}
