"""`pointmini`: 60 requests that point at things in pictures, and hidden ones in other words about other places.

All choices follow from a seed and the request's key. Places are part of the request: each sample has another picture
with a thing there.
"""

import math
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.controlllm.pointmini.pictures import POINTED_SHAPES, RADIUS, Cast, Spot
from evaluator.core.marks import MARK_TYPES, Mark, MarkKind, Place, named
from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.miniature.grammar.german import with_article
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.vocabulary import Colour, Shape
from evaluator.scoring.metrics import rule_names

SEED = "pointmini/1"
_TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("pointmini.toml").read_text(encoding="utf-8"))
KINDS: Mapping[str, Mapping[str, Any]] = {name: kind for name, kind in _TABLE.items() if "steps" in kind}
_CASTS = {name: Cast(like=tuple(row["like"]), total=row["total"]) for name, row in _TABLE["casts"].items()}
_STEMS = ("view", "scan", "page", "shot", "slide", "board", "sheet", "plate", "frame", "panel")
_CENTRE = (SIZE - 1) / 2
_ROOM = 3.0
"""Least distance of a spot from the border, and of its thing from the middle of the picture, in pixels."""
_NEAR = 0.3
"""Most distance of a point from the middle of its thing, in radii."""
_STROKE = (10, 0.75)
"""Number of places of a stroke, and how far it reaches from the middle of its thing, in radii."""
_WIDE = 43
"""Side of a box around several things, in pixels."""
_MARGIN = (1, 3)
"""Pixels by which a box exceeds the circle around its thing."""
RESULTS: Mapping[str, tuple[str, ResourceType]] = {
    "region": (rule_names.HIT, ResourceType.MASK),
    "cut out": (rule_names.EDIT, ResourceType.IMAGE),
    "removal": (rule_names.EDIT, ResourceType.IMAGE),
    "replacement": (rule_names.REPLACED, ResourceType.IMAGE),
    "crop": (rule_names.EDIT, ResourceType.IMAGE),
    "name": (rule_names.NAMED, ResourceType.BBOX),
    "count": (rule_names.ANSWER, ResourceType.TEXT),
}
"""Score and type of a result by what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One sentence of a request, for one result, about one picture."""

    kind: str
    """A key of `KINDS`."""
    image: str
    """Name of the picture."""
    marks: Mapping[str, Mark]
    """By the names of their resources."""
    spots: tuple[Spot, ...]
    """Where the thing of each mark is."""
    shape: Shape
    """Of the things at the spots, where `has_shape`."""
    colour: Colour
    """The new colour of a replaced thing."""

    @property
    def want(self) -> str:
        """A key of `RESULTS`."""
        return str(KINDS[self.kind]["want"])

    @property
    def target(self) -> int:
        """Index of the mark of the thing that is meant."""
        return int(KINDS[self.kind].get("target", 1)) - 1

    @property
    def cast(self) -> Cast:
        """The other things of the picture."""
        return _CASTS[KINDS[self.kind].get("cast", "like")]

    @property
    def has_shape(self) -> bool:
        """Whether all samples have things of the same shape at the spots, which the request may name."""
        return bool(KINDS[self.kind].get("shape", True))

    @property
    def resources(self) -> Mapping[str, ResourceType]:
        """The picture and the marks, by name."""
        return {self.image: ResourceType.IMAGE, **{name: MARK_TYPES[mark.kind] for name, mark in self.marks.items()}}

    def slots(self) -> Mapping[str, str]:
        """What fills the wording and the steps."""
        numbered = {f"mark{number}": name for number, name in enumerate(self.marks, start=1)}
        new = with_article(f"{self.colour} {self.shape}")
        return {"image": self.image, "shape": str(self.shape), "new": new, **numbered}


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
        """Types of pictures and marks by name."""
        return {name: kind for part in self.parts for name, kind in part.resources.items()}

    @property
    def marks(self) -> Mapping[str, Mark]:
        """All marks by name."""
        return {name: mark for part in self.parts for name, mark in part.marks.items()}


def _forms() -> Iterator[tuple[str, str, Sequence[str]]]:
    """Key, group and kinds of the sentences of each request."""
    for name, kind in KINDS.items():
        yield from ((f"{name}/{number}", kind["group"], [name]) for number in range(kind["count"]))
    several = _TABLE["several"]
    yield from ((f"several/{number}", several["group"], kinds) for number, kinds in enumerate(several["of"]))


@cache
def public_requests() -> tuple[Request, ...]:
    """The public requests."""
    return tuple(requests_of(seed=SEED, wordings="public"))


