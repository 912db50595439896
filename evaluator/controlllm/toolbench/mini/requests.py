"""`toolmini`: 120 requests of ControlLLM's kind, made here, for when nothing was fetched.

Ten requests for each of the twelve groups of Tool100. Every request is a wording of this repository with things, files
and scenes put in (`toolmini.toml`); its gold decomposition has the form, the types and the domains of ControlLLM's
files (`acts.toml`). All choices follow from a fixed seed and the request's own key, so adding a wording to one group
changes no other.
"""

import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from evaluator.controlllm.toolbench.released.files import RawTask, level_of_plan
from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.rewording import Rewording

SEED = "toolmini/1"
PER_GROUP = 10
_PLACEHOLDER = re.compile(r"<GENERATED>-(\d+)")
Item = TypeVar("Item")


def table(path: Path) -> dict[str, Any]:
    """A file of acts or sentences."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


_ACTS = table(Path(__file__).with_name("acts.toml"))
_TABLE = table(Path(__file__).with_name("toolmini.toml"))
_WORDS: Mapping[str, Sequence[Any]] = _TABLE["words"]
GROUPS: Mapping[str, Sequence[Any]] = _TABLE["groups"]
"""Sentences of the requests, by group. A group with fewer than ten wordings uses each of them again."""


@dataclass(slots=True)
class Gold:
    """A decomposition that grows, and the number of calls of the smallest plan that goes its way."""

    subtasks: list[dict[str, JsonValue]] = field(default_factory=list)
    calls: int = 0

    def act(self, name: str, slots: Mapping[str, str], *, calls: int | None = None) -> str:
        """Add the subtasks of an act.

        Args:
            name: of the act in `acts.toml`.
            slots: texts for the slots of its descriptions and arguments.
            calls: tool calls of a plan for each subtask, instead of those of the act.

        Returns:
            The placeholder of the last result.
        """
        made = ""
        for subtask in _ACTS[name]:
            texts = {**slots, "made": made}
            if "use" in subtask:
                changed = {slot: text.format(**texts) for slot, text in subtask.items() if slot not in {"use", "calls"}}
                made = self.act(subtask["use"], {**texts, **changed}, calls=subtask.get("calls"))
            else:
                made = self.add(
                    description=subtask["description"].format(**texts),
                    domains=subtask["domains"],
                    args={kind.format(**texts): value.format(**texts) for kind, value in subtask["takes"].items()},
                    gives=subtask["gives"].format(**texts),
                    calls=subtask["calls"] if calls is None else calls,
                )
        return made

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
        needed: list[JsonValue] = [int(match[1]) for value in args.values() if (match := _PLACEHOLDER.fullmatch(value))]
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
        return f"{owner.pick(f'place {which}', _WORDS['places'])}_{serial:03d}"

    def about_same_file(self, count: int) -> list["Fill"]:
        """Fills of sentences that speak of this one's files, each with things of its own."""
        return [replace(self, number=self.number + 10 + index, files_of=self.number) for index in range(count)]

    def slots(self) -> dict[str, str]:
        """The texts of all slots of toolmini's wordings and acts."""
        thing, things = self.pick("thing", _WORDS["objects"])
        scene, kind = self.pick("scene", _WORDS["scenes"]), self.pick("map", _WORDS["maps"])
        return {
            "image": self.image(),
            "other": self.image(1),
            "video": self.video(),
            "thing": thing,
            "things": things,
            "category": self.pick("category", _WORDS["categories"]),
            "action": self.pick("action", _WORDS["actions"]),
            "scene": scene,
            "prompt": f"The new image shows {scene}.",
            "question": self.pick("question", _WORDS["questions_about_images"]),
            "map": kind,
            "map_file": self.file_of(kind),
            "mask_file": self.file_of("mask"),
        }


def sentences_of(request: Any) -> list[Any]:
    """The sentences of a request in a table."""
    return [request] if isinstance(request, Mapping) or isinstance(request[0], str) else list(request)


def paraphrases(requests: Iterable[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Wordings of a table with the other words for them."""
    for request in requests:
        if isinstance(request, Mapping):
            yield from paraphrases(request["one_image"])
        elif not isinstance(request[0], str):
            yield from paraphrases(request)
        elif len(request) > 2:
            yield request[1], (request[2],)


PARAPHRASES = Rewording(dict(itertools.chain.from_iterable(paraphrases(group) for group in GROUPS.values())))
"""Other words for the sentences of toolmini's requests, with the same slots and the same goals."""


@cache
def toolmini_tasks() -> tuple[RawTask, ...]:
    """The requests with their gold decompositions and levels, always the same."""
    return tuple(request_of(group=group, index=index, seed=SEED) for group in GROUPS for index in range(PER_GROUP))


def hidden_tasks(*, seed: str) -> tuple[RawTask, ...]:
    """Requests with the keys, groups, forms and levels of the public ones, about other things, files and scenes.

    None reads like a public one. Always the same for the same seed.
    """
    public = {task.instruction for task in toolmini_tasks()}
    return tuple(
        next(
            task
            for tries in itertools.count()
            if (task := request_of(group=group, index=index, seed=f"{seed} {tries}")).instruction not in public
        )
        for group in GROUPS
        for index in range(PER_GROUP)
    )


def request_of(*, group: str, index: int, seed: str) -> RawTask:
    """One request of a group, about the things that seed and key choose."""
    key = f"{group}/{index}"
    gold = Gold()
    sentences = sentences_of(GROUPS[group][index % len(GROUPS[group])])
    texts = [_write(row, Fill(key=key, number=number, seed=seed), gold) for number, row in enumerate(sentences)]
    return RawTask(
        key=key,
        group=group,
        instruction=" ".join(texts),
        output=gold.text(),
        level=level_of_plan(gold.calls),
    )


def _write(sentence: Any, fill: Fill, gold: Gold) -> str:
    """Write a sentence, and add its subtasks to the gold."""
    if isinstance(sentence, Mapping):
        inner = sentence["one_image"]
        return " ".join(
            _write(row, own, gold) for row, own in zip(inner, fill.about_same_file(len(inner)), strict=True)
        )
    act, wording, *_ = sentence
    if act == "answer" and fill.seed != SEED:
        wording = fill.pick("wording of a question", _WORDS["questions"])
    slots = fill.slots()
    files = {"images": [fill.image(which) for which in range(3)], "videos": [fill.video(which) for which in range(3)]}
    listed = {kind: f"{', '.join(names[:-1])} and {names[-1]}" for kind, names in files.items()}
    text: str = wording.format(**slots, **listed)
    for kind, names in files.items():
        if f"{{{kind}}}" in wording:
            for name in names:
                gold.act(act, {**slots, kind.removesuffix("s"): name})
            return text
    gold.act(act, {**slots, "said": text})
    return text
