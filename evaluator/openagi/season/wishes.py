"""What a generated request is about, before it is put into words."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

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
