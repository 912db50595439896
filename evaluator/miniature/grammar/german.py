"""Texts in both languages, and the German inflection that the miniature world needs.

Articles and adjective endings by gender and case, singular only. Tables: Duden, Die Grammatik, "Deklination der
Adjektive" (strong, mixed and weak endings).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Bilingual:
    """A text in English and in German."""

    english: str
    german: str

    def in_language(self, language: str | None) -> str:
        """The text in `en` or `de`.

        Raises:
            LookupError: another language.
        """
        if language == "en":
            return self.english
        if language == "de":
            return self.german
        raise LookupError(f'the grammar speaks "en" and "de", not {language!r}')


def joined(parts: Iterable[Bilingual], *, separator: str = " ") -> Bilingual:
    """One text from several."""
    pairs = tuple(parts)
    return Bilingual(separator.join(p.english for p in pairs), separator.join(p.german for p in pairs))


class Gender(StrEnum):
    """Grammatical gender of a noun."""

    MASCULINE = "m"
    FEMININE = "f"
    NEUTER = "n"


class Case(StrEnum):
    """The cases in use; no sentence needs a genitive."""

    NOMINATIVE = "nominative"
    ACCUSATIVE = "accusative"
    DATIVE = "dative"


class Article(StrEnum):
    """The article before an adjective, which determines its ending."""

    NONE = "none"
    INDEFINITE = "indefinite"
    DEFINITE = "definite"


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun in both languages."""

    english: str
    german: str
    gender: Gender
    german_dative: str | None = None
    """If it differs from the nominative, for example `Herzen`."""

    def in_case(self, case: Case) -> str:
        """The German singular form."""
        return self.german_dative if case is Case.DATIVE and self.german_dative else self.german


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective in both languages."""

    english: str
    german: str
    """As predicate, for example `rot` in "der Stern ist rot"."""
    stem: str | None = None
    """The stem for endings if it differs from the predicate, for example `dunkl` or `orangefarben`."""
    inflected: bool = True
    """False for invariable adjectives, such as `rosa`."""


_GENDERS = tuple(Gender)
_FORMS: dict[Case, tuple[str, str, str]] = {
    Case.NOMINATIVE: ("ein", "eine", "ein"),
    Case.ACCUSATIVE: ("einen", "eine", "ein"),
    Case.DATIVE: ("einem", "einer", "einem"),
}
_DEFINITE_FORMS: dict[Case, tuple[str, str, str]] = {
    Case.NOMINATIVE: ("der", "die", "das"),
    Case.ACCUSATIVE: ("den", "die", "das"),
    Case.DATIVE: ("dem", "der", "dem"),
}
_ENDINGS: dict[Article, dict[Case, tuple[str, str, str]]] = {
    Article.NONE: {
        Case.NOMINATIVE: ("er", "e", "es"),
        Case.ACCUSATIVE: ("en", "e", "es"),
        Case.DATIVE: ("em", "er", "em"),
    },
    Article.INDEFINITE: {
        Case.NOMINATIVE: ("er", "e", "es"),
        Case.ACCUSATIVE: ("en", "e", "es"),
        Case.DATIVE: ("en", "en", "en"),
    },
    Article.DEFINITE: {
        Case.NOMINATIVE: ("e", "e", "e"),
        Case.ACCUSATIVE: ("en", "e", "e"),
        Case.DATIVE: ("en", "en", "en"),
    },
}


def noun_phrase(*, noun: Noun, case: Case, article: Article = Article.NONE, adjective: Adjective | None = None) -> str:
    """Article, adjective and noun in agreement, for example `einem roten Stern`."""
    gender, words = _GENDERS.index(noun.gender), []
    if article is not Article.NONE:
        words.append((_FORMS if article is Article.INDEFINITE else _DEFINITE_FORMS)[case][gender])
    if adjective is not None and adjective.inflected:
        words.append((adjective.stem or adjective.german) + _ENDINGS[article][case][gender])
    elif adjective is not None:
        words.append(adjective.german)
    return " ".join((*words, noun.in_case(case)))


def english_article(word: str) -> str:
    """`a` or `an` before a word."""
    return "an" if word[0] in "aeiou" else "a"


def with_article(noun: str) -> str:
    """An English noun with its indefinite article, for example `an orange star`."""
    return f"{english_article(noun)} {noun}"


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
