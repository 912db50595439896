"""The corpus of the decomposer: requests with their decompositions, deterministic for seed and number.

A request has one to four clauses. A clause asks for one act of `corpus.toml` on its own image or video, that of the
previous clause, several files, or the result of an earlier clause.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evaluator.controlllm.strategies.trained.kinds import GUIDES, MAPS, Form
from evaluator.controlllm.training.drafting import Draft, Pair, Said, Source, UnreadableError, finished
from evaluator.controlllm.training.wording import (
    TABLE,
    WORDS,
    expand,
    invented,
    patterns,
    pick,
    plural,
    with_article,
)
from evaluator.core.tools.types import ResourceType

_MENTIONS: Mapping[str, Sequence[str]] = TABLE["mentions"]
SIZE = 100_000
"""Number of training pairs."""
_STREAM = 41
_OPENED = 0.25
"""Share of clauses whose files are named before them."""
_SHARES = (0.52, 0.13, 0.25, 0.07, 0.03)
"""Of requests with one clause, one clause about several files, several clauses, a used result, and a comparison."""
_INVENTED = 0.12
"""Share of texts with an invented word."""
_LEFT_OUT = 0.3


@dataclass(slots=True)
class Words:
    """The texts for the slots of one clause, each drawn on first use."""

    draft: Draft
    where: str
    """The words of the clause for its image or video."""
    is_mentioned: bool = False
    """Whether it is named before the clause, so that the clause may omit it."""
    map: str = ""
    guide: str = ""
    mask: str = ""
    marks: dict[str, Said] = field(default_factory=dict)
    _drawn: dict[str, str] = field(default_factory=dict)

    def fill(self, slot: str) -> str:
        """The text of a slot."""
        if slot not in self._drawn:
            self._drawn[slot] = self._draw(slot)
        return self._drawn[slot]

    def _draw(self, slot: str) -> str:
        rng = self.draft.rng
        if slot in {"img", "vid"}:
            return self.where
        if slot == "in":
            if self.is_mentioned and rng.random() < _LEFT_OUT:
                return ""
            return f"{pick(rng, ('in', 'in', 'in', 'in', 'in', 'from', 'on', 'within', 'of'))} {self.where}"
        if slot in {"map", "guide", "mask"}:
            return {"map": self.map, "guide": self.guide, "mask": self.mask}[slot]
        if slot == "map_name":
            return expand(TABLE["map_names"][self.map], rng=rng, fill=self.fill)
        if slot in _MARKED:
            words, form = _MARKED[slot](self.draft)
            text, mark = self.draft.marked(words)
            self.marks["text"] = Said(form, mark)
            return text
        return _unmarked(self.draft, slot)


def _object(draft: Draft) -> str:
    draw = draft.rng.random()
    if draw < _INVENTED:
        return invented(draft.rng)
    name = pick(draft.rng, WORDS["objects"] if draw < 0.75 else WORDS["nouns"])
    return f"{pick(draft.rng, WORDS['adjectives'])} {name}" if draft.rng.random() < 0.08 else name


def _category(draft: Draft) -> str:
    return invented(draft.rng) if draft.rng.random() < _INVENTED else pick(draft.rng, WORDS["nouns"])


def _action(draft: Draft) -> str:
    if draft.rng.random() < _INVENTED:
        return f"{invented(draft.rng)}ing {pick(draft.rng, WORDS['nouns'])}"
    return pick(draft.rng, WORDS["actions"])


def _scene(draft: Draft) -> tuple[str, Form]:
    """A scene in words: usually the object of "shows", else a sentence."""
    rng = draft.rng
    noun = pick(rng, (*WORDS["beings"], *WORDS["nouns"], invented(rng)))
    phrase = f"{pick(rng, WORDS['adjectives'])} {noun}" if rng.random() < 0.5 else noun
    number = rng.random()
    subject = (
        with_article(phrase) if number < 0.7 else f"{pick(rng, ('two', 'three', 'many', 'some'))} {plural(phrase)}"
    )
    place = pick(rng, WORDS["places"])
    if rng.random() < 0.15:
        subject = subject[0].upper() + subject[1:]
        return f"{subject} {'is' if number < 0.7 else 'are'} {place}", Form.SAY
    parts = [subject]
    if rng.random() < 0.35:
        parts.append(pick(rng, WORDS["doing"]))
    if rng.random() < 0.2:
        parts.append(f"and {with_article(_category(draft))}")
    if rng.random() < 0.55:
        parts.append(place)
    if rng.random() < 0.15:
        parts.append(pick(rng, WORDS["styles"]))
    return " ".join(parts), Form.SHOWS


_MARKED: dict[str, Callable[[Draft], tuple[str, Form]]] = {
    "thing": lambda draft: (_object(draft), Form.SAY),
    "things": lambda draft: (plural(_object(draft)), Form.ONE),
    # Only these names distinguish a question for a detector from one for a classifier.
    "coco": lambda draft: (pick(draft.rng, WORDS["objects"]), Form.SAY),
    "cocos": lambda draft: (plural(pick(draft.rng, WORDS["objects"])), Form.ONE),
    "category": lambda draft: (_category(draft), Form.SAY),
    "action": lambda draft: (_action(draft), Form.SAY),
    "scene": _scene,
}


def _unmarked(draft: Draft, slot: str) -> str:
    """Words that are no argument of a subtask."""
    rng = draft.rng
    if slot.startswith("number"):
        return str(int(rng.integers(2, 1000)))
    lists = {
        "noun": (*WORDS["objects"], *WORDS["nouns"]), "nouns": (*WORDS["objects"], *WORDS["nouns"]),
        "being": WORDS["beings"], "doing": WORDS["doing"], "adj": WORDS["adjectives"],
        "topic": (*WORDS["topics"], *WORDS["actions"]), "topic2": WORDS["topics"], "code": WORDS["code"],
        "language": WORDS["languages"],
    }  # fmt: skip
    if slot.startswith("place") or rng.random() < _INVENTED:
        return invented(rng).capitalize() if slot.startswith("place") else invented(rng)
    drawn = pick(rng, lists[slot])
    return plural(drawn) if slot == "nouns" else drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A kind of clause."""

    name: str
    patterns: Sequence[str]
    subtasks: Sequence[Sequence[str]]
    """Kinds of subtasks with their arguments."""
    medium: ResourceType | None
    """Image, video, or none."""
    is_question: bool
    """Whether the sentence itself is an argument of a subtask, with the mark `sentence`."""
    weight: float
    gives_image: bool

    def add(self, draft: Draft, source: Source, words: "Words") -> None:
        """Add the subtasks to a draft."""
        for kind, *arguments in self.subtasks:
            own = [self._argument(name, draft=draft, source=source, words=words) for name in arguments]
            is_segmented = kind == "{map}-map" and words.map == "segmentation"
            draft.add("segment" if is_segmented else kind.format(map=words.map), *own)

    @staticmethod
    def _argument(name: str, *, draft: Draft, source: Source, words: "Words") -> Source | Said:
        if name == "how many":
            return words.marks.get("sentence") or Said(Form.HOW_MANY, words.marks["text"].mark)
        if name in words.marks:
            return words.marks[name]
        if name == "describe":
            return Said(Form.DESCRIBE)
        return {"source": source, "made": len(draft.subtasks) - 1, "mask": words.mask, "guide": words.guide}[name]


