"""`toolworld`: 180 requests in the groups of Tool100, about the miniature world.

Each is a wording with objects, files and pictures filled in (`toolworld.toml`). All choices follow from a seed and the
request's key, so adding a wording to one group changes no other.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.controlllm.toolbench.mini.requests import PARAPHRASES as MINI
from evaluator.controlllm.toolbench.mini.requests import Fill, Gold, paraphrases, sentences_of, table
from evaluator.controlllm.toolbench.released.files import RawTask, level_of_plan
from evaluator.controlllm.toolbench.world.contents import Asked, Demand, Given, Material, Sketch, Want, Wanted
from evaluator.core.suites.rewording import Rewording
from evaluator.core.tools.types import ResourceType
from evaluator.miniature import annotations
from evaluator.miniature.grammar.documents import draw_document
from evaluator.miniature.grammar.german import english_article
from evaluator.miniature.grammar.labels import BACKGROUNDS
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.scenes import contrasts
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import Background, Colour, Direction, Shape

SEED = "toolworld/1"
MAPS = ("edge", "line", "hed", "scribble", "pose", "depth", "normal")
GUIDES = (*MAPS, "segmentation")
_STREAMS = 2**40
_TABLE = table(Path(__file__).with_name("toolworld.toml"))
ACTS: Mapping[str, Mapping[str, Any]] = _TABLE["acts"]
_QUESTION = {"gold": "ask", "shows": "scene", "want": "answer", "tool": "image_question_answering"}
"""The common facts of acts that ask about a scene."""
_WRITES = {Want.NAMES: "name", Want.TAGS: "tag"}
"""The kind of word that a sign needs for an annotation."""
_BESIDE = {
    Direction.LEFT_OF: "to the left of",
    Direction.RIGHT_OF: "to the right of",
    Direction.ABOVE: "above",
    Direction.BELOW: "below",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request with its files and results."""

    raw: RawTask
    given: tuple[Given, ...]
    wanted: tuple[Wanted, ...]
    acts: tuple[str, ...] = ()
    """Of its sentences, in order."""


class ClashError(Exception):
    """No picture can meet the demands of two sentences."""


def _requests(rows: Iterable[Any]) -> Iterator[Any]:
    """The requests of a group, with repetitions and kinds of maps expanded."""
    for row in rows:
        if isinstance(row, Mapping) and "times" in row:
            yield from list(_requests(row["of"])) * row["times"]
        elif isinstance(row, list) and isinstance(row[0], str) and row[0].endswith(":*"):
            act = row[0].removesuffix("*")
            yield from ([act + kind, *row[1:]] for kind in (MAPS if act == "make_map:" else GUIDES))
        else:
            yield row


GROUPS: Mapping[str, Sequence[Any]] = {group: tuple(_requests(rows)) for group, rows in _TABLE["groups"].items()}
"""Sentences of the requests, by group. Requests with equal sentences differ in their objects and files."""
PARAPHRASES = Rewording(
    {
        **MINI.alternatives,
        **dict(itertools.chain.from_iterable(paraphrases(rows) for rows in GROUPS.values())),
        **{wording: (other,) for wording, other in _TABLE["across"].items()},
    }
)
"""Paraphrases of the sentences of toolworld's requests, with the same slots and goals."""


@cache
def public_requests() -> tuple[Request, ...]:
    """The public requests, with distinct texts."""
    requests: list[Request] = []
    texts = set[str]()
    for group, rows in GROUPS.items():
        for index in range(len(rows)):
            drafts = (
                request_of(group=group, index=index, seed=f"{SEED} {n}" if n else SEED) for n in itertools.count()
            )
            requests.append(next(draft for draft in drafts if draft.raw.instruction not in texts))
            texts.add(requests[-1].raw.instruction)
    return tuple(requests)


