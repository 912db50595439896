"""What a generated request is about, before it is put into words.

A number has a stratum, and a stratum has requests. The strata are laid out in blocks of 100, so that each block of each
season has the same compositions. What a stratum leaves open (which degradations, which input is not needed, what the
image is said not to be) is drawn.
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
    """How the right plan is put together."""

    RESTORATION = "restoration"
    """An image is restored."""
    IMAGE_CHAIN = "image_chain"
    """An image is restored as far as needed, then put into words."""
    TEXT_CHAIN = "text_chain"
    """A text is completed as far as needed, then used."""
    TREE = "tree"
    """Two inputs, each repaired as far as needed, meet in one tool."""
    SEVERAL = "several_answers"
    """Several answers from the same inputs; the plan shares their steps."""
    FOREST = "two_inputs_apart"
    """Two inputs with an answer each."""
    NO_TOOL = "no_tool"
    """No tool can meet the request; the right plan has no steps."""


class Trick(StrEnum):
    """What makes a request harder to read."""

    PLAIN = "plain"
    LOOK = "look"
    """Degradations are named by how the image looks, not by their terms."""
    DETAIL = "unneeded_detail"
    """A sentence that changes nothing."""
    DISTRACTOR = "distracting_input"
    """A further input that the request says is not needed."""
    NEGATION = "negation"
    """The request says what is not the case."""
    INTACT = "needs_no_repair"
    """Repairs are mentioned, and the request says that they are not needed."""
    IMPOSSIBLE = "impossible"
    """See `Composition.NO_TOOL`."""


class Language(StrEnum):
    """Languages of requests and of answers."""

    ENGLISH = "en"
    GERMAN = "de"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One input."""

    name: str
    """The resource, as plans name it."""
    noun: str
    """`image`, `text`, `document` or `query`: what it is, and what the samples call it."""
    source: Base | None = None
    """The domain task whose samples a text is from; None for an image."""
    degradations: tuple[Degradation, ...] = ()
    """In the order in which the gold plan undoes them."""
    is_clozed: bool = False
    """Whether a word is masked."""
    is_needed: bool = True
    """Otherwise it is from another sample than the rest, and the request says that it does not matter."""

    @property
    def kind(self) -> ResourceType:
        return ResourceType.IMAGE if self.noun == "image" else ResourceType.TEXT

    def named(self, name: str) -> "Given":
        """The same input under another name."""
        return replace(self, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One answer."""

    base: Base
    language: Language | None
    """None for an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """What a request is about as far as its key decides it: equal in every season."""

    composition: Composition
    trick: Trick
    spoken: Language
    """Language of the request itself."""
    wanted: tuple[Wanted, ...]
    """The answers in order. Where no tool can meet the request, what it resembles."""
    degradations: int
    """How many degradations the image has."""
    clozed: frozenset[str] = frozenset()
    """Nouns of the inputs in which a word is masked."""

    @property
    def nouns(self) -> tuple[str, ...]:
        """What the needed inputs are, in order."""
        found = (noun for wanted in self.wanted for noun in NOUNS[wanted.base])
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """All that a request says."""

    stratum: Stratum
    given: tuple[Given, ...]
    """In the order in which the resources are named, unneeded ones included."""
    denied: tuple[Degradation, ...] = ()
    """Degradations that the request says the image does not have."""

    @property
    def needed(self) -> tuple[Given, ...]:
        """The inputs that the right plan uses."""
        return tuple(given for given in self.given if given.is_needed)

    def input_of(self, noun: str) -> Given:
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
"""Requests in which each composition has its share."""
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
"""How many requests of a block have a composition and its domain tasks; without a tool, what they resemble."""
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
_GRAY_AND_NOISY = frozenset(one for one in _SEVERAL_OR_SOFT if one >= {Degradation.GRAYSCALE, Degradation.NOISE})
UNSOUND: Mapping[Base, frozenset[frozenset[Degradation]]] = {
    Base.RESTORATION: _SEVERAL_OR_SOFT,
    Base.CLASSIFICATION: _GRAY_AND_NOISY,
    Base.DETECTION: _GRAY_AND_NOISY,
}
"""Sets of degradations from which the gold restorations are not the best way to an answer: another plan of at most one
step more scores higher. Found by executing every sequence of restorations in the miniature world, on 40 to 48 samples
where it was close: what super resolution and denoising leave soft gains from deblurring, also from a second one, and so
does a blurred image after colorization. By how much: 0.005 to 0.127 for images, 0.064 for the classes of small, gray,
noisy ones; the rest of `_GRAY_AND_NOISY` is within the noise of the measurement, and left out to be safe."""
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
        wanted=tuple(_wanted(base=base, rng=rng) for base in bases),
        degradations=_count(trick=trick, bases=bases, rng=rng) if "image" in nouns else 0,
        clozed=frozenset(noun for noun in nouns if noun != "image" and can_be_clozed and rng.random() < _CLOZED),
    )


