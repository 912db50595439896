"""`toolmini`: 120 bundled requests in the style of ControlLLM's, ten for each of the twelve groups of Tool100.

Every request is a wording with objects, files and scenes filled in (`toolmini.toml`). Its gold decomposition has the
form, types and domains of ControlLLM's files (`acts.toml`). All choices follow from a fixed seed and the request's key,
so adding a wording to one group changes no other.
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
"""Sentences of the requests, by group. A group with fewer than ten wordings repeats them."""


@dataclass(slots=True)
class Gold:
    """Builder of a gold decomposition; `calls` counts the calls of the shortest plan that follows it."""

    subtasks: list[dict[str, JsonValue]] = field(default_factory=list)
    calls: int = 0

    def act(self, name: str, slots: Mapping[str, str], *, calls: int | None = None) -> str:
        """Add the subtasks of an act.

        Args:
            name: name of the act in `acts.toml`.
            slots: texts for the slots of its descriptions and arguments.
            calls: tool calls for each subtask, instead of those of the act.

        Returns:
            The placeholder of the last result.
        """
        result = ""
        for subtask in _ACTS[name]:
            texts = {**slots, "made": result}
            if "use" in subtask:
                changed = {slot: text.format(**texts) for slot, text in subtask.items() if slot not in {"use", "calls"}}
                result = self.act(subtask["use"], {**texts, **changed}, calls=subtask.get("calls"))
            else:
                result = self.add(
                    description=subtask["description"].format(**texts),
                    domains=subtask["domains"],
                    args={kind.format(**texts): value.format(**texts) for kind, value in subtask["takes"].items()},
                    gives=subtask["gives"].format(**texts),
                    calls=subtask["calls"] if calls is None else calls,
                )
        return result

    def add(self, *, description: str, domains: list[str], args: dict[str, str], gives: str, calls: int) -> str:
        """Add a subtask, which depends on those whose results it takes.

        Args:
            description: the task in words.
            domains: domains of the tools for it.
            args: value by resource type, in order.
            gives: resource type of the result.
            calls: tool calls for it in a plan that follows the decomposition.

        Returns:
            The placeholder of its result.
        """
        number = len(self.subtasks)
        makers: list[JsonValue] = [int(match[1]) for value in args.values() if (match := _PLACEHOLDER.fullmatch(value))]
        result = f"<GENERATED>-{number}"
        self.subtasks.append(
            {
                "description": description,
                "task": list(domains),
                "id": number,
                "dep": makers or [-1],
                "args": [{"type": kind, "value": value} for kind, value in args.items()],
                "returns": [{"type": gives, "value": result}],
            }
        )
        self.calls += calls
        return result

    def text(self) -> str:
        """The decomposition in the format of the benchmark's files."""
        return f"<Solution>{json.dumps(self.subtasks, ensure_ascii=False)}</Solution>"


@dataclass(frozen=True, slots=True)
class Fill:
    """Texts for the slots of one sentence of a request, deterministic for seed, key and number."""

    key: str
    number: int = 0
    """Index of the sentence in the request."""
    files_of: int | None = None
    """Index of the sentence whose files this one is about; None: its own."""
    seed: str = SEED
    """The public seed, or another one for other requests."""

    def pick(self, slot: str, items: Sequence[Item]) -> Item:
        """One of `items`, always the same for a slot."""
        digest = hashlib.sha256(f"{self.seed} {self.key} {self.number} {slot}".encode()).digest()
        return items[int.from_bytes(digest[:8], "big") % len(items)]

    def image(self, which: int = 0) -> str:
        """The name of an image, distinct for each `which` and each sentence."""
        return f"{self._stem(which)}.png"

    def video(self, which: int = 0) -> str:
        """The name of a video."""
        return f"{self._stem(which)}.mp4"

    def file_of(self, kind: str) -> str:
        """The name of a mask or map."""
        return f"{self._stem(0)}_{kind}.png"

    def _stem(self, which: int) -> str:
        owner = self if self.files_of is None else replace(self, number=self.files_of, files_of=None)
        serial = 100 * owner.number + 10 * which + owner.pick(f"serial {which}", range(10))
        return f"{owner.pick(f'place {which}', _WORDS['places'])}_{serial:03d}"

    def about_same_file(self, count: int) -> list["Fill"]:
        """Fills of sentences about the same files, each with its own objects."""
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
    """Wordings of a table with their paraphrases."""
    for request in requests:
        if isinstance(request, Mapping):
            yield from paraphrases(request["one_image"])
        elif not isinstance(request[0], str):
            yield from paraphrases(request)
        elif len(request) > 2:
            yield request[1], (request[2],)


def unused(groups: Mapping[str, Iterable[Any]]) -> Iterator[tuple[str, str]]:
    """Acts with those paraphrases of single sentences that no request of the groups has.

    Args:
        groups: requests of a table, by group.
    """
    rows = [row for requests in groups.values() for row in requests]
    said = {sentence[1] for row in rows for sentence in _flat(row)}
    for act, wording, *others in (row for row in rows if not isinstance(row, Mapping) and isinstance(row[0], str)):
        yield from (
            (act, other) for other in others if other not in said and "s}" not in wording.replace("{things}", "")
        )


def _flat(request: Any) -> Iterator[Any]:
    """The sentences of a request, also of those about one image."""
    for sentence in sentences_of(request):
        if isinstance(sentence, Mapping):
            yield from sentence["one_image"]
        else:
            yield sentence


PARAPHRASES = Rewording(dict(itertools.chain.from_iterable(paraphrases(group) for group in GROUPS.values())))
"""Paraphrases of the sentences of toolmini's requests, with the same slots and goals."""


@cache
def toolmini_tasks() -> tuple[RawTask, ...]:
    """The public requests with their gold decompositions and levels."""
    return tuple(request_of(group=group, index=index, seed=SEED) for group in GROUPS for index in range(PER_GROUP))


def drawn_tasks(*, count: int) -> Iterator[RawTask]:
    """About so many further requests of the public forms, about other objects, files and scenes."""
    for number in range(-(-count // (PER_GROUP * len(GROUPS)))):
        for group in GROUPS:
            yield from (request_of(group=group, index=n, seed=f"{SEED} draw {number}") for n in range(PER_GROUP))


def request_of(*, group: str, index: int, seed: str) -> RawTask:
    """One request of a group; seed and key choose its objects."""
    key = f"{group}/{index}"
    gold = Gold()
    sentences = sentences_of(GROUPS[group][index % len(GROUPS[group])])
    texts = [_write(row, Fill(key=key, number=number, seed=seed), gold) for number, row in enumerate(sentences)]
    level = level_of_plan(gold.calls)
    return RawTask(key=key, group=group, instruction=" ".join(texts), output=gold.text(), level=level)


def _write(sentence: Any, fill: Fill, gold: Gold) -> str:
    """The text of a sentence; adds its subtasks to the gold."""
    if isinstance(sentence, Mapping):
        inner = sentence["one_image"]
        fills = fill.about_same_file(len(inner))
        return " ".join(_write(row, own, gold) for row, own in zip(inner, fills, strict=True))
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
