"""The kinds of subtasks of the trained decomposer, and their forms in the protocol of Table 1.

A kind determines domains, types and description of a subtask. The network only chooses a kind and its arguments, so
every subtask that it writes is valid.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from evaluator.core.tools.types import ResourceType as Type

PERCEPTION = "image-perception"
EDITING = "image-editing"
VIDEO = "video-perception"
PROCESSING = "image-processing"
GENERATION = "image-generation"
ASKING_IMAGES = "visual-question-answering"
ANSWERING = "question-answering"


class Form(StrEnum):
    """How the text argument of a subtask follows from words of the request."""

    SAY = "say"
    """The unchanged words."""
    ONE = "one"
    """The words in the singular."""
    HOW_MANY = "how-many"
    IS_THERE = "is-there"
    DESCRIBE = "describe"
    """A fixed instruction that takes no words."""
    SHOWS = "shows"


THINGS = (Form.SAY, Form.ONE)
QUESTIONS = (Form.SAY, Form.HOW_MANY, Form.IS_THERE, Form.DESCRIBE)
SCENES = (Form.SHOWS, Form.SAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of subtask."""

    name: str
    domains: tuple[str, ...]
    takes: tuple[Type, ...]
    gives: Type
    description: str
    """With a slot for each type, such as {image} and {text}."""
    forms: tuple[Form, ...] = ()
    """Forms of its text argument, if it has one."""
    chains: tuple[str, ...] = ()
    """Chains of tools for it, preferred one first, tools separated by blanks. The scorer learns from them."""


_FIND = (
    "1. Use object detection to find every object in {image}; 2. Of the bounding boxes found, select those of {text}"
)
_DRAWN = ("object_detection select_bbox highlight_object_on_image", "visual_grounding highlight_object_on_image")
_CROPPED = ("object_detection select_bbox image_cropping", "visual_grounding image_cropping")
MAPS = (Type.EDGE, Type.LINE, Type.HED, Type.SCRIBBLE, Type.POSE, Type.DEPTH, Type.NORMAL)
GUIDES = (*MAPS, Type.SEGMENTATION)

