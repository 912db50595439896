"""The right result of each kind, from the ground truth of a picture or a clip."""

from collections.abc import Callable, Mapping, Sequence
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
    """The masks of all things of a name."""
    found = [Mask(part.name, picture.painting.mask(number)) for number, part in _named(picture=picture, demand=demand)]
    return Masks(_SIZE, tuple(found))


def boxes_of(*, picture: Picture, demand: Demand) -> Boxes:
    """The boxes of all things of a name."""
    found = [Box(part.name, *picture.painting.box(number)) for number, part in _named(picture=picture, demand=demand)]
    return Boxes(_SIZE, tuple(found))


def change(*, before: Pixels, after: Pixels) -> Clip:
    """How a picture is to be changed: two frames, before and after."""
    return Clip(np.stack([before, after]))


def _named(*, picture: Picture, demand: Demand) -> Sequence[tuple[int, SceneObject]]:
    parts = enumerate(picture.tableau.parts)
    return [(n, part) for n, part in parts if isinstance(part, SceneObject) and demand.means(part)]


def _demand(wanted: Wanted) -> Demand:
    assert wanted.thing is not None
    return wanted.thing


def _count(wanted: Wanted, picture: Picture) -> Value:
    return str(len(_named(picture=picture, demand=_demand(wanted))))


def _boxes(wanted: Wanted, picture: Picture) -> Value:
    return boxes_of(picture=picture, demand=_demand(wanted))


def _corners(wanted: Wanted, picture: Picture) -> list[tuple[float, float, float, float]]:
    return [box.corners for box in boxes_of(picture=picture, demand=_demand(wanted)).items]


def _highlight(wanted: Wanted, picture: Picture) -> Value:
    pixels = picture.painting.pixels
    return change(before=pixels, after=outlined(pixels, boxes=_corners(wanted, picture)))


def _crop(wanted: Wanted, picture: Picture) -> Value:
    return PillowImage.fromarray(cropped(picture.painting.pixels, boxes=_corners(wanted, picture)))


def _mask(wanted: Wanted, picture: Picture) -> Value:
    return masks_of(picture=picture, demand=_demand(wanted))


def _cut_out(wanted: Wanted, picture: Picture) -> Value:
    pixels = picture.painting.pixels
    region = masks_of(picture=picture, demand=_demand(wanted)).union()
    return change(before=pixels, after=kept(pixels, region=region))


def _removal(wanted: Wanted, picture: Picture) -> Value:
    """The same tableau painted without the things."""
    demand = _demand(wanted)
    left = [part for part in picture.tableau.parts if not (isinstance(part, SceneObject) and demand.means(part))]
    after = paint(replace(picture.tableau, parts=tuple(left))).pixels
    return change(before=picture.painting.pixels, after=after)


def _map(wanted: Wanted, picture: Picture) -> Value:
    kind = wanted.word or "segmentation"
    # Scribbles are random, so they are compared with the outlines that they follow.
    kind = "edge" if kind in {"scribble", "hed"} else kind
    return PillowImage.fromarray(map_of(kind=kind, picture=picture, rng=np.random.default_rng(0)))


def _answer(wanted: Wanted, picture: Picture) -> Value:
    scene = _scene_of(picture)
    if wanted.asked is Asked.NUMBER:
        return NUMBERS[len(scene.things)].english
    if wanted.asked is Asked.BACKGROUND:
        return BACKGROUNDS[scene.background].english
    named = [thing for thing in scene.things if _demand(wanted).means(thing)]
    if wanted.asked is Asked.EXISTENCE:
        return "yes" if named else "no"
    return str(named[0].colour) if wanted.asked is Asked.COLOUR else str(named[0].shape)


def _scene_of(picture: Picture) -> Scene:
    assert picture.scene is not None
    return picture.scene


def _guided(wanted: Wanted, picture: Picture) -> Value:  # noqa: ARG001 - as the others
    assert picture.wanted is not None
    return PillowImage.fromarray(paint(picture.wanted).pixels)


def _selected_class(wanted: Wanted, picture: Picture) -> Value:
    label = _scene_of(picture).label
    return Labels((Label(label),) if label == wanted.word else ())


_OF_PICTURES: Mapping[Want, Callable[[Wanted, Picture], Value]] = {
    Want.COUNT: _count,
    Want.BOXES: _boxes,
    Want.HIGHLIGHT: _highlight,
    Want.CROP: _crop,
    Want.MASK: _mask,
    Want.SEGMENTS: _map,
    Want.CUT_OUT: _cut_out,
    Want.REMOVAL: _removal,
    Want.MAP: _map,
    Want.ANSWER: _answer,
    Want.CAPTION: lambda wanted, picture: main_caption(_scene_of(picture)).english,  # noqa: ARG005
    Want.CLASS: lambda wanted, picture: Labels((Label(_scene_of(picture).label),)),  # noqa: ARG005
    Want.SELECTED_CLASS: _selected_class,
    Want.GUIDED_DRAWING: _guided,
    Want.VARIATION: lambda wanted, picture: PillowImage.fromarray(picture.painting.pixels),  # noqa: ARG005
}
