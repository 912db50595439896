"""`toolmini`: 120 requests of ControlLLM's kind, made here, for when nothing was fetched.

Ten requests for each of the twelve groups of Tool100. Every request is a wording of this repository with things, files
and scenes put in; its gold decomposition has the form, the types and the domains of ControlLLM's files. All choices
follow from a fixed seed and the request's own key, so adding a wording to one group changes no other.
"""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from evaluator.suites.toolbench import mini_gold as gold_of
from evaluator.suites.toolbench import mini_words as words
from evaluator.suites.toolbench.levels import level_of_plan
from evaluator.suites.toolbench.mini_gold import Gold
from evaluator.suites.toolbench.raw import RawTask

SEED = "toolmini/1"
PER_GROUP = 10

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Fill:
    """What is put into one sentence of a request. The same key and number always give the same."""

    key: str
    number: int = 0
    """Which sentence of the request."""
    files_of: int | None = None
    """The sentence whose files this one speaks of, or None for its own."""
    seed: str = SEED
    """That of the public requests, or the secret one of hidden requests."""

    def pick(self, slot: str, items: Sequence[Item]) -> Item:
        """One of `items`, the same whenever it is asked."""
        digest = hashlib.sha256(f"{self.seed} {self.key} {self.number} {slot}".encode()).digest()
        return items[int.from_bytes(digest[:8], "big") % len(items)]

    def image(self, which: int = 0) -> str:
        """The name of the image; different for each `which` and each sentence."""
        return f"{self._stem(which)}.png"

    def video(self, which: int = 0) -> str:
        """The name of the video."""
        return f"{self._stem(which)}.mp4"

    def file_of(self, kind: str) -> str:
        """The name of a given mask or map."""
        return f"{self._stem(0)}_{kind}.png"

    def _stem(self, which: int) -> str:
        owner = self if self.files_of is None else replace(self, number=self.files_of, files_of=None)
        serial = 100 * owner.number + 10 * which + owner.pick(f"serial {which}", range(10))
        return f"{owner.pick(f'place {which}', words.PLACES)}_{serial:03d}"

    @property
    def thing(self) -> str:
        return self.pick("thing", words.OBJECTS)[0]

    @property
    def things(self) -> str:
        return self.pick("thing", words.OBJECTS)[1]

    @property
    def category(self) -> str:
        return self.pick("category", words.CATEGORIES)

    @property
    def action(self) -> str:
        return self.pick("action", words.ACTIONS)

    @property
    def scene(self) -> str:
        return self.pick("scene", words.SCENES)

    @property
    def map(self) -> str:
        return self.pick("map", words.MAPS)


Sentence = Callable[[Fill, Gold], str]
"""Writes one sentence of a request, and adds its subtasks to the gold."""


def _says(wording: str, act: Callable[[Gold, Fill], object]) -> Sentence:
    """A sentence with the slots {image}, {video}, {thing}, {things}, {category}, {action}, {scene}, {map}, ..."""

    def sentence(fill: Fill, gold: Gold) -> str:
        act(gold, fill)
        return wording.format(
            image=fill.image(), video=fill.video(), thing=fill.thing, things=fill.things, category=fill.category,
            action=fill.action, scene=fill.scene, map=fill.map, mask_file=fill.file_of("mask"),
            map_file=fill.file_of(fill.map),
        )  # fmt: skip

    return sentence


def _locate(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.locate(gold, image=fill.image(), thing=fill.thing))


def _locate_then_draw(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.locate_then_draw(gold, image=fill.image(), thing=fill.thing))


def _highlight(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.highlight(gold, image=fill.image(), thing=fill.thing))


def _crop(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.crop(gold, image=fill.image(), thing=fill.thing))


def _action(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.action(gold, video=fill.video(), name=fill.action))


def _actions(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.actions(gold, video=fill.video()))


def _recognise(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.recognise(gold, image=fill.image()))


def _recognise_one(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.recognise_one(gold, image=fill.image(), thing=fill.category))


def _mask(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.mask(gold, image=fill.image(), thing=fill.thing))


def _segment_all(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.segment_all(gold, image=fill.image()))


def _map(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.make_map(gold, image=fill.image(), kind=fill.map))


