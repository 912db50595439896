"""Writing gold task decompositions for toolmini: what is asked, as subtasks in the form of ControlLLM's files.

Each function adds the subtasks of one thing that a request may ask. Types, domains and the tools that descriptions name
are those that ControlLLM's decompositions use; the sentences are this repository's own.
"""

import json
import re
from dataclasses import dataclass, field

from evaluator.core.canonical_json import JsonValue

PERCEPTION = "image-perception"
EDITING = "image-editing"
VIDEO = "video-perception"
PROCESSING = "image-processing"
GENERATION = "image-generation"
ASKING_IMAGES = "visual-question-answering"
ANSWERING = "question-answering"

_PLACEHOLDER = re.compile(r"<GENERATED>-(\d+)")


@dataclass(slots=True)
class Gold:
    """A decomposition that grows, and the number of calls of the smallest plan that goes its way."""

    subtasks: list[dict[str, JsonValue]] = field(default_factory=list)
    calls: int = 0

    def add(self, *, description: str, domains: list[str], args: dict[str, str], gives: str, calls: int) -> str:
        """Add a subtask; it depends on those whose results it takes.

        Args:
            description: what is to be done, in words.
            domains: kinds of tools that do it.
            args: value by resource type, in order.
            gives: resource type of the result.
            calls: tool calls that a plan makes for it that goes this way.

        Returns:
            The placeholder of its result.
        """
        number = len(self.subtasks)
        needed: list[JsonValue] = [int(found[1]) for value in args.values() if (found := _PLACEHOLDER.fullmatch(value))]
        result = f"<GENERATED>-{number}"
        self.subtasks.append(
            {
                "description": description,
                "task": list(domains),
                "id": number,
                "dep": needed or [-1],
                "args": [{"type": kind, "value": value} for kind, value in args.items()],
                "returns": [{"type": gives, "value": result}],
            }
        )
        self.calls += calls
        return result

    def text(self) -> str:
        """The decomposition as the benchmark's files write it."""
        return f"<Solution>{json.dumps(self.subtasks, ensure_ascii=False)}</Solution>"


def locate(gold: Gold, *, image: str, thing: str) -> None:
    """Find where a thing is, or whether it is there, in one subtask that ends with a drawing."""
    _boxed(gold, image=image, thing=thing, calls=2)


def highlight(gold: Gold, *, image: str, thing: str) -> None:
    """Find a thing and draw its boxes, in one subtask."""
    _boxed(gold, image=image, thing=thing, calls=3)


def _boxed(gold: Gold, *, image: str, thing: str, calls: int) -> None:
    gold.add(
        description=(
            f"1. Use object detection to find every object in {image}; 2. Of the bounding boxes found, select those of"
            f" {thing}; 3. Draw these boxes on the picture so that the {thing} stands out."
        ),
        domains=[PERCEPTION, EDITING],
        args={"image": image, "text": thing},
        gives="image",
        calls=calls,
    )


def locate_then_draw(gold: Gold, *, image: str, thing: str) -> None:
    """The same as `locate`, as two subtasks: boxes, and the drawing of them."""
    boxes = gold.add(
        description=f"1. Use object detection to find every object in {image}; 2. Select the boxes of {thing}.",
        domains=[PERCEPTION],
        args={"image": image, "text": thing},
        gives="bbox",
        calls=2,
    )
    gold.add(
        description=f"Draw the boxes {boxes} on {image} so that the {thing} can be seen at once.",
        domains=[EDITING],
        args={"image": image, "bbox": boxes},
        gives="image",
        calls=0,
    )


def detect_all(gold: Gold, *, image: str) -> None:
    """Boxes of whatever there is."""
    gold.add(
        description=f"Detect whatever objects {image} holds and give all their bounding boxes.",
        domains=[PERCEPTION],
        args={"image": image},
        gives="bbox",
        calls=1,
    )


def crop(gold: Gold, *, image: str, thing: str) -> None:
    """The part of an image that shows a thing, by its box."""
    gold.add(
        description=(
            f"1. Use object detection to find every object in {image}; 2. Of the bounding boxes found, select those of"
            f" {thing}; 3. Crop the picture to these boxes and give the pieces."
        ),
        domains=[PERCEPTION, EDITING],
        args={"image": image, "text": thing},
        gives="image",
        calls=3,
    )


def count(gold: Gold, *, image: str, thing: str, things: str, question: str) -> None:
    """How many there are: by counting boxes, and by asking the image, either of which is sufficient."""
    gold.add(
        description=f"Count the {things} that {image} shows",
        domains=[PERCEPTION],
        args={"image": image, "text": thing},
        gives="text",
        calls=3,
    )
    ask(gold, image=image, question=question, calls=0)


def ask(gold: Gold, *, image: str, question: str, calls: int = 1) -> str:
    """A question about an image."""
    return gold.add(
        description=f"Look at {image} and answer: {question}",
        domains=[ASKING_IMAGES],
        args={"image": image, "text": question},
        gives="text",
        calls=calls,
    )


