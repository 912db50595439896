"""Computes the right result of each kind from the ground truth of a picture, clip or text."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.controlllm.toolbench.world.contents import TEXT_KINDS, Asked, Demand, Want, Wanted
from evaluator.controlllm.toolbench.world.materials import Picture
from evaluator.core.values import Box, Boxes, Clip, Label, Labels, Mask, Masks, Value
from evaluator.miniature import annotations
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.grammar.captions import main_caption
from evaluator.miniature.grammar.labels import BACKGROUNDS, NUMBERS
from evaluator.miniature.pictures.regions import cropped, kept, outlined
from evaluator.miniature.scenes import SIZE, Scene, SceneObject
from evaluator.miniature.tableaux.captions import clip_caption
from evaluator.miniature.tableaux.clips import ClipRecord
from evaluator.miniature.tableaux.drawing import paint
from evaluator.miniature.tableaux.maps import MapKind, draw_map

Pixels = npt.NDArray[np.uint8]
_SIZE = (SIZE, SIZE)


def of_picture(*, wanted: Wanted, picture: Picture) -> Value:
    """The right result of a request about a picture."""
    if wanted.kind in TEXT_KINDS:
        return of_text(wanted=wanted, said=annotations.of_caption(_scene_of(picture)))
    return _OF_PICTURES[wanted.kind](wanted, picture)


def of_text(*, wanted: Wanted, said: Annotated) -> Value:
    """The right result of a request about a text."""
    listed = {Want.TAGS: said.tags, Want.NAMES: said.names}
    if wanted.kind in listed:
        return Labels(tuple(map(Label, listed[wanted.kind])))
    return {
        Want.READING: said.text,
        Want.TITLE: said.title,
        Want.PLACE: said.place,
        Want.SUMMARY: said.summary,
        Want.MOOD: said.mood,
    }[wanted.kind]


def of_clip(*, wanted: Wanted, clip: ClipRecord) -> Value:
    """The right result of a request about a clip."""
    if wanted.kind in TEXT_KINDS:
        return of_text(wanted=wanted, said=annotations.of_clip(clip))
    if wanted.kind is Want.STORY:
        return clip_caption(clip)
    if wanted.kind is Want.MOTION:
        return Labels((Label(str(clip.motion)),))
    return Labels((Label(wanted.word),) if wanted.word == clip.motion else ())


def map_of(*, kind: str, picture: Picture, rng: np.random.Generator) -> Pixels:
    """A map of a picture, as a request gives it."""
    painting = picture.painting
    return draw_map(
        kind=MapKind(kind), tableau=picture.tableau, owner=painting.owner, nearness=painting.nearness, rng=rng
    )


def masks_of(*, picture: Picture, demand: Demand) -> Masks:
    """The masks of all objects with a name."""
    parts = _parts(picture=picture, demand=demand)
    return Masks(_SIZE, tuple(Mask(part.name, picture.painting.mask(number)) for number, part in parts.items()))


def boxes_of(*, picture: Picture, demand: Demand) -> Boxes:
    """The boxes of all objects with a name."""
    parts = _parts(picture=picture, demand=demand)
    return Boxes(_SIZE, tuple(Box(part.name, *picture.painting.box(number)) for number, part in parts.items()))


def _edit(picture: Picture, after: Pixels) -> Clip:
    """An edit of a picture: two frames, before and after."""
    return Clip(np.stack([picture.painting.pixels, after]))


def _parts(*, picture: Picture, demand: Demand) -> Mapping[int, SceneObject]:
    parts = enumerate(picture.tableau.parts)
    return {number: part for number, part in parts if isinstance(part, SceneObject) and demand.means(part)}


def _demand(wanted: Wanted) -> Demand:
    assert wanted.thing is not None
    return wanted.thing


def _corners(wanted: Wanted, picture: Picture) -> list[tuple[float, float, float, float]]:
    return [box.corners for box in boxes_of(picture=picture, demand=_demand(wanted)).items]


def _cut_out(wanted: Wanted, picture: Picture) -> Value:
    region = masks_of(picture=picture, demand=_demand(wanted)).union()
    return _edit(picture, kept(picture.painting.pixels, region=region))


def _removal(wanted: Wanted, picture: Picture) -> Value:
    removed = _parts(picture=picture, demand=_demand(wanted))
    left = tuple(part for number, part in enumerate(picture.tableau.parts) if number not in removed)
    return _edit(picture, paint(replace(picture.tableau, parts=left)).pixels)


def _map(wanted: Wanted, picture: Picture) -> Value:
    kind = wanted.word or "segmentation"
    # Scribbles are random: the reference is the outline that they follow.
    kind = "edge" if kind in {"scribble", "hed"} else kind
    return PillowImage.fromarray(map_of(kind=kind, picture=picture, rng=np.random.default_rng(0)))


def _answer(wanted: Wanted, picture: Picture) -> Value:
    scene = _scene_of(picture)
    if wanted.asked is Asked.NUMBER:
        return NUMBERS[len(scene.things)].english
    if wanted.asked is Asked.BACKGROUND:
        return BACKGROUNDS[scene.background].english
    things = [thing for thing in scene.things if _demand(wanted).means(thing)]
    if wanted.asked is Asked.EXISTENCE:
        return "yes" if things else "no"
    return str(things[0].colour if wanted.asked is Asked.COLOUR else things[0].shape)


def _scene_of(picture: Picture) -> Scene:
    assert picture.scene is not None
    return picture.scene


def _guided(_: Wanted, picture: Picture) -> Value:
    assert picture.wanted is not None
    return PillowImage.fromarray(paint(picture.wanted).pixels)


def _selected_class(wanted: Wanted, picture: Picture) -> Value:
    label = _scene_of(picture).label
    return Labels((Label(label),) if label == wanted.word else ())


_OF_PICTURES: Mapping[Want, Callable[[Wanted, Picture], Value]] = {
    Want.COUNT: lambda wanted, picture: str(len(_parts(picture=picture, demand=_demand(wanted)))),
    Want.BOXES: lambda wanted, picture: boxes_of(picture=picture, demand=_demand(wanted)),
    Want.HIGHLIGHT: lambda wanted, picture: _edit(
        picture, outlined(picture.painting.pixels, boxes=_corners(wanted, picture))
    ),
    Want.CROP: lambda wanted, picture: PillowImage.fromarray(
        cropped(picture.painting.pixels, boxes=_corners(wanted, picture))
    ),
    Want.MASK: lambda wanted, picture: masks_of(picture=picture, demand=_demand(wanted)),
    Want.SEGMENTS: _map,
    Want.CUT_OUT: _cut_out,
    Want.REMOVAL: _removal,
    Want.MAP: _map,
    Want.ANSWER: _answer,
    Want.CAPTION: lambda _, picture: main_caption(_scene_of(picture)).english,
    Want.CLASS: lambda _, picture: Labels((Label(_scene_of(picture).label),)),
    Want.SELECTED_CLASS: _selected_class,
    Want.GUIDED_DRAWING: _guided,
    Want.VARIATION: lambda _, picture: PillowImage.fromarray(picture.painting.pixels),
}