def _read_act(name: str, row: Mapping[str, Any]) -> Act:
    medium = row.get("medium", "image")
    return Act(
        name=name,
        patterns=patterns(row["patterns"]),
        subtasks=row["subtasks"],
        medium=ResourceType(medium) if medium else None,
        is_question=row.get("is_question", False),
        weight=row.get("weight", 1.0),
        gives_image=row.get("gives_image", False),
    )


ACTS = tuple(_read_act(name, row) for name, row in TABLE["acts"].items())


def pair_of(number: int, *, seed: int = 0) -> Pair:
    """The pair with this number. Two numbers may give the same request (`decomposer.distinct_pairs`)."""
    rng = np.random.default_rng([_STREAM, seed, number])
    while True:
        draft = Draft(rng=rng)
        try:
            return finished(draft=draft, text=_FORMS[int(rng.choice(len(_FORMS), p=_SHARES))](draft))
        except UnreadableError:
            continue


def _single(draft: Draft) -> str:
    act = _act(draft)
    return _clause(draft, act=act, sources=[_new(draft, act)])


def _of_several(draft: Draft) -> str:
    act = _act(draft)
    if act.medium is None:
        return _clause(draft, act=act, sources=[None])
    files = [
        draft.file(act.medium) for _ in range(int(draft.rng.choice((2, 3, 4, 5, 6), p=(0.4, 0.3, 0.15, 0.1, 0.05))))
    ]
    return _clause(draft, act=act, sources=list(files))


