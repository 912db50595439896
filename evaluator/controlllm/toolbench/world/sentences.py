"""The sentences of `toolworld`, by the kind of result that they ask for."""

from evaluator.controlllm.toolbench.mini import gold as gold_of
from evaluator.controlllm.toolbench.mini.sentences import Fill
from evaluator.controlllm.toolbench.world.contents import Asked, Demand, Material, Want, Wanted
from evaluator.controlllm.toolbench.world.drafts import (
    Draft,
    Sentence,
    colour_of,
    motion_of,
    plural,
    shape_of,
    sketch_of,
    thing_of,
    with_article,
)
from evaluator.core.tools.types import ResourceType

POSE = "pose"
_MOST_COUNTED = 3


def count(wording: str) -> Sentence:
    """How many things of a name there are, none to three."""

    def sentence(fill: Fill, draft: Draft) -> str:
        thing = thing_of(fill, least=0, most=_MOST_COUNTED)
        image, things = fill.image(), plural(thing.name)
        said = wording.format(image=image, things=things)
        draft.file(image, material=Material.THINGS, demand=thing)
        gold_of.count(draft.gold, image=image, thing=thing.name, things=things, question=said)
        draft.wanted.append(Wanted(kind=Want.COUNT, file=image, thing=thing))
        return said

    return sentence


def boxes(wording: str) -> Sentence:
    """The box of a thing."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = _thing_in_image(fill, draft)
        gold_of.locate(draft.gold, image=image, thing=thing.name)
        draft.wanted.append(Wanted(kind=Want.BOXES, file=image, thing=thing))
        return wording.format(image=image, thing=thing.name)

    return sentence


def highlight(wording: str) -> Sentence:
    """The image with a frame around a thing."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = _thing_in_image(fill, draft)
        gold_of.highlight(draft.gold, image=image, thing=thing.name)
        draft.wanted.append(Wanted(kind=Want.HIGHLIGHT, file=image, thing=thing, tool="highlight_object_on_image"))
        return wording.format(image=image, thing=thing.name)

    return sentence


def crop(wording: str) -> Sentence:
    """The part of the image in the box of a thing."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = _thing_in_image(fill, draft)
        gold_of.crop(draft.gold, image=image, thing=thing.name)
        draft.wanted.append(Wanted(kind=Want.CROP, file=image, thing=thing, tool="image_cropping"))
        return wording.format(image=image, thing=thing.name)

    return sentence


def mask(wording: str) -> Sentence:
    """The mask of a thing."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = _thing_in_image(fill, draft)
        gold_of.mask(draft.gold, image=image, thing=thing.name)
        draft.wanted.append(Wanted(kind=Want.MASK, file=image, thing=thing))
        return wording.format(image=image, thing=thing.name)

    return sentence


def segments(wording: str) -> Sentence:
    """The map of all segments."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.THINGS)
        gold_of.segment_all(draft.gold, image=image)
        draft.wanted.append(Wanted(kind=Want.SEGMENTS, file=image))
        return wording.format(image=image)

    return sentence


def cut_out(wording: str) -> Sentence:
    """A thing on black, by its mask."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = _thing_in_image(fill, draft)
        gold_of.cut_out(draft.gold, image=image, thing=thing.name)
        draft.wanted.append(Wanted(kind=Want.CUT_OUT, file=image, thing=thing, tool="mask_image"))
        return wording.format(image=image, thing=thing.name)

    return sentence


def remove(wording: str) -> Sentence:
    """The image without a thing."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = _thing_in_image(fill, draft)
        gold_of.remove(draft.gold, image=image, thing=thing.name)
        draft.wanted.append(Wanted(kind=Want.REMOVAL, file=image, thing=thing))
        return wording.format(image=image, thing=thing.name)

    return sentence


def remove_masked(wording: str) -> Sentence:
    """The image without what a given mask covers."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = _thing_in_image(fill, draft)
        given = fill.file_of("mask")
        draft.file(given, material=Material.THINGS, kind=ResourceType.MASK, demand=thing, masked=image)
        gold_of.remove_masked(draft.gold, image=image, given=given)
        draft.wanted.append(Wanted(kind=Want.REMOVAL, file=image, thing=thing))
        return wording.format(image=image, mask_file=given)

    return sentence


def make_map(wording: str, kind: str) -> Sentence:
    """A map of an image."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.FIGURE if kind == POSE else Material.THINGS)
        gold_of.make_map(draft.gold, image=image, kind=kind)
        draft.wanted.append(Wanted(kind=Want.MAP, file=image, word=kind))
        return wording.format(image=image, map=kind)

    return sentence


_QUESTIONS = {
    Asked.COLOUR: "What colour is the {thing}?",
    Asked.SHAPE: "What shape is the {thing}?",
    Asked.NUMBER: "How many things are there?",
    Asked.BACKGROUND: "What colour is the background?",
    Asked.EXISTENCE: "Is there {a_thing}?",
}


def ask(wording: str, asked: Asked) -> Sentence:
    """A question about a scene, which takes the slot {question}."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image, thing = fill.image(), _asked_thing(fill, asked)
        said = "" if thing is None else thing.name
        question = _QUESTIONS[asked].format(thing=said, a_thing=with_article(said) if said else "")
        draft.file(image, material=Material.SCENE, demand=thing)
        gold_of.ask(draft.gold, image=image, question=question)
        tool = "image_question_answering"
        draft.wanted.append(Wanted(kind=Want.ANSWER, file=image, thing=thing, asked=asked, tool=tool))
        return wording.format(image=image, question=question)

    return sentence


