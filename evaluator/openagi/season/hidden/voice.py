"""One language of a hidden request: phrases with their slots filled, and references to the inputs."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.openagi.season.requests import InputSpec, Language

_SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_CONTRACTED = {"in dem": "im", "an dem": "am", "von dem": "vom", "zu dem": "zum", "bei dem": "beim"}
_CONTRACTION = re.compile(rf"\b({'|'.join(_CONTRACTED)})(?= [A-ZÄÖÜ])")
_DEFINITE = {
    "m": {"nom": "der", "acc": "den", "dat": "dem"},
    "n": {"nom": "das", "acc": "das", "dat": "dem"},
    "f": {"nom": "die", "acc": "die", "dat": "der"},
}
_INDEFINITE = {
    "m": {"nom": "ein", "acc": "einen"},
    "n": {"nom": "ein", "acc": "ein"},
    "f": {"nom": "eine", "acc": "eine"},
}
_PRONOUNS = {
    "m": {"nom": "er", "acc": "ihn", "dat": "ihm"},
    "n": {"nom": "es", "acc": "es", "dat": "ihm"},
    "f": {"nom": "sie", "acc": "sie", "dat": "ihr"},
}
_NOUN, _PRONOUN, _NAME_AT_FIRST = 0.65, 0.7, 0.5
"""Chances of a noun instead of the input's name, of a pronoun where it is clear, and of a lone input's name."""


class Voice:
    """Fills phrases in one language. An input keeps its noun throughout a request.

    Args:
        language: of the phrases.
        lexicon: of the season.
        inputs: those of the request.
        by_name: whether inputs are referred to by their names only, in sentences that are not in the main language.
        rng: the request's random stream.
    """

    def __init__(
        self,
        *,
        language: Language,
        lexicon: Mapping[str, Any],
        inputs: Sequence[InputSpec],
        by_name: bool,
        rng: random.Random,
    ) -> None:
        self.language, self.lexicon, self._rng, self._by_name = language, lexicon, rng, by_name
        self._inputs = inputs
        self._topic: InputSpec | None = None
        self._nouns: dict[str, tuple[str, str]] = {}
        for given in inputs:
            taken = {noun for noun, _ in self._nouns.values()}
            nouns = [pair if isinstance(pair, list) else (pair, "n") for pair in lexicon["nouns"][given.noun]]
            noun, gender = rng.choice([pair for pair in nouns if pair[0] not in taken])
            self._nouns[given.name] = noun, gender

    def chosen(self, phrases: Sequence[str], **values: str | InputSpec) -> str:
        """A random phrase, filled.

        Args:
            phrases: one of them is taken.
            values: of its slots: texts, or inputs to refer to.
        """
        return self.filled(self._rng.choice(phrases), **values)

    def filled(self, phrase: str, **values: str | InputSpec) -> str:
        """A phrase with its choices made and its slots filled."""
        phrase = _CHOICE.sub(lambda choice: self._rng.choice(choice[1].split("|")), phrase)
        text = _SLOT.sub(lambda slot: self._slot(values.get(f"{slot[1]}_{slot[2]}", values[slot[1]]), slot[2]), phrase)
        return _CONTRACTION.sub(lambda found: _CONTRACTED[found[1]], text) if self._is_german else text

    def new_topic(self) -> None:
        """Begin a passage: the first reference to an input is no pronoun."""
        self._topic = None

    def introduced(self, inputs: Sequence[InputSpec], *, case: str) -> str:
        """The inputs as new ones, with their names wherever there are several."""
        phrases = [self._indefinite(given, case=case) for given in inputs]
        conjunction = "und" if self._is_german else "and"
        return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} {conjunction} {phrases[-1]}"

    @property
    def _is_german(self) -> bool:
        return self.language is Language.GERMAN

    def _slot(self, value: str | InputSpec, case: str | None) -> str:
        return value if isinstance(value, str) else self._reference(value, case=case or "nom")

    def _reference(self, given: InputSpec, *, case: str) -> str:
        is_topic, self._topic = self._topic == given, given
        if self._by_name:
            return given.name
        if is_topic and len(self._inputs) == 1 and self._rng.random() < _PRONOUN:
            return _PRONOUNS[self._nouns[given.name][1]][case] if self._is_german else "it"
        noun, gender = self._nouns[given.name]
        if self._rng.random() >= _NOUN:
            return given.name
        return f"{_DEFINITE[gender][case]} {noun}" if self._is_german else f"the {noun}"

    def _indefinite(self, given: InputSpec, *, case: str) -> str:
        noun, gender = self._nouns[given.name]
        article = _INDEFINITE[gender][case] if self._is_german else "an" if noun[0] in "aeiou" else "a"
        is_named = self._by_name or len(self._inputs) > 1 or self._rng.random() < _NAME_AT_FIRST
        return f"{article} {noun}{f' ({given.name})' if is_named else ''}"