def _together(draft: Draft) -> str:
    """Several clauses, each about its own file or about the previous one."""
    text = ""
    previous: str | None = None
    for number in range(int(draft.rng.choice((2, 3, 4), p=(0.55, 0.33, 0.12)))):
        act = _act(draft)
        same = previous is not None and draft.files[previous] is act.medium and draft.rng.random() < 0.5
        source = previous if same else _new(draft, act)
        clause = _clause(draft, act=act, sources=[source], spoken=same and draft.rng.random() < 0.85)
        text = _joined(draft, text, clause) if number else clause
        previous = source if isinstance(source, str) else previous
    return text


def _made_then(draft: Draft) -> str:
    """A clause that makes an image, and clauses about it."""
    first = pick(draft.rng, [act for act in ACTS if act.gives_image])
    text = _clause(draft, act=first, sources=[_new(draft, first)])
    made = len(draft.subtasks) - 1
    for _ in range(1 + (draft.rng.random() < 0.15)):
        act = pick(draft.rng, [act for act in ACTS if act.medium is ResourceType.IMAGE])
        clause = _clause(draft, act=act, sources=[made], name=pick(draft.rng, _MENTIONS["results"]))
        text = _joined(draft, text, clause)
    return text


def _which(draft: Draft) -> str:
    """Which of several images shows an object: a question about each image."""
    files = [draft.file(ResourceType.IMAGE) for _ in range(int(draft.rng.choice((2, 3))))]
    text, mark = draft.marked(pick(draft.rng, WORDS["objects"]))
    for name in files:
        draft.add("ask", name, Said(Form.IS_THERE, mark))
    listed, article = _listed(draft, files), with_article(text[2:]).split(" ")[0]
    wording = pick(draft.rng, _MENTIONS["comparisons"])
    slots = {"files": listed, "article": article, "thing": text}
    return expand(wording, rng=draft.rng, fill=slots.__getitem__)


_FORMS = (_single, _of_several, _together, _made_then, _which)


def _act(draft: Draft) -> Act:
    weights = np.array([act.weight for act in ACTS])
    return ACTS[int(draft.rng.choice(len(ACTS), p=weights / weights.sum()))]


def _new(draft: Draft, act: Act) -> str | None:
    return None if act.medium is None else draft.file(act.medium)


def _listed(draft: Draft, files: list[str]) -> str:
    return f"{', '.join(files[:-1])}{pick(draft.rng, (' and ', ' and ', ', and ', ', ', ' & '))}{files[-1]}"


