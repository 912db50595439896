"""`soundworld`: 60 requests about sounds, and hidden ones in other words about other things.

All choices follow from a seed and the request's key.
"""

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.miniature.grammar.captions import caption
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.sounds.effects import SoundClass
from evaluator.scoring.metrics import rule_names

SEED = "soundworld/1"
_TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("soundworld.toml").read_text(encoding="utf-8"))
KINDS: Mapping[str, Mapping[str, Any]] = {name: kind for name, kind in _TABLE.items() if "steps" in kind}
_STEMS = ("take", "memo", "item", "piece", "part", "upload", "draft", "entry", "copy", "file")
_SCENES = 2**40


class Content(StrEnum):
    """What a file holds."""

    SPEECH = "speech"
    """The caption of a scene in any voice."""
    SOUND = "sound"
    """A sound of one of the classes."""
    SCENE = "scene"
    """A picture."""
    CLIP = "clip"
    """A silent clip."""


_TYPES: Mapping[Content, ResourceType] = {
    Content.SPEECH: ResourceType.AUDIO, Content.SOUND: ResourceType.AUDIO, Content.SCENE: ResourceType.IMAGE,
    Content.CLIP: ResourceType.VIDEO,
}  # fmt: skip
_ENDINGS = {ResourceType.AUDIO: "wav", ResourceType.IMAGE: "png", ResourceType.VIDEO: "mp4"}
RESULTS: Mapping[str, tuple[str, ResourceType]] = {
    "transcript": (rule_names.TRANSCRIPT, ResourceType.TEXT),
    "class": (rule_names.LABELS, ResourceType.CATEGORY),
    "selected class": (rule_names.LABELS, ResourceType.CATEGORY),
    "speech": (rule_names.SOUND, ResourceType.AUDIO),
    "music": (rule_names.SOUND, ResourceType.AUDIO),
    "film": (rule_names.DUB, ResourceType.VIDEO),
    "drawing": ("CLIP", ResourceType.IMAGE),
}
"""Score and type of a result by what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One sentence of a request, for one result."""

    kind: str
    """A key of `KINDS`."""
    files: Mapping[str, str]
    """Names of the files by their slots."""
    text: str
    """The text to speak."""
    style: str
    """The style of music."""
    sound: SoundClass
    """The class to select."""

    @property
    def want(self) -> str:
        """A key of `RESULTS`."""
        return str(KINDS[self.kind]["want"])

    def contents(self) -> Mapping[str, Content]:
        """What each file holds, by its name."""
        return {self.files[slot]: Content(content) for slot, content in KINDS[self.kind]["files"].items()}

    def slots(self) -> Mapping[str, str]:
        """What fills the wording."""
        return {**self.files, "text": self.text, "style": self.style, "sound": str(self.sound)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request."""

    key: str
    group: str
    text: str
    other_words: str
    """The same request in other words."""
    parts: tuple[Part, ...]
    gold: Plan

    @property
    def resources(self) -> Mapping[str, ResourceType]:
        """Types of the files by name."""
        return {name: _TYPES[content] for part in self.parts for name, content in part.contents().items()}


def _forms() -> Iterator[tuple[str, str, Sequence[str]]]:
    """Key, group and kinds of the sentences of each request."""
    for name, kind in KINDS.items():
        yield from ((f"{name}/{number}", kind["group"], [name]) for number in range(kind["count"]))
    several = _TABLE["several"]
    yield from ((f"several/{number}", several["group"], kinds) for number, kinds in enumerate(several["of"]))


@cache
def public_requests() -> tuple[Request, ...]:
    """The public requests, with distinct texts."""
    return tuple(requests_of(seed=SEED, wordings="public"))


def drawn_requests(*, count: int) -> Iterator[Request]:
    """About so many further requests of the public forms, about other things and files."""
    for number in range(-(-count // len(public_requests()))):
        yield from requests_of(seed=f"{SEED} draw {number}", wordings="public")


def hidden_requests(*, seed: str) -> tuple[Request, ...]:
    """Requests with the keys, files and results of the public ones, in other words about other things."""
    return tuple(requests_of(seed=seed, wordings="hidden"))


def requests_of(*, seed: str, wordings: str) -> Iterator[Request]:
    """A request for each key, with distinct texts.

    Args:
        seed: on which all choices depend.
        wordings: `public` or `hidden`.
    """
    texts = set[str]()
    for key, group, kinds in _forms():
        attempt = 0
        while (request := _request(key, group, kinds, seed=f"{seed} {attempt}", wordings=wordings)).text in texts:
            attempt += 1
        texts.add(request.text)
        yield request


def _request(key: str, group: str, kinds: Sequence[str], *, seed: str, wordings: str) -> Request:
    # Not a secret: the seed is.
    rng = random.Random(f"{seed} {key}")  # noqa: S311
    stems = [f"{stem}_{rng.randint(1, 99)}" for stem in rng.sample(_STEMS, len(_STEMS))]
    parts = tuple(_part(kind, stems=stems, rng=rng) for kind in kinds)
    chosen = [rng.sample(KINDS[part.kind][wordings], 2) for part in parts]
    text, other = (
        " ".join(pair[number].format(**part.slots()) for part, pair in zip(parts, chosen, strict=True))
        for number in range(2)
    )
    return Request(key=key, group=group, text=text, other_words=other, parts=parts, gold=_gold(parts))


def _part(kind: str, *, stems: list[str], rng: random.Random) -> Part:
    files = {
        slot: f"{stems.pop()}.{_ENDINGS[_TYPES[Content(content)]]}" for slot, content in KINDS[kind]["files"].items()
    }
    # Of the training split: what requests quote is no data.
    sentence = caption(draw_scene(split=Split.TRAIN, index=rng.randrange(_SCENES))).english
    style = " ".join(rng.choice(words) for words in (("fast", "slow"), ("happy", "sad"), ("flute", "organ", "bell")))
    return Part(kind=kind, files=files, text=sentence, style=f"a {style} tune", sound=rng.choice(list(SoundClass)))


def _gold(parts: Sequence[Part]) -> Plan:
    steps: list[Step] = []
    answers = []
    for part in parts:
        slots = {**part.slots(), **{slot: f"${name}" for slot, name in part.files.items()}}
        made: list[str] = []
        for line in KINDS[part.kind]["steps"]:
            tool, *arguments = line.split()
            inputs = {}
            for argument in arguments:
                name, _, value = argument.partition("=")
                inputs[name] = made[int(value[1:]) - 1] if value.startswith("#") else slots[value.strip("{}")]
            (output,) = CONTROLLLM[tool].outputs
            step = f"s{len(steps) + 1}"
            steps.append(Step(id=step, tool=tool, inputs=inputs, outputs={output: f"{step}.{output}"}))
            made.append(f"{step}.{output}")
        answers.append(made[-1])
    return Plan(steps=tuple(steps), answers=tuple(answers))
