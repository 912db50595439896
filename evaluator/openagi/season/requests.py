"""Content of generated requests, before wording.

A request's number determines its stratum. Strata are arranged in blocks of 100, so that each block of each season has
the same compositions. The rest is drawn: degradations, the unneeded input, and the degradations that the request
denies.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import combinations

from evaluator.core.tools.types import ResourceType
from evaluator.openagi.grammar import Base, Degradation


class Composition(StrEnum):
    """Structure of the gold plan."""

    RESTORATION = "restoration"
    """An image is restored."""
    IMAGE_CHAIN = "image_chain"
    """An image is restored as needed, then described."""
    TEXT_CHAIN = "text_chain"
    """A text is completed as needed, then used."""
    TREE = "tree"
    """Two inputs, each repaired as needed, are inputs of one tool."""
    SEVERAL = "several_answers"
    """Several answers from the same inputs; the plan shares their steps."""
    FOREST = "two_inputs_apart"
    """Two inputs with an answer each."""
    NO_TOOL = "no_tool"
    """No tool can meet the request; the gold plan has no steps."""


class Trick(StrEnum):
    """Difficulty in the wording of a request."""

    PLAIN = "plain"
    LOOK = "look"
    """Degradations are described by the look of the image, not by their terms."""
    DETAIL = "unneeded_detail"
    """An irrelevant sentence."""
    DISTRACTOR = "distracting_input"
    """An input that the request calls irrelevant."""
    NEGATION = "negation"
    """The request denies degradations."""
    INTACT = "needs_no_repair"
    """The request mentions repairs and says that none is needed."""
    IMPOSSIBLE = "impossible"
    """See `Composition.NO_TOOL`."""


class Language(StrEnum):
    """Languages of requests and of answers."""

    ENGLISH = "en"
    GERMAN = "de"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """One input."""

    name: str
    """Name of the resource in plans."""
    noun: str
    """`image`, `text`, `document` or `query`, as in the samples."""
    source: Base | None = None
    """Domain task that provides a text; None for an image."""
    degradations: tuple[Degradation, ...] = ()
    """In the order in which the gold plan repairs them."""
    is_clozed: bool = False
    """Whether a word is masked."""
    is_needed: bool = True
    """If not, it is from another sample, and the request says that it is irrelevant."""

    @property
    def kind(self) -> ResourceType:
        return ResourceType.IMAGE if self.noun == "image" else ResourceType.TEXT

    def named(self, name: str) -> "InputSpec":
        """The same input under another name."""
        return replace(self, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpec:
    """One answer."""

    base: Base
    language: Language | None
    """None for an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """The content of a request that its key determines, equal in every season."""

    composition: Composition
    trick: Trick
    spoken: Language
    """Language of the request itself."""
    wanted: tuple[AnswerSpec, ...]
    """The answers in order; if no tool can meet the request, those of a similar request."""
    degradations: int
    """How many degradations the image has."""
    clozed: frozenset[str] = frozenset()
    """Nouns of the inputs in which a word is masked."""

    @property
    def nouns(self) -> tuple[str, ...]:
        """Nouns of the needed inputs, in order."""
        nouns = (noun for answer in self.wanted for noun in NOUNS[answer.base])
        return tuple(dict.fromkeys(nouns))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSpec:
    """The content of a request."""

    stratum: Stratum
    given: tuple[InputSpec, ...]
    """In the order in which the resources are named, unneeded ones included."""
    denied: tuple[Degradation, ...] = ()
    """Degradations that the request says the image does not have."""

    @property
    def needed(self) -> tuple[InputSpec, ...]:
        """The inputs that the gold plan uses."""
        return tuple(given for given in self.given if given.is_needed)

    def input_of(self, noun: str) -> InputSpec:
        """The needed input of this noun."""
        return next(given for given in self.needed if given.noun == noun)


NOUNS: Mapping[Base, tuple[str, ...]] = {
    Base.RESTORATION: ("image",),
    Base.CAPTIONING: ("image",),
    Base.CLASSIFICATION: ("image",),
    Base.DETECTION: ("image",),
    Base.TEXT_TO_IMAGE: ("text",),
    Base.SUMMARIZATION: ("text",),
    Base.TRANSLATION: ("text",),
    Base.SENTIMENT: ("text",),
    Base.VQA: ("image", "query"),
    Base.QA: ("document", "query"),
}
"""The inputs of each domain task, in the order of its tool's arguments."""


BLOCK = 100
"""Requests per block, in which each composition has its share."""
_LAYOUT = "openagi-season layout/1"