def _clause(
    draft: Draft, *, act: Act, sources: Sequence[Source | None],
    spoken: bool = False, name: str = "",
) -> str:  # fmt: skip
    """The text of a clause; adds its subtasks for each source."""
    rng = draft.rng
    opener, where = "", name
    if not name and sources[0] is not None:
        opener, where = _mentioned(draft, files=[str(source) for source in sources], spoken=spoken)
    kind = pick(rng, MAPS if act.name == "make_map" else GUIDES)
    words = Words(draft=draft, where=where, map=str(kind))
    if act.name == "follow_given":
        words.guide = draft.file(kind)
    if act.name == "erase_masked":
        words.mask = draft.file(ResourceType.MASK)
    words.is_mentioned = bool(opener) or spoken
    pattern = pick(rng, act.patterns)
    body = expand(pattern[1:], rng=rng, fill=words.fill)
    several = len(sources) > 1
    sentence = _framed(
        draft, act=act, sign=pattern[0], body=body, words=words, opener=opener, marks=not several or bool(opener)
    )
    own = words
    for source in sources:
        if several and act.name == "count":
            own = replace(words, marks={"text": words.marks["text"]})
        act.add(draft, source if source is not None else "", own)
    return sentence


def _mentioned(draft: Draft, *, files: list[str], spoken: bool) -> tuple[str, str]:
    """An optional opener that names the files, and the words of the clause for them."""
    rng, medium = draft.rng, pick(draft.rng, TABLE["media"][draft.files[files[0]]])
    several = len(files) > 1
    listed = _listed(draft, files) if several else files[0]
    if spoken:
        return "", pick(rng, _MENTIONS["spoken"]).format(medium=medium)
    if rng.random() < _OPENED:
        opener = pick(rng, _MENTIONS["openers_of_several"] if several else _MENTIONS["openers"])
        called = pick(rng, _MENTIONS["spoken_of_several"] if several else _MENTIONS["spoken"])
        return opener.format(file=listed, medium=medium), called.format(medium=medium)
    named = pick(rng, _MENTIONS["named_several"] if several else _MENTIONS["named"])
    return "", named.format(file=listed, medium=medium)


def _framed(draft: Draft, *, act: Act, sign: str, body: str, words: Words, opener: str, marks: bool) -> str:
    """The clause as a sentence, marked if it is a question for a tool."""
    rng = draft.rng
    frame = pick(rng, TABLE["frames"][sign])
    if opener and not opener.endswith(". "):
        frame = frame.replace("{C}", "{c}")
    is_whole = not (sign == "?" and frame.startswith(("tell", "please", "a question", "I wonder", "quick", "and")))
    if not act.is_question or (not marks and act.name == "count"):
        return opener + _capital(frame.format(c=body, C=_capital(body)), keep=bool(opener) and opener[-2] in ",:")
    if is_whole:
        text = _capital(frame.format(c=body, C=_capital(body)), keep=bool(opener) and opener[-2] in ",:")
        bare = text.rstrip(".?!")
        marked, mark = draft.marked(bare)
        text = marked + text[len(bare) :]
    else:
        marked, mark = draft.marked(body)
        text = frame.format(c=marked, C=marked)
    words.marks["sentence"] = Said(Form.SAY, mark)
    return opener + text


def _joined(draft: Draft, said: str, clause: str) -> str:
    joint = pick(draft.rng, _MENTIONS["joints"])
    before = said.rstrip(".?! ")
    if said[len(before) :].strip() not in {"", "."} or joint[0] not in ".,; ":
        joint = f"{said[len(before) :].strip() or '.'}{joint.lstrip('.,;')}"
        joint = joint if joint.endswith((" ", "\n")) else f"{joint} "
    return f"{before}{joint}{clause}"


def _capital(text: str, *, keep: bool = False) -> str:
    """The text with its first letter, after any marks, capitalised."""
    if keep:
        return text
    for place, character in enumerate(text):
        if character.isalpha() and ord(character) < 0xE000:
            return text[:place] + character.upper() + text[place + 1 :]
        if not 0xE000 <= ord(character) < 0xF900:
            break
    return text
