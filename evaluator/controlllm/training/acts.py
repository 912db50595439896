"""What requests ask for: wordings, and the subtasks that they lead to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evaluator.controlllm.strategies.trained.kinds import Form
from evaluator.controlllm.training import phrasebook, questions, vocabulary
from evaluator.controlllm.training.drafting import Draft, Said, Source
from evaluator.controlllm.training.vocabulary import invented, pick, plural, with_article
from evaluator.controlllm.training.wording import expand
from evaluator.core.tools.types import ResourceType

_INVENTED = 0.12
"""Share of texts that hold a word that no language has."""


_LEFT_OUT = 0.3


@dataclass(slots=True)
class Words:
    """What fills the slots of one clause, each drawn when it is first asked for."""

    draft: Draft
    where: str
    """The image or video, as the clause calls it."""
    is_mentioned: bool = False
    """Whether it is named before the clause, which then need not say where."""
    map: str = ""
    guide: str = ""
    mask: str = ""
    marks: dict[str, Said] = field(default_factory=dict)
    _drawn: dict[str, str] = field(default_factory=dict)

    def fill(self, slot: str) -> str:
        """The text of a slot; the same each time."""
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
            return expand(phrasebook.MAP_NAMES[self.map], rng=rng, fill=self.fill)
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
    name = pick(draft.rng, vocabulary.OBJECTS if draw < 0.75 else vocabulary.NOUNS)
    return f"{pick(draft.rng, vocabulary.ADJECTIVES)} {name}" if draft.rng.random() < 0.08 else name


def _category(draft: Draft) -> str:
    return invented(draft.rng) if draft.rng.random() < _INVENTED else pick(draft.rng, vocabulary.NOUNS)


def _action(draft: Draft) -> str:
    if draft.rng.random() < _INVENTED:
        return f"{invented(draft.rng)}ing {pick(draft.rng, vocabulary.NOUNS)}"
    return pick(draft.rng, vocabulary.ACTIONS)


def _scene(draft: Draft) -> tuple[str, Form]:
    """A scene in words: mostly what a picture "shows", else a sentence of its own."""
    rng = draft.rng
    who = pick(rng, (*vocabulary.BEINGS, *vocabulary.NOUNS, invented(rng)))
    named = f"{pick(rng, vocabulary.ADJECTIVES)} {who}" if rng.random() < 0.5 else who
    number = rng.random()
    subject = with_article(named) if number < 0.7 else f"{pick(rng, ('two', 'three', 'many', 'some'))} {plural(named)}"
    place = pick(rng, vocabulary.PLACES)
    if rng.random() < 0.15:
        subject = subject[0].upper() + subject[1:]
        return f"{subject} {'is' if number < 0.7 else 'are'} {place}", Form.SAY
    parts = [subject]
    if rng.random() < 0.35:
        parts.append(pick(rng, vocabulary.DOING))
    if rng.random() < 0.2:
        parts.append(f"and {with_article(_category(draft))}")
    if rng.random() < 0.55:
        parts.append(place)
    if rng.random() < 0.15:
        parts.append(pick(rng, vocabulary.STYLES))
    return " ".join(parts), Form.SHOWS


_MARKED: dict[str, Callable[[Draft], tuple[str, Form]]] = {
    "thing": lambda draft: (_object(draft), Form.SAY),
    "things": lambda draft: (plural(_object(draft)), Form.ONE),
    # Only these names tell a question for a detector from one for a classifier.
    "coco": lambda draft: (pick(draft.rng, vocabulary.OBJECTS), Form.SAY),
    "cocos": lambda draft: (plural(pick(draft.rng, vocabulary.OBJECTS)), Form.ONE),
    "category": lambda draft: (_category(draft), Form.SAY),
    "action": lambda draft: (_action(draft), Form.SAY),
    "scene": _scene,
}


def _unmarked(draft: Draft, slot: str) -> str:
    """Words that no subtask takes by themselves."""
    rng = draft.rng
    if slot.startswith("number"):
        return str(int(rng.integers(2, 1000)))
    lists = {
        "noun": (*vocabulary.OBJECTS, *vocabulary.NOUNS), "nouns": (*vocabulary.OBJECTS, *vocabulary.NOUNS),
        "being": vocabulary.BEINGS, "doing": vocabulary.DOING, "adj": vocabulary.ADJECTIVES,
        "topic": (*vocabulary.TOPICS, *vocabulary.ACTIONS), "topic2": vocabulary.TOPICS, "code": vocabulary.CODE,
        "language": vocabulary.LANGUAGES,
    }  # fmt: skip
    if slot.startswith("place") or rng.random() < _INVENTED:
        return invented(rng).capitalize() if slot.startswith("place") else invented(rng)
    drawn = pick(rng, lists[slot])
    return plural(drawn) if slot == "nouns" else drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that may be asked of an image, a video, or nothing."""

    patterns: Sequence[str]
    add: Callable[[Draft, Source, Words], int]
    """Adds the subtasks, and returns the number of the last one."""
    medium: ResourceType | None = ResourceType.IMAGE
    is_question: bool = False
    """Whether the sentence itself is what a subtask takes, as the mark `sentence`."""
    weight: float = 1.0
    gives_image: bool = False


