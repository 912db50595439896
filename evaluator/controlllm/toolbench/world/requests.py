"""`toolworld`: 180 requests over the groups of Tool100, about what the miniature world shows.

Each is a wording of this repository with things, files and pictures put in. All choices follow from a seed and the
request's own key, so adding a wording to one group changes no other.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from evaluator.controlllm.toolbench.mini.gold import Gold
from evaluator.controlllm.toolbench.mini.sentences import Fill
from evaluator.controlllm.toolbench.released.files import RawTask, level_of_plan
from evaluator.controlllm.toolbench.world.contents import Asked, Given, Want, Wanted
from evaluator.controlllm.toolbench.world.drafts import Draft, Sentence
from evaluator.controlllm.toolbench.world.sentences import (
    ask,
    boxes,
    classify,
    count,
    crop,
    cut_out,
    describe,
    follow_given,
    follow_made,
    generate,
    highlight,
    make_map,
    mask,
    motion,
    motions,
    remove,
    remove_masked,
    segments,
    similar,
    story,
)
from evaluator.controlllm.toolbench.world.text_sentences import (
    of_caption,
    of_sign,
    of_story_of_clip,
    of_text,
    read,
    review,
)
from evaluator.controlllm.toolbench.world.text_sentences import story as story_text

SEED = "toolworld/1"
MAPS = ("edge", "line", "hed", "scribble", "pose", "depth", "normal")
GUIDES = (*MAPS, "segmentation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A worded request with all that is known about it."""

    raw: RawTask
    given: tuple[Given, ...]
    wanted: tuple[Wanted, ...]


class _ClashError(Exception):
    """Two sentences make demands that one picture cannot meet."""


def together(*sentences: Sentence) -> Sentence:
    """Several sentences about the same file, each about things of its own."""

    def all_of_them(fill: Fill, draft: Draft) -> str:
        fills = (replace(fill, number=fill.number + 10 + number, files_of=fill.number) for number in range(9))
        return " ".join(sentence(one, draft) for sentence, one in zip(sentences, fills, strict=False))

    return all_of_them


_MAP_WORDINGS = (
    "Make the {map} map of {image}.",
    "Process {image} so that I get its {map} map.",
)
_GIVEN_WORDING = "Using the {map} map {map_file}, generate a new image of this: {scene}"
_MADE_WORDINGS = (
    "Take the {map} map of {image} and generate a new image with it: {scene}",
    "Along the {map} map of {image}, generate a new image of the following. {scene}",
)
_ASKED = "A question about {image}: {question}"

