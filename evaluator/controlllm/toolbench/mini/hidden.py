"""Hidden requests of `toolmini`: other sentences about other things, and other combinations of wishes.

A site shows the group, level, structure and types of files of each task, so these are the public ones of its key.
Everything else follows from the secret seed.
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from evaluator.controlllm.toolbench.mini.requests import GROUPS, Fill, Gold, toolmini_tasks, unused
from evaluator.controlllm.toolbench.released.files import RawTask, level_of_plan
from evaluator.controlllm.toolbench.spoken.speech import (
    VIDEOS,
    Speaking,
    Speech,
    Wish,
    article,
    by_act,
    distinct,
    slots_of,
)
from evaluator.controlllm.toolbench.tasks import tool_task
from evaluator.core.tools.types import ResourceType

ACTS: Mapping[str, Sequence[str]] = {
    "image_detection": ("locate", "locate_all", "highlight", "locate_then_draw", "crop"),
    "video_classification": ("action", "action", "actions"),
    "image_QA": ("ask", "ask", "describe"),
    "image_classification": ("recognise", "recognise_one"),
    "QA": ("answer",),
    "image_segmentation": ("mask", "mask", "segment_all"),
    "image_processing": ("make_map",),
    "image_generation": ("generate", "follow_given", "follow_made", "follow_segments", "similar"),
    "image_editing": ("remove", "cut_out", "remove_masked", "keep_masked"),
    "count_object": ("count",),
}
"""Acts of the groups whose requests have one wish."""
PARAPHRASES = by_act(unused(GROUPS))
"""Paraphrases of public sentences, which no public request has, by act."""
_CHAINS = (
    "made_then_described", "made_then_highlighted", "made_then_counted", "made_then_mapped", "removed_then_described",
    "removed_then_mapped", "similar_then_segmented", "cut_from_new", "which_of_two",
)  # fmt: skip
COMPOUNDS: Mapping[str, Sequence[str]] = {
    "compound_instructions": tuple(dict.fromkeys(act for acts in ACTS.values() for act in acts if act != "answer")),
    "extra": _CHAINS,
}
"""Acts of the groups whose requests have several wishes, or wishes about results of others."""
MOST_WISHES = 4
_ROLES = frozenset(map(str, ResourceType)) - {"image", "video", "mask", "text"}
_TYPES_OF_SLOTS = {"image": "image", "other": "image", "video": "video", "mask_file": "mask", "map_file": "map"}
_ENDINGS = {"image": (".png", ".jpg", ".jpeg"), "video": (".mp4", ".mov", ".webm")}
_STEP = 89
"""Between the serial numbers of a request's files; it has no divisor in common with 1000, so they differ."""