def _remove(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.remove(gold, image=fill.image(), thing=fill.thing))


def _remove_masked(wording: str) -> Sentence:
    return _says(
        wording, lambda gold, fill: gold_of.remove_masked(gold, image=fill.image(), given=fill.file_of("mask"))
    )


def _cut_out(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.cut_out(gold, image=fill.image(), thing=fill.thing))


def _similar(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.similar(gold, image=fill.image()))


def _generate(wording: str) -> Sentence:
    return _says(wording, lambda gold, fill: gold_of.generate(gold, scene=f"The new image shows {fill.scene}."))


def _follow_given(wording: str) -> Sentence:
    def act(gold: Gold, fill: Fill) -> None:
        scene = f"The new image shows {fill.scene}."
        gold_of.generate_following(gold, guide=fill.file_of(fill.map), kind=fill.map, scene=scene)

    return _says(wording, act)


def _follow_made(wording: str) -> Sentence:
    def act(gold: Gold, fill: Fill) -> None:
        guide = gold_of.make_map(gold, image=fill.image(), kind=fill.map)
        gold_of.generate_following(gold, guide=guide, kind=fill.map, scene=f"The new image shows {fill.scene}.")

    return _says(wording, act)


def _follow_segments(wording: str) -> Sentence:
    def act(gold: Gold, fill: Fill) -> None:
        guide = gold_of.segment_all(gold, image=fill.image())
        scene = f"The new image shows {fill.scene}."
        gold_of.generate_following(gold, guide=guide, kind="segmentation", scene=scene)

    return _says(wording, act)


def _ask(wording: str) -> Sentence:
    """A question about an image, drawn from the list; its slot is {question}."""

    def sentence(fill: Fill, gold: Gold) -> str:
        question = fill.pick("question", words.QUESTIONS_ABOUT_IMAGES)
        gold_of.ask(gold, image=fill.image(), question=question)
        return wording.format(image=fill.image(), question=question)

    return sentence


def _describe(wording: str) -> Sentence:
    return _says(
        wording, lambda gold, fill: gold_of.ask(gold, image=fill.image(), question="Describe this image in detail.")
    )


def _answer(number: int) -> Sentence:
    def sentence(fill: Fill, gold: Gold) -> str:
        question = words.QUESTIONS[number]
        if fill.seed != SEED:
            wording = fill.pick("wording of a question", words.MORE_QUESTIONS)
            question = wording.format(thing=fill.thing, things=fill.things, category=fill.category, action=fill.action)
        gold_of.answer(gold, question=question)
        return question

    return sentence


def _count(wording: str) -> Sentence:
    def sentence(fill: Fill, gold: Gold) -> str:
        said = wording.format(image=fill.image(), things=fill.things)
        gold_of.count(gold, image=fill.image(), thing=fill.thing, things=fill.things, question=said)
        return said

    return sentence


def _about_one_image(*sentences: Sentence) -> Sentence:
    """Several sentences about the same image, each with things of its own."""

    def all_of_them(fill: Fill, gold: Gold) -> str:
        fills = (replace(fill, number=fill.number + 10 + number, files_of=fill.number) for number in range(9))
        return " ".join(sentence(one, gold) for sentence, one in zip(sentences, fills, strict=False))

    return all_of_them


def _each(wording: str, act: Callable[[Gold, Fill, str], object], *, files: int, video: bool = False) -> Sentence:
    """One thing asked of several files, whose names take the slot {files}."""

    def sentence(fill: Fill, gold: Gold) -> str:
        names = [fill.video(which) if video else fill.image(which) for which in range(files)]
        for name in names:
            act(gold, fill, name)
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return wording.format(files=listed, thing=fill.thing, things=fill.things, action=fill.action)

    return sentence


def _count_each(wording: str, *, files: int) -> Sentence:
    def act(gold: Gold, fill: Fill, name: str) -> None:
        question = f"How many {fill.things} are there in {name}?"
        gold_of.count(gold, image=name, thing=fill.thing, things=fill.things, question=question)

    return _each(wording, act, files=files)


def _remove_each(wording: str, *, files: int) -> Sentence:
    return _each(wording, lambda gold, fill, name: gold_of.remove(gold, image=name, thing=fill.thing), files=files)