def drawn_requests(*, count: int) -> Iterator[Request]:
    """About so many further requests of the public forms, about other objects and files."""
    for number in range(-(-count // len(public_requests()))):
        for group, rows in GROUPS.items():
            yield from (request_of(group=group, index=n, seed=f"{SEED} draw {number}") for n in range(len(rows)))


def request_of(*, group: str, index: int, seed: str) -> Request:
    """One request of a group; seed and key choose its objects."""
    for attempt in itertools.count():
        try:
            return _request(group=group, index=index, seed=f"{seed} {attempt}" if attempt else seed)
        except ClashError:
            continue
    raise AssertionError


def _request(*, group: str, index: int, seed: str) -> Request:
    key = f"{group}/{index}"
    draft = Draft()
    sentences = sentences_of(GROUPS[group][index])
    texts = [draft.write(row, Fill(key=key, number=number, seed=seed)) for number, row in enumerate(sentences)]
    checked_demands(draft.given.values())
    level = level_of_plan(draft.gold.calls)
    raw = RawTask(key=key, group=group, instruction=" ".join(texts), output=draft.gold.text(), level=level)
    return Request(raw=raw, given=tuple(draft.given.values()), wanted=tuple(draft.wanted), acts=tuple(draft.acts))


def checked_demands(given: Iterable[Given]) -> None:
    """Raise `ClashError` if no picture can meet the demands of one of the files."""
    for file in given:
        names = {demand.name for demand in file.demands}
        colours = {demand.colour for demand in file.demands}
        if min(len(names), len(colours)) < len(file.demands):
            raise ClashError


@dataclass(slots=True)
class Draft:
    """Builder of a request: files, results and gold decomposition of the sentences written so far."""

    gold: Gold = field(default_factory=Gold)
    given: dict[str, Given] = field(default_factory=dict)
    """By file name."""
    wanted: list[Wanted] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    """Of the sentences."""
    slots: list[dict[str, str]] = field(default_factory=list)
    """What each sentence is about."""

    def write(self, sentence: Any, fill: Fill) -> str:
        """The text of a sentence; adds its files, results and subtasks."""
        if isinstance(sentence, Mapping):
            inner = sentence["one_image"]
            fills = fill.about_same_file(len(inner))
            return " ".join(self.write(row, own) for row, own in zip(inner, fills, strict=True))
        act, wording, *_ = sentence
        self.acts.append(act)
        want, _, origin = act.partition(" of ")
        if origin:
            return self._annotation(Want(want), origin, fill=fill, wording=wording)
        act, _, kind = act.partition(":")
        if act in {"generate", "follow_given", "follow_made"}:
            return self._drawing(act, kind, fill=fill, wording=wording)
        return self._result(act, kind, fill=fill, wording=wording)

    def _result(self, act: str, kind: str, *, fill: Fill, wording: str) -> str:
        """A sentence about a file of the request."""
        facts = ACTS[act] if act in ACTS and "gold" in ACTS[act] else {**_QUESTION, **ACTS[act]}
        is_clip = facts["shows"] == "clip"
        file = fill.video() if is_clip else fill.image()
        thing = _thing(facts["thing"], fill) if "thing" in facts else None
        motion = fill.pick("motion", list(Motion)) if act == "motion" else None
        mask = fill.file_of("mask")
        self._give(
            file,
            material=Material.FIGURE if kind == "pose" else Material(facts["shows"]),
            kind=ResourceType.VIDEO if is_clip else ResourceType.IMAGE,
            demand=thing,
            motion=motion,
        )
        if act == "remove_masked":
            self._give(mask, material=Material.THINGS, kind=ResourceType.MASK, demand=thing, masked=file)
        name = thing.name if thing is not None else ""
        slots = {
            "image": file,
            "video": file,
            "thing": name,
            "a_thing": _with_article(name) if name else "",
            "things": f"{name}es" if name.endswith("s") else f"{name}s",
            "map": kind,
            "mask_file": mask,
            "motion": str(motion),
            "action": str(motion),
        }
        slots["question"] = facts.get("question", "").format(**slots)
        text = self._text(wording, slots)
        self.gold.act(facts["gold"], {**slots, "said": text})
        self.wanted.append(
            Wanted(
                kind=Want(facts["want"]),
                file=file,
                thing=thing,
                word=str(motion) if motion is not None else kind,
                asked=Asked(act.removeprefix("ask_")) if facts["want"] == "answer" else None,
                tool=facts.get("tool", ""),
            )
        )
        return text

    def _drawing(self, act: str, kind: str, *, fill: Fill, wording: str) -> str:
        """A drawing from words; it may follow a given map or one that a step makes."""
        sketch = _sketch(fill, of_figure=kind == "pose")
        file = {"generate": "", "follow_given": fill.file_of(kind), "follow_made": fill.image()}[act]
        slots = {"prompt": sketch.text, "sentence": sketch.text, "map": kind, "map_file": file, "image": file}
        if act == "generate":
            self.wanted.append(Wanted(kind=Want.DRAWING, sketch=sketch))
        else:
            given = ResourceType(kind) if act == "follow_given" else ResourceType.IMAGE
            self._give(file, material=Material.LAYOUT, kind=given, sketch=sketch)
            self.wanted.append(Wanted(kind=Want.GUIDED_DRAWING, file=file, word=kind, sketch=sketch))
        self.gold.act("follow_segments" if (act, kind) == ("follow_made", "segmentation") else act, slots)
        return self._text(wording, slots)

    def _annotation(self, want: Want, origin: str, *, fill: Fill, wording: str) -> str:
        """An annotation of a text in the request, or of the text of a sign, caption or clip."""
        tool, kind = _TABLE["annotations"][want]
        slots = {"tool": tool, "type": kind, "image": fill.image(), "video": fill.video()}
        if origin in {"story", "review"}:
            rng = np.random.default_rng(fill.pick("text", range(_STREAMS)))
            is_story = origin == "story"
            said = annotations.of_story(draw_document(rng)) if is_story else annotations.of_review(draw_review(rng))
            slots["text"] = said.text
            self.wanted.append(Wanted(kind=want, said=said))
            self.gold.act("annotate", slots)
            return self._text(wording, slots)
        if origin == "clip":
            self._give(slots["video"], material=Material.CLIP, kind=ResourceType.VIDEO)
        elif origin == "sign":
            self._give(slots["image"], material=Material.SIGN, writes=_WRITES[want])
        else:
            self._give(slots["image"], material=Material.SCENE)
        self.wanted.append(Wanted(kind=want, file=slots["video" if origin == "clip" else "image"]))
        self.gold.act(f"annotate_{origin}", slots)
        return self._text(wording, slots)

    def _text(self, wording: str, slots: dict[str, str]) -> str:
        self.slots.append(slots)
        return wording.format(**slots)

    def _give(
        self,
        name: str,
        *,
        material: Material,
        demand: Demand | None = None,
        kind: ResourceType = ResourceType.IMAGE,
        **facts: Any,
    ) -> None:
        """Give a file, or add a demand to a given one."""
        known = self.given.get(name)
        if known is None:
            demands = () if demand is None else (demand,)
            self.given[name] = Given(name=name, type=kind, material=material, demands=demands, **facts)
        elif demand is not None and demand not in known.demands:
            self.given[name] = Given(
                name=name, type=known.type, material=known.material, demands=(*known.demands, demand)
            )


def _thing(facts: Mapping[str, Any], fill: Fill) -> Demand:
    return Demand(
        colour=None if facts.get("any") == "colour" else fill.pick("colour", list(Colour)),
        shape=None if facts.get("any") == "shape" else fill.pick("shape", list(Shape)),
        least=facts.get("least", 1),
        most=facts.get("most", 1),
    )


def _with_article(name: str) -> str:
    return f"{english_article(name)} {name}"


def _sketch(fill: Fill, *, of_figure: bool) -> Sketch:
    """A sketch, described in the style of the grammar's captions."""
    background = fill.pick("background", list(Background))
    colours = [colour for colour in Colour if contrasts(colour=colour, background=background)]
    colour = fill.pick("colour", colours)
    where = f"on {_with_article(BACKGROUNDS[background].english)} background"
    if of_figure:
        text = f"A {colour} figure is {where}.".replace("A orange", "An orange")
        return Sketch(background=background, colour=colour, shape=None, text=text)
    shape = fill.pick("shape", list(Shape))
    other_shape = fill.pick("other shape", [one for one in Shape if one is not shape])
    other_colour = fill.pick("other colour", colours)
    direction = fill.pick("direction", list(Direction))
    subject = _with_article(f"{colour} {shape}")
    text = f"{subject} is {_BESIDE[direction]} {_with_article(f'{other_colour} {other_shape}')} {where}."
    return Sketch(
        background=background, colour=colour, shape=shape, direction=direction, other_colour=other_colour,
        other_shape=other_shape, text=text[0].upper() + text[1:],
    )  # fmt: skip