GROUPS: dict[str, tuple[tuple[Sentence, ...], ...]] = {
    "image_detection": (
        (boxes("Give me the position of the {thing} in {image} as a bounding box."),),
        (highlight("Please highlight the {thing} in {image}."),),
        (crop("Crop {image} to the box of the {thing}."),),
        (boxes("Tell me the coordinates of the {thing} in {image}, as a box."),),
        (highlight("Put a border around the {thing} that you find in {image}."),),
        (crop("Give me the part of {image} with the {thing}, cropped to its box."),),
    )
    * 2
    + (
        (boxes("I need the location of the {thing} in {image}, as a box."),),
        (highlight("Mark the {thing} in {image} with a frame."),),
        (crop("I want to see nothing of {image} but the box around the {thing}, so crop it."),),
    ),
    "count_object": tuple(
        (count(wording),)
        for wording in (
            "How many {things} are there in {image}?",
            "Count the {things} in {image}, please.",
            "Tell me the number of {things} that {image} shows.",
            "What is the total of {things} in {image}?",
            "I need the quantity of {things} visible in {image}.",
        )
    )
    * 2,
    "image_segmentation": (
        (mask("I need the mask of the {thing} in {image}."),),
        (mask("Make a segmentation mask for the {thing} that {image} shows."),),
        (segments("Segment everything in {image}; labels are not needed."),),
        (mask("Return the mask of the {thing} in {image}."),),
        (segments("Please give me the segmentation map of {image} with all its segments."),),
    )
    * 2,
    "image_QA": (
        (ask(_ASKED, Asked.COLOUR),),
        (describe("Describe {image} in one sentence."),),
        (ask("Look at {image}. {question}", Asked.SHAPE),),
        (ask("My picture is {image}. {question}", Asked.NUMBER),),
        (ask(_ASKED, Asked.BACKGROUND),),
        (describe("What does {image} show? Give me a caption."),),
        (ask("Look at {image}. {question} Answer yes or no.", Asked.EXISTENCE),),
    )
    * 2,
    "image_classification": (
        (classify("Recognise the object that {image} shows."),),
        (classify("Name the main object of {image}."),),
        (classify("Classify the object in {image}."),),
    )
    * 3,
    "image_processing": tuple((make_map(wording, kind),) for wording in _MAP_WORDINGS for kind in MAPS),
    "image_generation": (
        *(((generate("Paint a new image: {scene}"),),) * 5),
        *(((similar("Generate an image that is similar to {image}."),),) * 3),
        *((follow_given(_GIVEN_WORDING, kind),) for kind in GUIDES),
        *((follow_made(wording, kind),) for wording in _MADE_WORDINGS for kind in GUIDES),
    ),
    "image_editing": (
        (remove("Remove the {thing} from {image}, please."),),
        (cut_out("Cut the {thing} out of {image} along its outline and leave all the rest away."),),
        (remove_masked("Erase from {image} whatever the mask {mask_file} covers."),),
        (remove("I want {image} without the {thing}; please erase it."),),
        (cut_out("Keep only the {thing} of {image}, by its mask, and make the rest black."),),
    )
    * 3,
    "video_classification": (
        (motions("Which motion can be seen in {video}? Name its category."),),
        (motion("Does {video} show something {motion}? Give the category if it does."),),
        (story("What moves in {video} and how? Tell it in a sentence."),),
        (motion("Check {video} for something {motion}, please."),),
        (story("Describe in a sentence what happens in {video}."),),
    )
    * 3,
    "text": (
        (read("What does the sign in {image} say?"),),
        (read("Read the words that are written in {image}."),),
        (read("What is written in {image}? Give me the words."),),
        (of_text('Give this text a title: "{text}"', Want.TITLE, story_text),),
        (of_text('What would be a title for the following? "{text}"', Want.TITLE, review),),
        (of_text('Tag this text: "{text}"', Want.TAGS, story_text),),
        (of_text('Give me tags for this review: "{text}"', Want.TAGS, review),),
        (of_text('Which names of people and days are in this text? "{text}"', Want.NAMES, story_text),),
        (of_text('List the named entities of this text: "{text}"', Want.NAMES, story_text),),
        (of_text('Extract the location that this text is about: "{text}"', Want.PLACE, review),),
        (of_text('Summarize this text in one sentence: "{text}"', Want.SUMMARY, story_text),),
        (of_text('Shorten the following to its main points: "{text}"', Want.SUMMARY, story_text),),
        (of_text('What is the mood of this review, positive or negative? "{text}"', Want.MOOD, review),),
        (of_text('Analyse the sentiment of this text: "{text}"', Want.MOOD, review),),
        (of_caption("Give me tags for a caption of {image}.", Want.TAGS),),
        (of_caption("Caption {image} and make a title of the caption.", Want.TITLE),),
        (of_story_of_clip("Make a title for {video} from a sentence about what happens in it.", Want.TITLE),),
        (of_story_of_clip("Tag {video} by a sentence that describes it.", Want.TAGS),),
        (of_sign("Which names are among the words written in {image}?", Want.NAMES),),
        (of_sign("Read {image} and tag its writing.", Want.TAGS),),
        (
            read("What is written in {image}?"),
            of_text('And give this text a title: "{text}"', Want.TITLE, story_text),
        ),
        (
            of_sign("List the named entities in the writing of {image}.", Want.NAMES),
            of_story_of_clip("Then make a title for {video} from a sentence about what happens in it.", Want.TITLE),
        ),
        (
            of_text('Summarize this text in one sentence: "{text}"', Want.SUMMARY, story_text),
            of_caption("Then give me tags for a caption of {image}.", Want.TAGS),
            read("Finally, read the words that are written in {image}."),
        ),
        (
            of_sign("Read {image} and tag its writing.", Want.TAGS),
            highlight("Highlight the {thing} in {image}."),
            of_story_of_clip("Then tag {video} by a sentence that describes it.", Want.TAGS),
        ),
    ),
    "compound_instructions": (
        (together(count("How many {things} are in {image}?"), mask("Give me the mask of the {thing} in it, too.")),),
        (remove("Remove the {thing} from {image}."), motions("Also tell me which motion {video} shows.")),
        (
            count("How many {things} are there in {image}?"),
            count("And count the {things} in {image}."),
        ),
        (
            follow_made("With the {map} map of {image}, generate a new image: {scene}", "depth"),
            boxes("Then give me the position of the {thing} in {image} as a box."),
        ),
        (
            together(
                highlight("Highlight the {thing} in {image}."),
                segments("Then segment everything in this image."),
                count("Finally, how many {things} does it show?"),
            ),
        ),
        (cut_out("Cut out the {thing} of {image} by its mask."), make_map("Make the {map} map of {image}.", "edge")),
        (
            ask(_ASKED, Asked.COLOUR),
            crop("Crop {image} to the box of the {thing}."),
            story("Describe what happens in {video}."),
        ),
        (
            remove_masked("Erase from {image} what the mask {mask_file} covers."),
            similar("Generate an image that is similar to {image}."),
            motion("Check {video} for something {motion}."),
        ),
        (
            together(describe("Describe {image} in one sentence."), ask("And one question: {question}", Asked.NUMBER)),
            make_map("Make the {map} map of {image}.", "pose"),
        ),
        (classify("Recognise the object that {image} shows."), generate("Then paint a new image: {scene}")),
        (
            mask("I need the mask of the {thing} in {image}."),
            mask("And the mask of the {thing} in {image}."),
            make_map("Make the {map} map of {image}.", "normal"),
        ),
    )
    * 2,
}
"""Sentences of the requests, by group. Requests of equal sentences differ in their things and files."""