@dataclass(frozen=True, slots=True)
class HiddenFill(Fill):
    """Texts for the slots of a wish. Names of files say nothing about their order or role in the request."""

    words: Mapping[str, Sequence[Any]] = field(default_factory=dict, kw_only=True, compare=False)

    def image(self, which: int = 0) -> str:
        """The name of an image, distinct for each `which` and each wish."""
        return self.stem(which) + self._owner.pick(f"ending {which}", _ENDINGS["image"])

    def video(self, which: int = 0) -> str:
        """The name of a video."""
        return self.stem(which + 5) + self._owner.pick(f"ending {which}", _ENDINGS["video"])

    def file_of(self, kind: str) -> str:
        """The name of a mask or map."""
        return f"{self.stem(9)}_{kind}.png"

    def stem(self, which: int) -> str:
        """The name of a file without its ending."""
        owner = self._owner
        first = replace(owner, number=0).pick("serial", range(1000))
        serial = (first + _STEP * (10 * owner.number + which)) % 1000
        return f"{owner.pick(f'place {which}', self.words['places'])}-{serial:03d}"

    @property
    def _owner(self) -> "HiddenFill":
        """The fill whose files this one is about."""
        return self if self.files_of is None else replace(self, number=self.files_of, files_of=None)

    def slots(self) -> dict[str, str]:
        """The texts of all slots of the acts' phrases."""
        thing, things = self.pick("thing", self.words["objects"])
        scene, category = self.pick("scene", self.words["scenes"]), self.pick("category", self.words["categories"])
        kind = self.pick("map", ("edge", "line", "hed", "scribble", "pose", "depth", "normal"))
        return {
            "image": self.image(),
            "other": self.image(1),
            "video": self.video(),
            "thing": thing,
            "things": things,
            "a_thing": article(thing),
            "category": category,
            "a_category": article(category),
            "action": self.pick("action", self.words["actions"]),
            "scene": scene,
            "prompt": f"The new image shows {scene}.",
            "question": self.pick("question", self.words["questions_about_images"]),
            "map": kind,
            "map_file": self.file_of(kind),
            "mask_file": self.file_of("mask"),
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """What a site shows of a task, whatever it asks on the hidden split."""

    group: str
    level: str
    structure: str
    types: frozenset[ResourceType]


def _types_of(wishes: Sequence[Wish]) -> frozenset[ResourceType]:
    """The types of the files that wishes need."""
    kinds = (
        wish.slots["map"] if slot == "map_file" else _TYPES_OF_SLOTS.get(slot)
        for wish in wishes
        for slot in slots_of(wish.act)
    )
    return frozenset(ResourceType(kind) for kind in kinds if kind)


@cache
def public_facts() -> Mapping[str, Facts]:
    """The facts of the public tasks by key."""
    return {raw.key: facts_of(raw) for raw in toolmini_tasks()}


def facts_of(raw: RawTask) -> Facts:
    """The facts of a request."""
    task = tool_task(raw)
    return Facts(raw.group, task.level, task.structure, frozenset(task.resources.values()))


def hidden_tasks(*, seed: str) -> tuple[RawTask, ...]:
    """Requests with the keys, groups, levels, structures and types of files of the public ones.

    Texts are distinct, and no sentence of them is one of the public requests. Deterministic for a seed.
    """
    speech, texts = Speech(seed, PARAPHRASES), set[str]()
    tasks: list[RawTask] = []
    for key, facts in public_facts().items():
        drawn = drafts(facts, key=key, seed=seed, speech=speech)
        tasks.append(next(raw for raw in drawn if raw.instruction not in texts))
        texts.add(tasks[-1].instruction)
    return tuple(tasks)


def drafts(facts: Facts, *, key: str, seed: str, speech: Speech) -> "Drafts":
    """Requests with these facts, without end."""
    return Drafts(facts=facts, key=key, seed=seed, speech=speech)


@dataclass(slots=True)
class Drafts:
    """An iterator of requests with the same facts."""

    facts: Facts
    key: str
    seed: str
    speech: Speech
    _tries: "itertools.count[int]" = field(default_factory=itertools.count)

    def __iter__(self) -> "Drafts":
        return self

    def __next__(self) -> RawTask:
        for tries in self._tries:
            draft = _Draft(facts=self.facts, key=self.key, seed=f"{self.seed} {tries}", speech=self.speech)
            raw = draft.request()
            if raw is not None:
                return raw
        raise AssertionError


@dataclass(frozen=True)
class _Draft:
    """One try to make a request."""

    facts: Facts
    key: str
    seed: str
    speech: Speech

    @cached_property
    def rng(self) -> random.Random:
        # Not a secret: the seed is.
        return random.Random(f"{self.seed} {self.key}")  # noqa: S311

    def request(self) -> RawTask | None:
        """A request; None if it would have other facts."""
        wishes = self._wishes()
        if wishes is None or _types_of(wishes) != self.facts.types:
            return None
        gold = Gold()
        for wish in wishes:
            gold.act(wish.act, {**wish.slots, "said": wish.plain})
        level, group = level_of_plan(gold.calls), self.facts.group
        if level != self.facts.level:
            return None
        plain = " ".join(wish.plain for wish in wishes)
        raw = RawTask(key=self.key, group=group, instruction=plain, output=gold.text(), level=level, plain=plain)
        if facts_of(raw) != self.facts:
            return None
        if group == "QA":
            return replace(raw, other_words=f"Please answer this question: {plain}")
        around = surroundings(wishes, key=self.key, seed=self.seed, speech=self.speech, rng=self.rng)
        told, other = (self.speech.request(wishes, speaking=around) for _ in range(2))
        return replace(raw, instruction=told, other_words=other)

    def _wishes(self) -> list[Wish] | None:
        """Wishes of the group, without those that are equal or need files of types that the facts do not have."""
        group = self.facts.group
        size = self.rng.choice((2, 2, 3, 3, MOST_WISHES)) if group == "compound_instructions" else 1
        own = ACTS[group] if group in ACTS else COMPOUNDS[group]
        fitting = [act for act in own if {_TYPES_OF_SLOTS.get(slot) for slot in slots_of(act)} - {None} <= self._kinds]
        acts = [self.rng.choice(fitting) for _ in range(size)]
        shared = self.rng.random() < 0.5
        wishes = [self._wish(act, number=number, shared=shared) for number, act in enumerate(acts)]
        things = [wish.slots["thing"] for wish in wishes]
        return wishes if distinct(wish.plain for wish in wishes) and distinct(things) else None

    @property
    def _kinds(self) -> frozenset[str]:
        """The types of the facts, of which all maps are one."""
        kinds = {str(kind) for kind in self.facts.types}
        return frozenset({*kinds, "map"}) if kinds & _ROLES else frozenset(kinds)

    def _wish(self, act: str, *, number: int, shared: bool) -> Wish:
        fill = HiddenFill(
            key=self.key, number=number, files_of=0 if shared else None, seed=self.seed, words=self.speech.words
        )
        slots = fill.slots()
        given = [kind for kind in self.facts.types if str(kind) in _ROLES]
        if act == "answer":
            question = fill.pick("question", self.speech.words["questions"])
            return Wish(act="answer", slots={**slots, "question": question})
        if act == "follow_given" and given:
            slots |= {"map": str(given[0]), "map_file": fill.file_of(str(given[0]))}
        if act == "follow_segments":
            slots["map"] = "segmentation"
        return Wish(act=act, slots=slots)


def surroundings(
    wishes: Sequence[Wish], *, key: str, seed: str, speech: Speech, rng: random.Random, by_name: bool = False
) -> Speaking:
    """What surrounds the wishes of a request about toolmini's things.

    Args:
        wishes: of the request.
        key: of the request.
        seed: from which its things follow.
        speech: of the season.
        rng: draws what is said and how.
        by_name: whether files are always called by their names.
    """
    fill = HiddenFill(key=key, seed=seed, words=speech.words)
    taken = {wish.slots["thing"] for wish in wishes} | {wish.slots["action"] for wish in wishes}
    others = [replace(fill, number=MOST_WISHES + number).slots() for number in range(20)]
    kinds = ("thing", "things", "a_thing", "action", "map")
    media = {"video" if slot in VIDEOS else "image" for wish in wishes for slot in wish.files}
    idle = ""
    if media and rng.random() < 0.3:
        idle_fill = replace(fill, number=MOST_WISHES)
        idle = idle_fill.video(3) if "video" in media else idle_fill.image(3)
    return Speaking(
        rng=rng,
        strangers=[
            {kind: slots[kind] for kind in kinds}
            for slots in others
            if taken.isdisjoint((slots["thing"], slots["action"]))
        ],
        idle=idle,
        by_name=by_name,
    )
