"""The sentences of `toolmini`: each writes a part of a request, and adds its subtasks to the gold decomposition."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from evaluator.controlllm.toolbench.mini import gold as gold_of
from evaluator.controlllm.toolbench.mini import words
from evaluator.controlllm.toolbench.mini.gold import Gold

SEED = "toolmini/1"


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


def says(wording: str, act: Callable[[Gold, Fill], object]) -> Sentence:
    """A sentence with the slots {image}, {video}, {thing}, {things}, {category}, {action}, {scene}, {map}, ..."""

    def sentence(fill: Fill, gold: Gold) -> str:
        act(gold, fill)
        return wording.format(
            image=fill.image(), video=fill.video(), thing=fill.thing, things=fill.things, category=fill.category,
            action=fill.action, scene=fill.scene, map=fill.map, mask_file=fill.file_of("mask"),
            map_file=fill.file_of(fill.map),
        )  # fmt: skip

    return sentence


def locate(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.locate(gold, image=fill.image(), thing=fill.thing))


def locate_then_draw(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.locate_then_draw(gold, image=fill.image(), thing=fill.thing))


def highlight(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.highlight(gold, image=fill.image(), thing=fill.thing))


def crop(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.crop(gold, image=fill.image(), thing=fill.thing))


def action(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.action(gold, video=fill.video(), name=fill.action))


def actions(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.actions(gold, video=fill.video()))


def recognise(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.recognise(gold, image=fill.image()))


def recognise_one(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.recognise_one(gold, image=fill.image(), thing=fill.category))


def mask(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.mask(gold, image=fill.image(), thing=fill.thing))


def segment_all(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.segment_all(gold, image=fill.image()))


def make_map(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.make_map(gold, image=fill.image(), kind=fill.map))


def remove(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.remove(gold, image=fill.image(), thing=fill.thing))


def remove_masked(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.remove_masked(gold, image=fill.image(), given=fill.file_of("mask")))


def cut_out(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.cut_out(gold, image=fill.image(), thing=fill.thing))


def similar(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.similar(gold, image=fill.image()))


def generate(wording: str) -> Sentence:
    return says(wording, lambda gold, fill: gold_of.generate(gold, scene=f"The new image shows {fill.scene}."))


def follow_given(wording: str) -> Sentence:
    def act(gold: Gold, fill: Fill) -> None:
        scene = f"The new image shows {fill.scene}."
        gold_of.generate_following(gold, guide=fill.file_of(fill.map), kind=fill.map, scene=scene)

    return says(wording, act)


def follow_made(wording: str) -> Sentence:
    def act(gold: Gold, fill: Fill) -> None:
        guide = gold_of.make_map(gold, image=fill.image(), kind=fill.map)
        gold_of.generate_following(gold, guide=guide, kind=fill.map, scene=f"The new image shows {fill.scene}.")

    return says(wording, act)


def follow_segments(wording: str) -> Sentence:
    def act(gold: Gold, fill: Fill) -> None:
        guide = gold_of.segment_all(gold, image=fill.image())
        scene = f"The new image shows {fill.scene}."
        gold_of.generate_following(gold, guide=guide, kind="segmentation", scene=scene)

    return says(wording, act)


def ask(wording: str) -> Sentence:
    """A question about an image, drawn from the list; its slot is {question}."""

    def sentence(fill: Fill, gold: Gold) -> str:
        question = fill.pick("question", words.QUESTIONS_ABOUT_IMAGES)
        gold_of.ask(gold, image=fill.image(), question=question)
        return wording.format(image=fill.image(), question=question)

    return sentence


def describe(wording: str) -> Sentence:
    return says(
        wording, lambda gold, fill: gold_of.ask(gold, image=fill.image(), question="Describe this image in detail.")
    )


def answer(number: int) -> Sentence:
    def sentence(fill: Fill, gold: Gold) -> str:
        question = words.QUESTIONS[number]
        if fill.seed != SEED:
            wording = fill.pick("wording of a question", words.MORE_QUESTIONS)
            question = wording.format(thing=fill.thing, things=fill.things, category=fill.category, action=fill.action)
        gold_of.answer(gold, question=question)
        return question

    return sentence


def count(wording: str) -> Sentence:
    def sentence(fill: Fill, gold: Gold) -> str:
        said = wording.format(image=fill.image(), things=fill.things)
        gold_of.count(gold, image=fill.image(), thing=fill.thing, things=fill.things, question=said)
        return said

    return sentence


def about_one_image(*sentences: Sentence) -> Sentence:
    """Several sentences about the same image, each with things of its own."""

    def all_of_them(fill: Fill, gold: Gold) -> str:
        fills = (replace(fill, number=fill.number + 10 + number, files_of=fill.number) for number in range(9))
        return " ".join(sentence(one, gold) for sentence, one in zip(sentences, fills, strict=False))

    return all_of_them


def each(wording: str, act: Callable[[Gold, Fill, str], object], *, files: int, video: bool = False) -> Sentence:
    """One thing asked of several files, whose names take the slot {files}."""

    def sentence(fill: Fill, gold: Gold) -> str:
        names = [fill.video(which) if video else fill.image(which) for which in range(files)]
        for name in names:
            act(gold, fill, name)
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return wording.format(files=listed, thing=fill.thing, things=fill.things, action=fill.action)

    return sentence


def count_each(wording: str, *, files: int) -> Sentence:
    def act(gold: Gold, fill: Fill, name: str) -> None:
        question = f"How many {fill.things} are there in {name}?"
        gold_of.count(gold, image=name, thing=fill.thing, things=fill.things, question=question)

    return each(wording, act, files=files)


def remove_each(wording: str, *, files: int) -> Sentence:
    return each(wording, lambda gold, fill, name: gold_of.remove(gold, image=name, thing=fill.thing), files=files)


def action_each(wording: str, *, files: int) -> Sentence:
    return each(
        wording, lambda gold, fill, name: gold_of.action(gold, video=name, name=fill.action), files=files, video=True
    )


def made_then_described(fill: Fill, gold: Gold) -> str:
    image = gold_of.generate(gold, scene=f"The new image shows {fill.scene}.")
    gold_of.ask(gold, image=image, question="Describe the new image.")
    return f"Paint {fill.scene} for me. Afterwards describe the new image, so that I can tell whether it is right."


def made_then_highlighted(fill: Fill, gold: Gold) -> str:
    image = gold_of.generate(gold, scene=f"The new image shows {fill.scene} and a {fill.thing}.")
    gold_of.highlight(gold, image=image, thing=fill.thing)
    return (
        f"Make an image that shows {fill.scene} and a {fill.thing}. Then highlight the {fill.thing} in this new image."
    )


def asked_and_counted(fill: Fill, gold: Gold) -> str:
    question = fill.pick("question", words.QUESTIONS_ABOUT_IMAGES)
    gold_of.ask(gold, image=fill.image(), question=question)
    counting = f"How many {fill.things} are there?"
    gold_of.count(gold, image=fill.image(), thing=fill.thing, things=fill.things, question=counting)
    return f"Look at {fill.image()}. {question} {counting}"


def which_of_two(fill: Fill, gold: Gold) -> str:
    first, second = fill.image(0), fill.image(1)
    for image in (first, second):
        gold_of.ask(gold, image=image, question=f"Is there a {fill.thing} in this image?")
    return f"Which of the two images {first} and {second} holds a {fill.thing}?"


def cut_from_new(fill: Fill, gold: Gold) -> str:
    image = gold_of.generate(gold, scene=f"The new image shows {fill.scene} and a {fill.thing}.")
    gold_of.cut_out(gold, image=image, thing=fill.thing)
    return (
        f"Generate an image of {fill.scene} and a {fill.thing}, and then cut out the {fill.thing} from the new image."
    )
