"""Questions about pictures on the hidden split: indirect, with conditions on backgrounds and numbers of things."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.core.suites.rewording import Rewording
from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.hidden.grammar import Grammar, sentence
from evaluator.lumos.mini.hidden.verbs import past_of
from evaluator.lumos.mini.scenes import IMAGE, KINDS, NOTICE, OTHER, scenes_of, shapes_of
from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.german import with_article
from evaluator.miniature.grammar.labels import BACKGROUNDS, NUMBERS
from evaluator.miniature.grammar.questions import Question, draw_question
from evaluator.miniature.grammar.words import VERBS
from evaluator.miniature.seeds import one_of, some_of
from evaluator.miniature.vocabulary import Background, Shape

if TYPE_CHECKING:
    from evaluator.miniature.scenes import Scene

_LOOKING: Mapping[str, tuple[str, ...]] = {
    "What colour is the background?": ("name the colour behind everything", "state what colour lies behind all things"),
    "What colour is the {shape}?": ("name the colour of the {shape}", "state in which colour the {shape} is painted"),
    "What shape is the {colour} thing?": (
        "name the shape that is {colour}",
        "state which shape has the colour {colour}",
    ),
    "What is {direction} the {shape}?": (
        "name the thing, with its colour, {direction} the {shape}",
        "state colour and shape of whatever is {direction} the {shape}",
    ),
    "How many things are there?": ("give the number of things, in a word", "state, as a word, the count of all things"),
    "Is there {shape}?": (
        "say by yes or no whether {shape} occurs",
        "decide by yes or no whether {shape} is among the things",
    ),
    "Is the {shape} {direction} the {other}?": (
        "say by yes or no whether the place of the {shape} is {direction} the {other}",
        "decide by yes or no whether the {shape} lies {direction} the {other}",
    ),
}  # fmt: skip
_READING: Mapping[str, tuple[str, ...]] = {
    "Who {verb} the {thing}?": ("name whoever {verb} the {thing}", "state by name who it was that {verb} the {thing}"),
    "What did {person} {verb}?": (
        "name the thing that {person} {verb}",
        "state which thing it was that {person} {verb}",
    ),
    "Where did {person} {verb} something?": (
        "name the place at which {person} {verb} something", "state the scene where {person} {verb} something",
    ),
    "On which day did {person} {verb} something?": (
        "name the weekday that {person} {verb} something", "state the weekday when {person} {verb} something",
    ),
    "How much did the {thing} cost?": ("name the price of the {thing}", "state for how many coins the {thing} went"),
}  # fmt: skip
_DIRECT = (
    "There is the picture {image}; {asked}.",
    "From the picture {image} alone, {asked}.",
    "Go by what {image} shows, and {asked}.",
)
_CONDITIONAL = (
    "Should {shape} appear in {image}, {asked}; should it not, {other}.",
    "Look for {shape} in {image}. Without it, {other}. With it, {asked}.",
    "{image} may or may not have {shape}: {asked} if it has, and {other} if it has not.",
)
_BY_NUMBER = (
    "The number of things in {image} is {number}? Then {asked}, by the text {notice}. If it is another, "
    "{other}, by the "
    "same text.",
    "By the text {notice}, {other}. But this holds only for another number of things in {image} than {number}; for "
    "{number}, {asked}.",
)
_BY_BACKGROUND = (
    "Is the background of {image} {colour}? Then {asked}, by the text {notice}. If it is another, {other}, by the same "
    "text.",
    "By the text {notice}, {other}. But this holds only for another background of {image} than a {colour} one; for a "
    "{colour} one, {asked}.",
)
_BACKGROUND_OF_TWO = (
    "Between {image} and {other_image}, choose the picture with the {colour} background, and {asked} there.",
    "Leave aside the one of {image} and {other_image} whose background is not {colour}. On what remains, {asked}.",
)
_LACKING = (
    "Either {image} or {other_image} lacks {shape}. On the one that lacks it, {asked}.",
    "Just one of {image} and {other_image} has {shape}. Leave it aside, and on what remains {asked}.",
)
_MORE = (
    "Count the things on {image} and on {other_image}. On the picture with more of them, {asked}.",
    "{image} and {other_image} differ in how many things they have. On the fuller picture, {asked}.",
)


def draw_picture_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the question with this number. Attempts give questions of the same kind about the same pictures."""
    return _DRAWERS[KINDS[index % len(KINDS)]](_Draft(source, index=index, attempt=attempt))