def drawn_requests(*, count: int) -> Iterator[Request]:
    """About so many further requests of the public forms, about other things and places."""
    for number in range(-(-count // len(public_requests()))):
        yield from requests_of(seed=f"{SEED} draw {number}", wordings="public")


def hidden_requests(*, seed: str) -> tuple[Request, ...]:
    """Requests with the keys, resources and results of the public ones, in other words about other places."""
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
    pictures = [f"{stem}_{rng.randint(1, 99)}.png" for stem in rng.sample(_STEMS, len(kinds))]
    spots = [_spots(len(KINDS[kind]["marks"]), rng=rng) for kind in kinds]
    marks = named(
        [
            Mark(
                kind=MarkKind(mark), picture=picture,
                at=_wide_box(rng) if KINDS[kind].get("wide") else _places(MarkKind(mark), spot=spot, rng=rng),
            )
            for kind, picture, own in zip(kinds, pictures, spots, strict=True)
            for mark, spot in zip(KINDS[kind]["marks"], own, strict=True)
        ]
    )  # fmt: skip
    parts = tuple(
        Part(
            kind=kind, image=picture, spots=own,
            marks={name: mark for name, mark in marks.items() if mark.picture == picture},
            shape=rng.choice(POINTED_SHAPES), colour=rng.choice(list(Colour)),
        )
        for kind, picture, own in zip(kinds, pictures, spots, strict=True)
    )  # fmt: skip
    chosen = [rng.sample(KINDS[part.kind][wordings], 2) for part in parts]
    text, other = (
        " ".join(pair[number].format(**part.slots()) for part, pair in zip(parts, chosen, strict=True))
        for number in range(2)
    )
    return Request(key=key, group=group, text=text, other_words=other, parts=parts, gold=_gold(parts))


def _spots(count: int, *, rng: random.Random) -> tuple[Spot, ...]:
    """Places of things that leave room between each other, and that the middle of the picture misses."""
    spots: list[Spot] = []
    while len(spots) < count:
        radius = rng.uniform(*RADIUS)
        x, y = (rng.uniform(radius + _ROOM, SIZE - 1 - radius - _ROOM) for _ in range(2))
        is_free = all(spot.is_apart(x=x, y=y, radius=radius + _ROOM) for spot in spots)
        if is_free and math.hypot(x - _CENTRE, y - _CENTRE) >= radius + _ROOM:
            # Like things have like sizes.
            spots.append(Spot(x=x, y=y, radius=spots[0].radius if spots else radius))
    return tuple(spots)


def _places(kind: MarkKind, *, spot: Spot, rng: random.Random) -> tuple[Place, ...]:
    """Where somebody marks the thing at a spot."""
    match kind:
        case MarkKind.POINT:
            return tuple(_near(spot, rng=rng) for _ in range(rng.choice((1, 1, 2, 3))))
        case MarkKind.STROKE:
            count, reach = _STROKE
            shares = (2 * number / (count - 1) - 1 for number in range(count))
            return tuple(
                (
                    round(spot.x + rng.uniform(-reach, reach) * spot.radius),
                    round(spot.y + share * reach * spot.radius),
                )
                for share in shares
            )
        case MarkKind.BOX:
            low, high = (
                [round(middle + sign * (spot.radius + rng.uniform(*_MARGIN))) for middle in (spot.x, spot.y)]
                for sign in (-1, 1)
            )
            return (max(0, low[0]), max(0, low[1])), (min(SIZE - 1, high[0]), min(SIZE - 1, high[1]))


def _wide_box(rng: random.Random) -> tuple[Place, ...]:
    """A box in a corner of the picture, with room for things outside of it."""
    left, top = (rng.choice((0, SIZE - _WIDE)) for _ in range(2))
    return (left, top), (left + _WIDE - 1, top + _WIDE - 1)


def _near(spot: Spot, *, rng: random.Random) -> Place:
    angle, distance = rng.uniform(0, 2 * math.pi), rng.uniform(0, _NEAR * spot.radius)
    return round(spot.x + distance * math.cos(angle)), round(spot.y + distance * math.sin(angle))


def _gold(parts: Sequence[Part]) -> Plan:
    steps: list[Step] = []
    answers = []
    for part in parts:
        references = {slot: f"${name}" for slot, name in part.slots().items() if name in part.resources}
        made: list[str] = []
        for tool, written in KINDS[part.kind]["steps"]:
            inputs = {
                name: _value(value, made=made, references=references, part=part) for name, value in written.items()
            }
            (output,) = CONTROLLLM[tool].outputs
            step = f"s{len(steps) + 1}"
            steps.append(Step(id=step, tool=tool, inputs=inputs, outputs={output: f"{step}.{output}"}))
            made.append(f"{step}.{output}")
        answers.append(made[-1])
    return Plan(steps=tuple(steps), answers=tuple(answers))


def _value(written: str, *, made: Sequence[str], references: Mapping[str, str], part: Part) -> str:
    if written.startswith("#"):
        return made[int(written[1:]) - 1]
    return references.get(written.strip("{}")) or written.format(**part.slots())