def _one(kind: str) -> Callable[[Draft, Source, Words], int]:
    return lambda draft, source, words: draft.add(kind, source, words.marks["text"])


def _bare(kind: str) -> Callable[[Draft, Source, Words], int]:
    return lambda draft, source, _words: draft.add(kind, source)


def _contain(draft: Draft, source: Source, words: Words) -> int:
    return draft.add("draw-found", source, draft.add("find-boxes", source, words.marks["text"]))


def _count(draft: Draft, source: Source, words: Words) -> int:
    draft.add("count", source, words.marks["text"])
    thing = words.marks["text"]
    return draft.add("ask", source, words.marks.get("sentence") or Said(Form.HOW_MANY, thing.mark))


def _ask(draft: Draft, source: Source, words: Words) -> int:
    return draft.add("ask", source, words.marks["sentence"])


def _answer(draft: Draft, source: Source, words: Words) -> int:
    del source
    return draft.add("answer", words.marks["sentence"])


def _erase(draft: Draft, source: Source, words: Words) -> int:
    return draft.add("erase", source, draft.add("mask", source, words.marks["text"]))


def _cut_out(draft: Draft, source: Source, words: Words) -> int:
    return draft.add("cut-out", source, draft.add("mask", source, words.marks["text"]))


def _follow_made(draft: Draft, source: Source, words: Words) -> int:
    guide = draft.add("segment" if words.map == "segmentation" else f"{words.map}-map", source)
    return draft.add(f"follow-{words.map}", guide, words.marks["text"])


ACTS: tuple[Act, ...] = (
    Act(patterns=phrasebook.LOCATE, add=_one("draw-boxes"), weight=1.3, gives_image=True),
    Act(patterns=phrasebook.CONTAIN, add=_contain, weight=0.5),
    Act(patterns=phrasebook.CROP, add=_one("crop"), weight=0.6, gives_image=True),
    Act(patterns=phrasebook.COUNT, add=_count, is_question=True, weight=1.2),
    Act(patterns=questions.ABOUT_IMAGES, add=_ask, is_question=True, weight=1.8),
    Act(
        patterns=phrasebook.DESCRIBE,
        add=lambda draft, source, _words: draft.add("ask", source, Said(Form.DESCRIBE)),
        weight=0.5,
    ),
    Act(patterns=questions.ABOUT_ANYTHING, add=_answer, medium=None, is_question=True, weight=1.3),
    Act(patterns=phrasebook.RECOGNISE, add=_bare("recognise"), weight=1.0),
    Act(patterns=phrasebook.RECOGNISE_ONE, add=_one("recognise-one"), weight=0.9),
    Act(patterns=phrasebook.ACTION, add=_one("action"), medium=ResourceType.VIDEO, weight=1.2),
    Act(patterns=phrasebook.ACTIONS, add=_bare("actions"), medium=ResourceType.VIDEO, weight=0.8),
    Act(patterns=phrasebook.MASK, add=_one("mask"), weight=1.0),
    Act(patterns=phrasebook.SEGMENT, add=_bare("segment"), weight=0.6),
    Act(patterns=phrasebook.ERASE, add=_erase, weight=1.0, gives_image=True),
    Act(
        patterns=phrasebook.ERASE_MASKED,
        add=lambda draft, source, words: draft.add("erase", source, words.mask),
        weight=0.4,
        gives_image=True,
    ),
    Act(patterns=phrasebook.CUT_OUT, add=_cut_out, weight=1.0, gives_image=True),
    Act(
        patterns=phrasebook.GENERATE,
        add=lambda draft, _source, words: draft.add("generate", words.marks["text"]),
        medium=None,
        weight=1.0,
        gives_image=True,
    ),
    Act(patterns=phrasebook.SIMILAR, add=_bare("similar"), weight=0.5, gives_image=True),
    Act(
        patterns=phrasebook.MAKE_MAP,
        add=lambda draft, source, words: draft.add(f"{words.map}-map", source),
        weight=1.2,
    ),
    Act(
        patterns=phrasebook.FOLLOW_GIVEN,
        add=lambda draft, _source, words: draft.add(f"follow-{words.map}", words.guide, words.marks["text"]),
        medium=None,
        weight=0.7,
        gives_image=True,
    ),
    Act(patterns=phrasebook.FOLLOW_MADE, add=_follow_made, weight=0.9, gives_image=True),
)