class _Draft:
    """A question about the scenes and the notice of its number."""

    def __init__(self, source: Source, *, index: int, attempt: int) -> None:
        self.grammar, self.index = Grammar(source), index
        self.rng = self.grammar.stream("picture question", index, attempt)
        self.scenes = scenes_of(source=source, number=index)
        self.notice = draw_document(source.stream("notice", index))

    def looking(self, scene: "Scene") -> Question:
        """A random question about a scene."""
        return draw_question(scene=scene, rng=self.rng)

    def asked(self, question: Question) -> str:
        """A question in the season's words."""
        text = self._in_other_words(question.text, _LOOKING) or self._in_other_words(question.text, _READING)
        assert text is not None, question.text
        for verb in VERBS:
            for form in (verb.english_infinitive, verb.past.english):
                text = text.replace(f" {form} ", f" {past_of(verb, grammar=self.grammar)} ")
                if text.endswith(f" {form}"):
                    text = text.removesuffix(form) + past_of(verb, grammar=self.grammar)
        return text

    def _in_other_words(self, text: str, wordings: Mapping[str, tuple[str, ...]]) -> str | None:
        spoken = {pattern: (self.grammar.wording(pattern, others),) for pattern, others in wordings.items()}
        for pattern, (other,) in spoken.items():
            said = Rewording({pattern: (other,)}).read(text)
            if said:
                return other.format(**dict(said[0].slots))
        return None

    def wording(self, name: str, wordings: tuple[str, ...], **slots: str) -> str:
        """One of the season's wordings."""
        text = one_of(self.rng, self.grammar.part(f"scenes {name}", wordings)).format(**slots)
        return ". ".join(sentence(part) for part in text.split(". "))

    def drawn(self, *, text: str, answer: str, turns: tuple[GoldTurn, ...], kind: str) -> Drawn:
        """The task."""
        pictures = {"question": (IMAGE,), "notice": (IMAGE, NOTICE), "two pictures": (IMAGE, OTHER)}[kind]
        return Drawn(text=text, answer=answer, gold=turns, kind=kind, scope=f"scenes {self.index}", pictures=pictures)


def _look(number: int, *, name: str, question: str) -> GoldTurn:
    return GoldTurn(f"Look at {name} to answer: {question}", f"R{number} = VQA([{name}], Question: {question})")


def _question(draft: _Draft) -> Drawn:
    """One question, or one of two by what the picture shows."""
    scene = draft.scenes[IMAGE]
    first = draft.looking(scene)
    if draft.rng.random() < 0.4:
        text = draft.wording("direct", _DIRECT, image=IMAGE, asked=draft.asked(first))
        turn = _look(1, name=IMAGE, question=first.text)
        return draft.drawn(text=text, answer=first.answer.english, turns=(turn,), kind="question")
    second = draft.looking(scene)
    while second.text == first.text:
        second = draft.looking(scene)
    shape, is_there = _shape(draft, shapes_of(scene))
    right, wrong = first, second
    text = draft.wording(
        "conditional", _CONDITIONAL, image=IMAGE, shape=with_article(shape),
        asked=draft.asked(right if is_there else wrong), other=draft.asked(wrong if is_there else right),
    )  # fmt: skip
    turns = (
        _look(1, name=IMAGE, question=f"Is there {with_article(shape)}?"),
        _look(2, name=IMAGE, question=right.text),
    )
    return draft.drawn(text=text, answer=right.answer.english, turns=turns, kind="question")


def _shape(draft: _Draft, present: frozenset[Shape]) -> tuple[Shape, bool]:
    """A shape that is there or not, and whether it is."""
    is_there = bool(draft.rng.random() < 0.5)
    return one_of(draft.rng, sorted(present if is_there else set(Shape) - present)), is_there