def answer(gold: Gold, *, question: str) -> None:
    """A question that needs no image."""
    gold.add(description="Answer the question", domains=[ANSWERING], args={"text": question}, gives="text", calls=1)


def recognise(gold: Gold, *, image: str) -> None:
    """What there is, as categories."""
    gold.add(
        description=f"Use the `image_classification` tool to recognize what {image} shows and give the categories.",
        domains=[PERCEPTION],
        args={"image": image},
        gives="category",
        calls=1,
    )


def recognise_one(gold: Gold, *, image: str, thing: str) -> None:
    """Whether one category is among those recognised."""
    gold.add(
        description=(
            f"1. Use the `image_classification` tool to recognize what {image} shows; 2. Pick the category {thing}"
            f" out of the result, to judge whether {image} holds it."
        ),
        domains=[PERCEPTION],
        args={"image": image, "text": thing},
        gives="category",
        calls=2,
    )


def action(gold: Gold, *, video: str, name: str) -> None:
    """Whether an action happens."""
    gold.add(
        description=(
            f"1. Use the `video_classification` tool to recognize the actions in {video}. 2. Pick the category"
            f' "{name}" out of the result, to judge whether it happens in {video}.'
        ),
        domains=[VIDEO],
        args={"video": video, "text": name},
        gives="category",
        calls=2,
    )


def actions(gold: Gold, *, video: str) -> None:
    """What happens."""
    gold.add(
        description=f"Use the `video_classification` tool to recognize the actions in {video} and give them all.",
        domains=[VIDEO],
        args={"video": video},
        gives="category",
        calls=1,
    )


def mask(gold: Gold, *, image: str, thing: str) -> str:
    """The mask of a thing."""
    return gold.add(
        description=(
            f"1. Use the `image_instance_segmentation` tool to get the masks of all objects in {image} with their"
            f" labels; 2. Select the masks of {thing} and give them."
        ),
        domains=[PERCEPTION],
        args={"image": image, "text": thing},
        gives="mask",
        calls=2,
    )


def segment_all(gold: Gold, *, image: str) -> str:
    """The map of all segments, without labels."""
    return gold.add(
        description=f"Use the `segment_anything` tool on {image} and give the segmentation map, which has no labels.",
        domains=[PERCEPTION],
        args={"image": image},
        gives="segmentation",
        calls=1,
    )


def remove(gold: Gold, *, image: str, thing: str) -> None:
    """An image without a thing."""
    masks = mask(gold, image=image, thing=thing)
    gold.add(
        description=f"Use the `image_inpainting` tool to remove from {image} the {thing} that the masks cover.",
        domains=[EDITING],
        args={"image": image, "mask": masks},
        gives="image",
        calls=1,
    )


def remove_masked(gold: Gold, *, image: str, given: str) -> None:
    """An image without what a mask covers that the request gives."""
    gold.add(
        description=f"Use the `image_inpainting` tool to remove from {image} what the mask {given} covers.",
        domains=[EDITING],
        args={"image": image, "mask": given},
        gives="image",
        calls=1,
    )


def cut_out(gold: Gold, *, image: str, thing: str) -> str:
    """Nothing but a thing, by its mask."""
    masks = mask(gold, image=image, thing=thing)
    return gold.add(
        description=f"With the masks {masks}, separate the {thing} from the rest of {image} and give it alone.",
        domains=[EDITING],
        args={"image": image, "mask": masks},
        gives="image",
        calls=1,
    )


def make_map(gold: Gold, *, image: str, kind: str) -> str:
    """A map of an image: its edges, its depth, and so on."""
    return gold.add(
        description=f"Use the `image_to_{kind}` tool on {image} and give the {kind} map.",
        domains=[PROCESSING],
        args={"image": image},
        gives=kind,
        calls=1,
    )


def generate(gold: Gold, *, scene: str) -> str:
    """An image of a scene told in words."""
    return gold.add(
        description="Use the `text_to_image` tool to generate a new image from the words.",
        domains=[GENERATION],
        args={"text": scene},
        gives="image",
        calls=1,
    )


def generate_following(gold: Gold, *, guide: str, kind: str, scene: str) -> str:
    """An image of a scene that follows a map, which is given or was made before."""
    return gold.add(
        description=(
            f"Use the `{kind}_text_to_image` tool to generate a new image of the words along the {kind} {guide}."
        ),
        domains=[GENERATION],
        args={kind: guide, "text": scene},
        gives="image",
        calls=1,
    )


def similar(gold: Gold, *, image: str) -> str:
    """An image like another one."""
    return gold.add(
        description=f"Image generation: generate an image that is similar to {image}",
        domains=[PERCEPTION, PROCESSING, GENERATION],
        args={"image": image},
        gives="image",
        calls=1,
    )