_SHARES: tuple[tuple[Composition, int, tuple[Base, ...]], ...] = (
    (Composition.RESTORATION, 13, (Base.RESTORATION,)),
    (Composition.IMAGE_CHAIN, 11, (Base.CAPTIONING,)),
    (Composition.IMAGE_CHAIN, 10, (Base.CLASSIFICATION,)),
    (Composition.IMAGE_CHAIN, 11, (Base.DETECTION,)),
    (Composition.TEXT_CHAIN, 4, (Base.SUMMARIZATION,)),
    (Composition.TEXT_CHAIN, 3, (Base.TRANSLATION,)),
    (Composition.TEXT_CHAIN, 4, (Base.SENTIMENT,)),
    (Composition.TEXT_CHAIN, 3, (Base.TEXT_TO_IMAGE,)),
    (Composition.TREE, 11, (Base.VQA,)),
    (Composition.TREE, 7, (Base.QA,)),
    (Composition.SEVERAL, 2, (Base.CAPTIONING, Base.CLASSIFICATION)),
    (Composition.SEVERAL, 2, (Base.DETECTION, Base.CAPTIONING)),
    (Composition.SEVERAL, 2, (Base.RESTORATION, Base.CAPTIONING)),
    (Composition.SEVERAL, 1, (Base.RESTORATION, Base.DETECTION)),
    (Composition.SEVERAL, 1, (Base.CLASSIFICATION, Base.DETECTION)),
    (Composition.SEVERAL, 1, (Base.VQA, Base.CAPTIONING)),
    (Composition.SEVERAL, 1, (Base.CLASSIFICATION, Base.DETECTION, Base.CAPTIONING)),
    (Composition.FOREST, 2, (Base.CAPTIONING, Base.SUMMARIZATION)),
    (Composition.FOREST, 2, (Base.DETECTION, Base.SENTIMENT)),
    (Composition.FOREST, 1, (Base.CLASSIFICATION, Base.TRANSLATION)),
    (Composition.NO_TOOL, 3, (Base.CAPTIONING,)),
    (Composition.NO_TOOL, 3, (Base.RESTORATION,)),
    (Composition.NO_TOOL, 2, (Base.SUMMARIZATION,)),
)
"""Number of requests of a block by composition and domain tasks; without a tool, those of similar requests."""
_TRICKS_OF_IMAGES = {
    Trick.PLAIN: 10, Trick.LOOK: 25, Trick.DETAIL: 15, Trick.DISTRACTOR: 18, Trick.NEGATION: 17, Trick.INTACT: 15,
}  # fmt: skip
_TRICKS_OF_TEXTS = {Trick.PLAIN: 25, Trick.DETAIL: 30, Trick.DISTRACTOR: 30, Trick.NEGATION: 15}
_GERMAN_REQUESTS = 0.2
_GERMAN_ANSWERS = 0.5
_CLOZED = 0.5

_SEVERAL_OR_SOFT = frozenset(
    frozenset(chosen)
    for count in range(1, len(Degradation) + 1)
    for chosen in combinations(Degradation, count)
    if chosen not in {(Degradation.BLUR,), (Degradation.GRAYSCALE,)}
)
_GRAY_AND_NOISY = frozenset(kinds for kinds in _SEVERAL_OR_SOFT if kinds >= {Degradation.GRAYSCALE, Degradation.NOISE})
UNSOUND: Mapping[Base, frozenset[frozenset[Degradation]]] = {
    Base.RESTORATION: _SEVERAL_OR_SOFT,
    Base.CLASSIFICATION: _GRAY_AND_NOISY,
    Base.DETECTION: _GRAY_AND_NOISY,
}
"""Sets of degradations for which another plan of at most one more step scores higher than the gold restorations.
Determined by executing every sequence of restorations in the miniature world, on 40 to 48 samples for close results:
deblurring, also twice, improves images after super resolution and denoising, and blurred images after colorization.
The gain is 0.005 to 0.127 for images and 0.064 for classes of small, gray, noisy images; the rest of `_GRAY_AND_NOISY`
is within the measurement noise and excluded to be safe."""
_UNNEEDED_TEXTS = (Base.SUMMARIZATION, Base.SENTIMENT)


@cache
def stratum_of(number: int) -> Stratum:
    """The stratum of the request with this number; the same in every season."""
    composition, bases = _block()[number % BLOCK]
    rng = _rng(f"{_LAYOUT} {number}")
    nouns = tuple(dict.fromkeys(noun for base in bases for noun in NOUNS[base]))
    trick = _trick(composition=composition, bases=bases, nouns=nouns, rng=rng)
    can_be_clozed = composition is not Composition.NO_TOOL and (trick is not Trick.NEGATION or "image" in nouns)
    return Stratum(
        composition=composition,
        trick=trick,
        spoken=Language.GERMAN if rng.random() < _GERMAN_REQUESTS else Language.ENGLISH,
        wanted=tuple(_answer_spec(base=base, rng=rng) for base in bases),
        degradations=_count(trick=trick, bases=bases, rng=rng) if "image" in nouns else 0,
        clozed=frozenset(noun for noun in nouns if noun != "image" and can_be_clozed and rng.random() < _CLOZED),
    )