def _asked_thing(fill: Fill, asked: Asked) -> Demand | None:
    if asked is Asked.COLOUR:
        return Demand(colour=None, shape=shape_of(fill))
    if asked is Asked.SHAPE:
        return Demand(colour=colour_of(fill), shape=None)
    if asked is Asked.EXISTENCE:
        return Demand(colour=None, shape=shape_of(fill), least=0)
    return None


def describe(wording: str) -> Sentence:
    """A caption of a scene."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.SCENE)
        gold_of.ask(draft.gold, image=image, question="Describe this image.")
        draft.wanted.append(Wanted(kind=Want.CAPTION, file=image, tool="image_captioning"))
        return wording.format(image=image)

    return sentence


def classify(wording: str) -> Sentence:
    """The class of the main thing."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.SCENE)
        gold_of.recognise(draft.gold, image=image)
        draft.wanted.append(Wanted(kind=Want.CLASS, file=image, tool="image_classification"))
        return wording.format(image=image)

    return sentence


def motions(wording: str) -> Sentence:
    """What moves how, as a class."""

    def sentence(fill: Fill, draft: Draft) -> str:
        video = fill.video()
        draft.file(video, material=Material.CLIP, kind=ResourceType.VIDEO)
        gold_of.actions(draft.gold, video=video)
        draft.wanted.append(Wanted(kind=Want.MOTION, file=video, tool="video_classification"))
        return wording.format(video=video)

    return sentence


def motion(wording: str) -> Sentence:
    """Whether one motion is shown: its class, or none."""

    def sentence(fill: Fill, draft: Draft) -> str:
        video, looked_for = fill.video(), motion_of(fill)
        draft.file(video, material=Material.CLIP, kind=ResourceType.VIDEO, motion=looked_for)
        gold_of.action(draft.gold, video=video, name=str(looked_for))
        draft.wanted.append(Wanted(kind=Want.SELECTED_MOTION, file=video, word=str(looked_for)))
        return wording.format(video=video, motion=looked_for)

    return sentence


def story(wording: str) -> Sentence:
    """What moves how, as a sentence."""

    def sentence(fill: Fill, draft: Draft) -> str:
        video = fill.video()
        draft.file(video, material=Material.CLIP, kind=ResourceType.VIDEO)
        gold_of.actions(draft.gold, video=video)
        draft.wanted.append(Wanted(kind=Want.STORY, file=video, tool="video_captioning"))
        return wording.format(video=video)

    return sentence


def generate(wording: str) -> Sentence:
    """A picture of words."""

    def sentence(fill: Fill, draft: Draft) -> str:
        sketch = sketch_of(fill)
        gold_of.generate(draft.gold, scene=sketch.text)
        draft.wanted.append(Wanted(kind=Want.DRAWING, sketch=sketch))
        return wording.format(scene=sketch.text)

    return sentence


def follow_given(wording: str, kind: str) -> Sentence:
    """A picture of words along a map that the request gives."""

    def sentence(fill: Fill, draft: Draft) -> str:
        sketch, given = sketch_of(fill, of_figure=kind == POSE), fill.file_of(kind)
        draft.file(given, material=Material.LAYOUT, kind=ResourceType(kind), sketch=sketch)
        gold_of.generate_following(draft.gold, guide=given, kind=kind, scene=sketch.text)
        draft.wanted.append(Wanted(kind=Want.GUIDED_DRAWING, file=given, word=kind, sketch=sketch))
        return wording.format(map=kind, map_file=given, scene=sketch.text)

    return sentence


def follow_made(wording: str, kind: str) -> Sentence:
    """A picture of words along a map that is made of an image before."""

    def sentence(fill: Fill, draft: Draft) -> str:
        sketch, image = sketch_of(fill, of_figure=kind == POSE), fill.image()
        draft.file(image, material=Material.LAYOUT, sketch=sketch)
        if kind == "segmentation":
            guide = gold_of.segment_all(draft.gold, image=image)
        else:
            guide = gold_of.make_map(draft.gold, image=image, kind=kind)
        gold_of.generate_following(draft.gold, guide=guide, kind=kind, scene=sketch.text)
        draft.wanted.append(Wanted(kind=Want.GUIDED_DRAWING, file=image, word=kind, sketch=sketch))
        return wording.format(map=kind, image=image, scene=sketch.text)

    return sentence


def similar(wording: str) -> Sentence:
    """A picture like another one."""

    def sentence(fill: Fill, draft: Draft) -> str:
        image = fill.image()
        draft.file(image, material=Material.SCENE)
        gold_of.similar(draft.gold, image=image)
        draft.wanted.append(Wanted(kind=Want.VARIATION, file=image))
        return wording.format(image=image)

    return sentence


def _thing_in_image(fill: Fill, draft: Draft) -> tuple[str, Demand]:
    """An image with one thing of a name."""
    image, thing = fill.image(), thing_of(fill)
    draft.file(image, material=Material.THINGS, demand=thing)
    return image, thing