def drawn(*, stratum: Stratum, rng: random.Random) -> Wish:
    """A request of a stratum."""
    degradations = _degradations(stratum=stratum, rng=rng)
    given = [
        Given(name=noun, noun=noun, source=_source(stratum, noun=noun), is_clozed=noun in stratum.clozed)
        if noun != "image"
        else Given(name=noun, noun=noun, degradations=degradations)
        for noun in stratum.nouns
    ]
    if stratum.trick is Trick.DISTRACTOR:
        given = _with_distractor(given=given, rng=rng)
    denied: Sequence[Degradation] = ()
    if stratum.trick is Trick.NEGATION and "image" in stratum.nouns:
        absent = [kind for kind in Degradation if kind not in degradations]
        denied = rng.sample(absent, 1 if degradations else 2)
    return Wish(stratum=stratum, given=tuple(given), denied=tuple(denied))


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
        # What is to be restored is not intact.
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


def _wanted(*, base: Base, rng: random.Random) -> Wanted:
    if base in (Base.RESTORATION, Base.TEXT_TO_IMAGE):
        return Wanted(base=base, language=None)
    is_german = base is Base.TRANSLATION or rng.random() < _GERMAN_ANSWERS
    return Wanted(base=base, language=Language.GERMAN if is_german else Language.ENGLISH)


def _degradations(*, stratum: Stratum, rng: random.Random) -> tuple[Degradation, ...]:
    is_possible = stratum.composition is not Composition.NO_TOOL
    bases = [wanted.base for wanted in stratum.wanted if is_possible]
    return rng.choice(_sound(bases=bases, count=stratum.degradations))


def _sound(*, bases: Sequence[Base], count: int) -> list[tuple[Degradation, ...]]:
    """The sets of so many degradations for which the gold plan is the best."""
    unsound = {chosen for base in bases for chosen in UNSOUND.get(base, ())}
    return [chosen for chosen in combinations(Degradation, count) if frozenset(chosen) not in unsound]


def _source(stratum: Stratum, *, noun: str) -> Base:
    return next(wanted.base for wanted in stratum.wanted if noun in NOUNS[wanted.base])


def _with_distractor(*, given: Sequence[Given], rng: random.Random) -> list[Given]:
    """The inputs with an image or a text that is not needed. Two of a kind are numbered in the order of mention."""
    there = {one.noun for one in given}
    noun = rng.choice(
        [kind for kind in ("image", "text") if not there.issuperset({"image", "text"}) or kind == "image"]
    )
    extra = Given(
        name=noun, noun=noun, source=None if noun == "image" else rng.choice(_UNNEEDED_TEXTS), is_needed=False
    )
    if noun not in there:
        return [*given, extra] if rng.random() < 0.5 else [extra, *given]
    place = next(number for number, one in enumerate(given) if one.noun == noun)
    pair = [given[place], extra] if rng.random() < 0.5 else [extra, given[place]]
    numbered = [one.named(f"{noun}_{number}") for number, one in enumerate(pair, start=1)]
    return [*given[:place], *numbered, *given[place + 1 :]]


def _rng(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - says nothing secret