def drawn(*, stratum: Stratum, rng: random.Random) -> RequestSpec:
    """A request of a stratum."""
    degradations = _degradations(stratum=stratum, rng=rng)
    given = [
        InputSpec(name=noun, noun=noun, source=_source(stratum, noun=noun), is_clozed=noun in stratum.clozed)
        if noun != "image"
        else InputSpec(name=noun, noun=noun, degradations=degradations)
        for noun in stratum.nouns
    ]
    if stratum.trick is Trick.DISTRACTOR:
        given = _with_distractor(given=given, rng=rng)
    denied: Sequence[Degradation] = ()
    if stratum.trick is Trick.NEGATION and "image" in stratum.nouns:
        absent = [kind for kind in Degradation if kind not in degradations]
        denied = rng.sample(absent, 1 if degradations else 2)
    return RequestSpec(stratum=stratum, given=tuple(given), denied=tuple(denied))


@cache
def _block() -> tuple[tuple[Composition, tuple[Base, ...]], ...]:
    rows = [(composition, bases) for composition, count, bases in _SHARES for _ in range(count)]
    _rng(_LAYOUT).shuffle(rows)
    return tuple(rows)


def _trick(*, composition: Composition, bases: Sequence[Base], nouns: Sequence[str], rng: random.Random) -> Trick:
    if composition is Composition.NO_TOOL:
        return Trick.IMPOSSIBLE
    shares = dict(_TRICKS_OF_IMAGES if "image" in nouns else _TRICKS_OF_TEXTS)
    if Base.RESTORATION in bases:
        # An image to restore is not intact.
        del shares[Trick.INTACT]
    return rng.choices(list(shares), weights=list(shares.values()))[0]


def _count(*, trick: Trick, bases: Sequence[Base], rng: random.Random) -> int:
    if trick is Trick.INTACT:
        return 0
    if trick is Trick.IMPOSSIBLE:
        return rng.randint(0, 2)
    least = 1 if Base.RESTORATION in bases or trick is Trick.LOOK else 0
    most = len(Degradation) - (trick is Trick.NEGATION)
    return rng.choice([count for count in range(least, most + 1) if _sound(bases=bases, count=count)])


def _answer_spec(*, base: Base, rng: random.Random) -> AnswerSpec:
    if base in (Base.RESTORATION, Base.TEXT_TO_IMAGE):
        return AnswerSpec(base=base, language=None)
    is_german = base is Base.TRANSLATION or rng.random() < _GERMAN_ANSWERS
    return AnswerSpec(base=base, language=Language.GERMAN if is_german else Language.ENGLISH)


def _degradations(*, stratum: Stratum, rng: random.Random) -> tuple[Degradation, ...]:
    is_possible = stratum.composition is not Composition.NO_TOOL
    bases = [wanted.base for wanted in stratum.wanted if is_possible]
    return rng.choice(_sound(bases=bases, count=stratum.degradations))


def _sound(*, bases: Sequence[Base], count: int) -> list[tuple[Degradation, ...]]:
    """The sets of `count` degradations for which the gold plan is the best."""
    unsound = {chosen for base in bases for chosen in UNSOUND.get(base, ())}
    return [chosen for chosen in combinations(Degradation, count) if frozenset(chosen) not in unsound]


def _source(stratum: Stratum, *, noun: str) -> Base:
    return next(wanted.base for wanted in stratum.wanted if noun in NOUNS[wanted.base])


def _with_distractor(*, given: Sequence[InputSpec], rng: random.Random) -> list[InputSpec]:
    """The inputs with an unneeded image or text. Two of a kind are numbered in the order of mention."""
    nouns = {spec.noun for spec in given}
    noun = rng.choice(
        [kind for kind in ("image", "text") if not nouns.issuperset({"image", "text"}) or kind == "image"]
    )
    extra = InputSpec(
        name=noun, noun=noun, source=None if noun == "image" else rng.choice(_UNNEEDED_TEXTS), is_needed=False
    )
    if noun not in nouns:
        return [*given, extra] if rng.random() < 0.5 else [extra, *given]
    place = next(number for number, spec in enumerate(given) if spec.noun == noun)
    pair = [given[place], extra] if rng.random() < 0.5 else [extra, given[place]]
    numbered = [spec.named(f"{noun}_{number}") for number, spec in enumerate(pair, start=1)]
    return [*given[:place], *numbered, *given[place + 1 :]]


def _rng(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - derives nothing secret