@cache
def public_requests() -> tuple[Request, ...]:
    """The requests, always the same, no two alike."""
    return _all_of(seed=SEED, taken=frozenset())


def hidden_requests(*, seed: str) -> tuple[Request, ...]:
    """Requests with the keys, groups and forms of the public ones, about other things and files.

    No two are alike, and none equals a public one. Deterministic for a seed.
    """
    return _all_of(seed=seed, taken=frozenset(request.raw.instruction for request in public_requests()))


def _all_of(*, seed: str, taken: frozenset[str]) -> tuple[Request, ...]:
    written: list[Request] = []
    said = set(taken)
    for group, wordings in GROUPS.items():
        for index in range(len(wordings)):
            tries = (request_of(group=group, index=index, seed=f"{seed} {n}" if n else seed) for n in itertools.count())
            request = next(request for request in tries if request.raw.instruction not in said)
            said.add(request.raw.instruction)
            written.append(request)
    return tuple(written)


def request_of(*, group: str, index: int, seed: str) -> Request:
    """One request of a group, about the things that seed and key choose."""
    for again in itertools.count():
        try:
            return _written(group=group, index=index, seed=f"{seed} {again}" if again else seed)
        except _ClashError:
            continue
    raise AssertionError


def _written(*, group: str, index: int, seed: str) -> Request:
    key = f"{group}/{index}"
    draft = Draft(gold=Gold())
    sentences = GROUPS[group][index]
    said = [sentence(Fill(key=key, number=number, seed=seed), draft) for number, sentence in enumerate(sentences)]
    _require_possible(tuple(draft.given.values()))
    raw = RawTask(
        key=key,
        group=group,
        instruction=" ".join(said),
        output=draft.gold.text(),
        level=level_of_plan(draft.gold.calls),
    )
    return Request(raw=raw, given=tuple(draft.given.values()), wanted=tuple(draft.wanted))


def _require_possible(given: Sequence[Given]) -> None:
    for one in given:
        names = [demand.name for demand in one.demands]
        colours = {demand.colour for demand in one.demands}
        if len(set(names)) < len(names) or len(colours) < len(one.demands):
            raise _ClashError