def _action_each(wording: str, *, files: int) -> Sentence:
    return _each(
        wording, lambda gold, fill, name: gold_of.action(gold, video=name, name=fill.action), files=files, video=True
    )


def _made_then_described(fill: Fill, gold: Gold) -> str:
    image = gold_of.generate(gold, scene=f"The new image shows {fill.scene}.")
    gold_of.ask(gold, image=image, question="Describe the new image.")
    return f"Paint {fill.scene} for me. Afterwards describe the new image, so that I can tell whether it is right."


def _made_then_highlighted(fill: Fill, gold: Gold) -> str:
    image = gold_of.generate(gold, scene=f"The new image shows {fill.scene} and a {fill.thing}.")
    gold_of.highlight(gold, image=image, thing=fill.thing)
    return (
        f"Make an image that shows {fill.scene} and a {fill.thing}. Then highlight the {fill.thing} in this new image."
    )


def _asked_and_counted(fill: Fill, gold: Gold) -> str:
    question = fill.pick("question", words.QUESTIONS_ABOUT_IMAGES)
    gold_of.ask(gold, image=fill.image(), question=question)
    counting = f"How many {fill.things} are there?"
    gold_of.count(gold, image=fill.image(), thing=fill.thing, things=fill.things, question=counting)
    return f"Look at {fill.image()}. {question} {counting}"


def _which_of_two(fill: Fill, gold: Gold) -> str:
    first, second = fill.image(0), fill.image(1)
    for image in (first, second):
        gold_of.ask(gold, image=image, question=f"Is there a {fill.thing} in this image?")
    return f"Which of the two images {first} and {second} holds a {fill.thing}?"


def _cut_from_new(fill: Fill, gold: Gold) -> str:
    image = gold_of.generate(gold, scene=f"The new image shows {fill.scene} and a {fill.thing}.")
    gold_of.cut_out(gold, image=image, thing=fill.thing)
    return (
        f"Generate an image of {fill.scene} and a {fill.thing}, and then cut out the {fill.thing} from the new image."
    )