_KINDS = (
    Kind(
        name="draw-boxes", domains=(PERCEPTION, EDITING), takes=(Type.IMAGE, Type.TEXT), gives=Type.IMAGE, forms=THINGS,
        description=f"{_FIND}; 3. Draw these boxes on the picture so that the {{text}} stands out.", chains=_DRAWN,
    ),
    Kind(
        name="crop", domains=(PERCEPTION, EDITING), takes=(Type.IMAGE, Type.TEXT), gives=Type.IMAGE, forms=THINGS,
        description=f"{_FIND}; 3. Crop the picture to these boxes and give the pieces.", chains=_CROPPED,
    ),
    Kind(
        name="find-boxes", domains=(PERCEPTION,), takes=(Type.IMAGE, Type.TEXT), gives=Type.BBOX, forms=THINGS,
        description="1. Use object detection to find every object in {image}; 2. Select the boxes of {text}.",
        chains=("object_detection select_bbox", "visual_grounding"),
    ),
    Kind(
        name="draw-found", domains=(EDITING,), takes=(Type.IMAGE, Type.BBOX), gives=Type.IMAGE,
        description="Draw the boxes {bbox} on {image} so that what they hold can be seen at once.",
        chains=("highlight_object_on_image",),
    ),
    Kind(
        name="detect", domains=(PERCEPTION,), takes=(Type.IMAGE,), gives=Type.BBOX,
        description="Detect whatever objects {image} holds and give all their bounding boxes.",
        chains=("object_detection",),
    ),
    Kind(
        name="count", domains=(PERCEPTION,), takes=(Type.IMAGE, Type.TEXT), gives=Type.TEXT, forms=THINGS,
        description="Count the {text} that {image} shows",
        chains=("object_detection select_bbox count_objects", "image_instance_segmentation select_mask count_masks"),
    ),
    Kind(
        name="ask", domains=(ASKING_IMAGES,), takes=(Type.IMAGE, Type.TEXT), gives=Type.TEXT, forms=QUESTIONS,
        description="Look at {image} and answer: {text}", chains=("image_question_answering",),
    ),
    Kind(
        name="answer", domains=(ANSWERING,), takes=(Type.TEXT,), gives=Type.TEXT, forms=(Form.SAY,),
        description="Answer the question", chains=("openai_chat_model",),
    ),
    Kind(
        name="recognise", domains=(PERCEPTION,), takes=(Type.IMAGE,), gives=Type.CATEGORY,
        description="Use the `image_classification` tool to recognize what {image} shows and give the categories.",
        chains=("image_classification",),
    ),
    Kind(
        name="recognise-one", domains=(PERCEPTION,), takes=(Type.IMAGE, Type.TEXT), gives=Type.CATEGORY, forms=THINGS,
        description="1. Use the `image_classification` tool to recognize what {image} shows; 2. Pick the category"
        " {text} out of the result, to judge whether {image} holds it.",
        chains=("image_classification select_category",),
    ),
    Kind(
        name="action", domains=(VIDEO,), takes=(Type.VIDEO, Type.TEXT), gives=Type.CATEGORY, forms=(Form.SAY,),
        description="1. Use the `video_classification` tool to recognize the actions in {video}. 2. Pick the category"
        ' "{text}" out of the result, to judge whether it happens in {video}.',
        chains=("video_classification select_category",),
    ),
    Kind(
        name="actions", domains=(VIDEO,), takes=(Type.VIDEO,), gives=Type.CATEGORY,
        description="Use the `video_classification` tool to recognize the actions in {video} and give them all.",
        chains=("video_classification",),
    ),
    Kind(
        name="mask", domains=(PERCEPTION,), takes=(Type.IMAGE, Type.TEXT), gives=Type.MASK, forms=THINGS,
        description="1. Use the `image_instance_segmentation` tool to get the masks of all objects in {image} with"
        " their labels; 2. Select the masks of {text} and give them.",
        chains=("image_instance_segmentation select_mask",),
    ),
    Kind(
        name="segment", domains=(PERCEPTION,), takes=(Type.IMAGE,), gives=Type.SEGMENTATION,
        description="Use the `segment_anything` tool on {image} and give the segmentation map, which has no labels.",
        chains=("segment_anything",),
    ),
    Kind(
        name="erase", domains=(EDITING,), takes=(Type.IMAGE, Type.MASK), gives=Type.IMAGE,
        description="Use the `image_inpainting` tool to remove from {image} what the mask {mask} covers.",
        chains=("image_inpainting",),
    ),
    Kind(
        name="cut-out", domains=(EDITING,), takes=(Type.IMAGE, Type.MASK), gives=Type.IMAGE,
        description="With the masks {mask}, separate what they cover from the rest of {image} and give it alone.",
        chains=("mask_image",),
    ),
    Kind(
        name="generate", domains=(GENERATION,), takes=(Type.TEXT,), gives=Type.IMAGE, forms=SCENES,
        description="Use the `text_to_image` tool to generate a new image from the words.", chains=("text_to_image",),
    ),
    Kind(
        name="similar", domains=(PERCEPTION, PROCESSING, GENERATION), takes=(Type.IMAGE,), gives=Type.IMAGE,
        description="Image generation: generate an image that is similar to {image}", chains=("image_to_image",),
    ),
    *(
        Kind(
            name=f"{kind}-map", domains=(PROCESSING,), takes=(Type.IMAGE,), gives=kind,
            description=f"Use the `image_to_{kind}` tool on {{image}} and give the {kind} map.",
            chains=(f"image_to_{kind}",),
        )
        for kind in MAPS
    ),
    *(
        Kind(
            name=f"follow-{kind}", domains=(GENERATION,), takes=(kind, Type.TEXT), gives=Type.IMAGE, forms=SCENES,
            description=f"Use the `{kind}_text_to_image` tool to generate a new image of the words along the {kind}"
            f" {{{kind}}}.",
            chains=(f"{kind}_text_to_image",),
        )
        for kind in GUIDES
    ),
)  # fmt: skip
KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""The kinds by name."""
