"""Texts in both languages, and German inflection as much as the miniature world needs.

Articles and adjective endings by gender and case, singular only. Tables: Duden, Die Grammatik, "Deklination der
Adjektive" (strong, mixed and weak endings).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Bilingual:
    """The same said in English and in German."""

    english: str
    german: str

    def in_language(self, language: str | None) -> str:
        """The text in `en` or `de`.

        Raises:
            LookupError: it is another language.
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
    """The cases that occur; no sentence of this world needs a genitive."""

    NOMINATIVE = "nominative"
    ACCUSATIVE = "accusative"
    DATIVE = "dative"


class Article(StrEnum):
    """What stands before the adjective and decides about its ending."""

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
    """Where it differs from the nominative, for example `Herzen`."""

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
    """To which endings are added where it differs from the predicate, for example `dunkl` or `orangefarben`."""
    inflected: bool = True
    """False for the few that never change, such as `rosa`."""


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


def article_form(*, article: Article, gender: Gender, case: Case) -> str:
    """The article's form; empty for none."""
    if article is Article.NONE:
        return ""
    forms = _FORMS if article is Article.INDEFINITE else _DEFINITE_FORMS
    return forms[case][_GENDERS.index(gender)]


def adjective_form(*, adjective: Adjective, article: Article, gender: Gender, case: Case) -> str:
    """The adjective before a noun, with its ending."""
    if not adjective.inflected:
        return adjective.german
    return (adjective.stem or adjective.german) + _ENDINGS[article][case][_GENDERS.index(gender)]


def noun_phrase(*, noun: Noun, case: Case, article: Article = Article.NONE, adjective: Adjective | None = None) -> str:
    """Article, adjective and noun in agreement, for example `einem roten Stern`."""
    words = [article_form(article=article, gender=noun.gender, case=case)]
    if adjective is not None:
        words.append(adjective_form(adjective=adjective, article=article, gender=noun.gender, case=case))
    return " ".join(word for word in (*words, noun.in_case(case)) if word)


def english_article(word: str) -> str:
    """`a` or `an` before a word."""
    return "an" if word[0] in "aeiou" else "a"


def capitalised(text: str) -> str:
    """With a capital at the beginning and the rest as it is."""
    return text[:1].upper() + text[1:]