GROUPS: dict[str, tuple[tuple[Sentence, ...], ...]] = {
    "image_detection": (
        (_locate("Locate the {thing} in {image}, please."),),
        (_highlight("Please highlight the {thing} in {image}."),),
        (_locate_then_draw("Does {image} contain a {thing}?"),),
        (_crop("Give me the part of {image} with the {thing}, cropped to its box."),),
        (_highlight("Put a border around the {thing} that you find in {image}."),),
    ),
    "video_classification": (
        (_action("Does anybody practise {action} in {video}?"),),
        (_action("Watch {video} and tell me whether {action} happens in it."),),
        (_actions("Which actions can be seen in {video}?"),),
        (_action("I wonder if there is any {action} going on in {video}."),),
        (_action("Check {video} for {action}, please."),),
    ),
    "image_QA": (
        (_ask("Look at {image}. {question}"),),
        (_describe("Describe {image} for somebody who cannot see it."),),
        (_ask("A question about {image}: {question}"),),
        (_describe("Give me a detailed description of {image}."),),
        (_ask("My picture is {image}. {question}"),),
    ),
    "image_classification": (
        (_recognise("Name all the objects that {image} shows."),),
        (_recognise_one("Would you check whether there is a {category} in {image}?"),),
        (_recognise("What are the different things to be seen in {image}?"),),
        (_recognise_one("I have to know if {image} contains a {category}."),),
        (_recognise("Recognize every object present in {image} and list them."),),
    ),
    "QA": tuple((_answer(number),) for number in range(len(words.QUESTIONS))),
    "image_segmentation": (
        (_mask("I need the mask of the {thing} in {image}."),),
        (_segment_all("Segment everything in {image}; labels are not needed."),),
        (_mask("Make a segmentation mask for the {thing} that {image} shows."),),
        (_segment_all("Please give me the segmentation map of {image} with all its segments."),),
        (_mask("Where {image} shows a {thing}, return its mask."),),
    ),
    "image_processing": (
        (_map("Make the {map} map of {image}."),),
        (_map("I would like to have the {map} result for {image}."),),
        (_map("Apply your {map} model to {image}."),),
        (_map("From {image}, extract the {map} map."),),
        (_map("Process {image} so that I get its {map} output."),),
    ),
    "image_generation": (
        (_generate("Paint a new image that shows {scene}."),),
        (_follow_given("Using the {map} map {map_file}, generate a new image that shows {scene}."),),
        (_follow_made("Take the {map} map of {image} and generate a new image with it that shows {scene}."),),
        (_similar("Generate an image that is similar to {image} in its layout."),),
        (_follow_segments("Use the segmentation of {image} to create a new image that shows {scene}."),),
    ),
    "image_editing": (
        (_remove("Remove the {thing} from {image}, please."),),
        (_cut_out("Cut out the {thing} from {image} and leave all the rest away."),),
        (_remove_masked("Erase from {image} whatever the mask {mask_file} covers."),),
        (_remove("I want {image} without the {thing}; please erase it."),),
        (_cut_out("Keep only the {thing} of {image} and drop its background."),),
    ),
    "count_object": (
        (_count("How many {things} are there in {image}?"),),
        (_count("Count the {things} in {image}, please."),),
        (_count("Tell me the number of {things} that {image} shows."),),
        (_count("What is the total of {things} in {image}?"),),
        (_count("I need the quantity of {things} visible in {image}."),),
    ),
    "compound_instructions": (
        (_count_each("For each of {files}: how many {things} are there?", files=3),),
        (_remove_each("Remove the {thing} from the images {files}.", files=3),),
        (_action_each("Tell me whether {action} happens in the videos {files}.", files=3),),
        (
            _about_one_image(
                _locate("Is there a {thing} in {image}?"),
                _mask("Give me the mask of the {thing} in this image, too."),
                _ask("And one more thing about this image: {question}"),
            ),
        ),
        (
            _recognise("List all objects that {image} shows."),
            _action("Does {action} happen in {video}?"),
            _count("How many {things} are there in {image}?"),
        ),
        (
            _follow_made("With the {map} map of {image}, generate a new image that shows {scene}."),
            _remove("Remove the {thing} from {image}."),
            _answer(7),
        ),
        (
            _about_one_image(
                _highlight("Highlight the {thing} in {image}."),
                _segment_all("Then segment everything in this image."),
                _describe("Finally describe this image in detail."),
            ),
        ),
        (_cut_out("Cut out the {thing} from {image}."), _map("Make the {map} map of {image}.")),
        (_answer(0), _crop("Crop {image} to the {thing}."), _recognise_one("Is a {category} present in {image}?")),
        (
            _remove_masked("Erase from {image} what the mask {mask_file} covers."),
            _similar("Generate an image that is similar to {image}."),
            _action("Check {video} for {action}."),
        ),
    ),
    "extra": (
        (_made_then_described,),
        (_made_then_highlighted,),
        (_asked_and_counted,),
        (_which_of_two,),
        (_cut_from_new,),
    ),
}
"""Sentences of the requests, by group. A group with fewer than ten wordings uses each of them again."""


@cache
def toolmini_tasks() -> tuple[RawTask, ...]:
    """The requests with their gold decompositions and levels, always the same."""
    return tuple(_task(group=group, index=index, seed=SEED) for group in GROUPS for index in range(PER_GROUP))


def hidden_tasks(*, seed: str) -> tuple[RawTask, ...]:
    """Requests with the keys, groups, forms and levels of the public ones, about other things, files and scenes.

    None reads like a public one. Always the same for the same seed.
    """
    public = {task.instruction for task in toolmini_tasks()}
    return tuple(
        next(
            task
            for tries in itertools.count()
            if (task := _task(group=group, index=index, seed=f"{seed} {tries}")).instruction not in public
        )
        for group in GROUPS
        for index in range(PER_GROUP)
    )


def _task(*, group: str, index: int, seed: str) -> RawTask:
    key = f"{group}/{index}"
    sentences = GROUPS[group][index % len(GROUPS[group])]
    gold = Gold()
    said = [sentence(Fill(key=key, number=number, seed=seed), gold) for number, sentence in enumerate(sentences)]
    return RawTask(
        key=key,
        group=group,
        instruction=" ".join(said),
        output=gold.text(),
        level=level_of_plan(gold.calls),
    )