def _notice(draft: _Draft) -> Drawn:
    """One of two questions about a text, by the number of things or the background."""
    scene = draft.scenes[IMAGE]
    right, wrong = (draw_document_question(document=draft.notice, rng=draft.rng).question for _ in range(2))
    while wrong.text == right.text:
        wrong = draw_document_question(document=draft.notice, rng=draft.rng).question
    holds = bool(draft.rng.random() < 0.5)
    asked, other = (draft.asked(question) for question in ((right, wrong) if holds else (wrong, right)))
    if draft.rng.random() < 0.5:
        count = len(scene.things)
        shown = count if holds else one_of(draft.rng, [number for number in (2, 3, 4) if number != count])
        question = "How many things are there?"
        text = draft.wording(
            "number", _BY_NUMBER, image=IMAGE, notice=NOTICE, number=NUMBERS[shown].english, asked=asked, other=other
        )
    else:
        background = scene.background if holds else one_of(draft.rng, [b for b in Background if b != scene.background])
        question = "What colour is the background?"
        text = draft.wording(
            "background", _BY_BACKGROUND, image=IMAGE, notice=NOTICE, colour=BACKGROUNDS[background].english,
            asked=asked, other=other,
        )  # fmt: skip
    turns = (
        _look(1, name=IMAGE, question=question),
        GoldTurn(f"Answer from {NOTICE}: {right.text}", f"R2 = QA([{NOTICE}], Question: {right.text})"),
    )
    return draft.drawn(text=text, answer=right.answer.english, turns=turns, kind="notice")


def _two(draft: _Draft) -> Drawn:
    """A question about one of two pictures, chosen by its background, a shape that it lacks, or its number "
    "of things."""
    names = some_of(draft.rng, (IMAGE, OTHER), count=2)
    choices = [(right, choice) for right in names for choice in _CHOICES if choice.applies(*_ordered(draft, right))]
    right, choice = one_of(draft.rng, choices)
    shape = next(iter(sorted(shapes_of(_ordered(draft, right)[1]) - shapes_of(draft.scenes[right]))), None)
    lacked = "" if shape is None else with_article(shape)
    question = draft.looking(draft.scenes[right])
    text = draft.wording(
        choice.name, choice.wordings, image=IMAGE, other_image=OTHER, asked=draft.asked(question), shape=lacked,
        colour=BACKGROUNDS[draft.scenes[right].background].english,
    )  # fmt: skip
    looks = [_look(number, name=name, question=choice.question.format(shape=lacked))
             for number, name in enumerate((IMAGE, OTHER)[: choice.looks], start=1)]  # fmt: skip
    turns = (*looks, _look(len(looks) + 1, name=right, question=question.text))
    return draft.drawn(text=text, answer=question.answer.english, turns=turns, kind="two pictures")


def _ordered(draft: _Draft, right: str) -> tuple["Scene", "Scene"]:
    """The chosen scene and the other one."""
    return draft.scenes[right], draft.scenes[OTHER if right == IMAGE else IMAGE]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """A condition that one of two pictures meets."""

    name: str
    wordings: tuple[str, ...]
    question: str
    looks: int
    """Number of pictures to look at."""
    applies: "Callable[[Scene, Scene], bool]"
    """Whether only the first of two scenes meets it."""


_CHOICES = (
    _Choice(
        name="background", wordings=_BACKGROUND_OF_TWO, question="What colour is the background?", looks=1,
        applies=lambda right, other: right.background != other.background,
    ),
    _Choice(
        name="lacking", wordings=_LACKING, question="Is there {shape}?", looks=1,
        applies=lambda right, other: bool(shapes_of(other) - shapes_of(right)),
    ),
    _Choice(
        name="more", wordings=_MORE, question="How many things are there?", looks=2,
        applies=lambda right, other: len(right.things) > len(other.things),
    ),
)  # fmt: skip
_DRAWERS: Mapping[str, Callable[[_Draft], Drawn]] = {
    "question": _question,
    "notice": _notice,
    "two pictures": _two,
}
