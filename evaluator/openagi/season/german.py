"""Requests in German."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.openagi.season.requests import NOUNS, AnswerSpec, InputSpec, Language, RequestSpec
from evaluator.openagi.season.speaker import Pattern, Speaker, Words, listed, vocabulary

_PART = re.compile(r"\{(\w+)\}")
_ORDINALS = ("erste", "zweite")


_TABLE = vocabulary("german")
_CLOZED: Sequence[str] = _TABLE["clozed"]
_CLOZED_STATES: Sequence[str] = _TABLE["clozed_states"]
_NOT_CLOZED: Sequence[str] = _TABLE["not_clozed"]
_RESULTS: Mapping[str, Sequence[str]] = _TABLE["results"]
_FORMS: Mapping[str, Mapping[str, str]] = {
    "m": {"a": "einen", "a:nom": "ein", "the": "den", "the:nom": "der", "this": "diesen", "it": "ihn", "it:nom": "er",
          "in": "im", "of": "des", "adjective a": "en", "adjective a:nom": "er", "adjective this": "en"},
    "f": {"a": "eine", "a:nom": "eine", "the": "die", "the:nom": "die", "this": "diese", "it": "sie", "it:nom": "sie",
          "in": "in der", "of": "der", "adjective a": "e", "adjective a:nom": "e", "adjective this": "e"},
    "n": {"a": "ein", "a:nom": "ein", "the": "das", "the:nom": "das", "this": "dieses", "it": "es", "it:nom": "es",
          "in": "im", "of": "des", "adjective a": "es", "adjective a:nom": "es", "adjective this": "e"},
}  # fmt: skip
"""Articles, pronouns and endings of adjectives by gender; accusative where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun with what declines with it."""

    word: str
    gender: str
    """`m`, `f` or `n`."""
    plural: str


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb phrase: as an imperative, and with the place of an infinitive."""

    imperative: str
    final: str
    infinitive: str
    with_zu: str

    @property
    def has_clause(self) -> bool:
        """Whether it ends with a subordinate clause, so that nothing can follow."""
        return "," in self.final


_NOUNS = {kind: [Noun(*row) for row in rows] for kind, rows in _TABLE["nouns"].items()}
_VERBS = {base: [Verb(*row) for row in rows] for base, rows in _TABLE["verbs"].items()}
_IMPOSSIBLE: Mapping[str, Sequence[tuple[Verb, str]]] = {
    base: [(Verb(*row[:4]), row[4]) for row in rows] for base, rows in _TABLE["impossible"].items()
}


class German(Speaker):
    """Words one request in German."""

    words = Words.of(_TABLE)
    patterns = tuple(Pattern(text=text) for text in _TABLE["patterns"])

    def __init__(self, *, spec: RequestSpec, rng: random.Random) -> None:
        super().__init__(spec=spec, rng=rng)
        self.nouns = {given.noun: rng.choice(_NOUNS[given.noun]) for given in spec.given}

    def slot(self, name: str, argument: str) -> str:
        """See `Speaker`."""
        needed = self.spec.needed
        match name:
            case "a":
                case = ":nom" if argument == "nom" else ""
                return " und ".join(self._indefinite(given, case=case) for given in needed)
            case "this":
                return " und ".join(self._reference(given, manner="this") for given in needed)
            case "the":
                return " und ".join(self._reference(given, manner="the") for given in needed)
            case "state":
                return " ".join(self._state(given, manner=argument or "it") for given in self.defective)
            case "do" | "inf" | "zu":
                return self._verbs(form=name, manner=argument)
            case "get":
                return self._results()
            case "it":
                return self._aside(needed[0])
            case "nom":
                return self._aside(needed[0], case=":nom")
            case "image":
                return self._aside(self.spec.input_of("image"), case=":nom" if argument == "nom" else "")
        raise ValueError(f"no pattern has a slot {name!r}")

    def state(self, given: InputSpec) -> str:
        """See `Speaker`."""
        return self._state(given, manner="the")

    def denial(self) -> str:
        """See `Speaker`."""
        given = self.spec.needed[0]
        subject = self._aside(given, case=":nom")
        if not self.spec.denied:
            form = self.rng.choice(_NOT_CLOZED)
            return form.format(nom=subject, in_the=self._in_the(given))
        denied = [self.rng.choice((*self.words.terms[kind], self.words.looks[kind][0])) for kind in self.spec.denied]
        if len(denied) > 1:
            return f"{subject} ist weder {denied[0]} noch {denied[1]}."
        forms = ("{it} ist nicht {one}.", "{it} ist übrigens nicht {one}.", "{it} ist aber nicht {one}.")
        return self.rng.choice(forms).format(it=subject, one=denied[0])

    def distraction(self, extra: InputSpec) -> str:
        """See `Speaker`."""
        noun = self.nouns[extra.noun]
        forms = _FORMS[noun.gender]
        if "_" not in extra.name:
            return self.rng.choice(
                (
                    f"{forms['the:nom']} {noun.word} im Anhang spielt keine Rolle.",
                    f"Außerdem hängt noch {forms['a:nom']} {noun.word} an, aber darum geht es nicht.",
                    f"{forms['the:nom']} {noun.word}, {forms['the:nom']} mitgeschickt wurde, wird nicht gebraucht.",
                )
            )
        number = int(extra.name[-1]) - 1
        other, needed = _ORDINALS[number], _ORDINALS[1 - number]
        end = "n" if noun.gender == "m" else ""
        return self.rng.choice(
            (
                f"Es sind zwei {noun.plural}, aber es geht nur um {forms['the']} {needed}{end}.",
                f"Gemeint ist {forms['the:nom']} {needed} der zwei {noun.plural}; {forms['the:nom']} {other} dient nur "
                "zum Vergleich.",
                f"{forms['the:nom']} {other} {noun.word} ist nur aus Versehen dabei.",
            )
        )

    def _indefinite(self, given: InputSpec, *, case: str) -> str:
        noun = self.nouns[given.noun]
        forms = _FORMS[noun.gender]
        ending = forms[f"adjective a{case}"]
        words = [f"{word}{ending}" for word in self.adjectives(given)]
        after = ""
        if given.is_clozed:
            self.said(given)
            after = self.rng.choice(_CLOZED)
        if given.noun == "query" and not after:
            after = "dazu"
        return " ".join(filter(None, (forms[f"a{case}"], ", ".join(words), noun.word, after)))

    def _reference(self, given: InputSpec, *, manner: str, case: str = "") -> str:
        """The input within a phrase: `es` where that is clear, `das Foto` or `dieses verrauschte Foto`."""
        noun = self.nouns[given.noun]
        forms = _FORMS[noun.gender]
        if manner == "this" and case and not self.is_said(given):
            words = ", ".join(f"{word}e" for word in self.adjectives(given))
            return " ".join(filter(None, ("dieser" if noun.gender == "m" else forms["this"], words, noun.word)))
        if manner == "this" and not self.is_said(given):
            words = ", ".join(f"{word}{forms['adjective this']}" for word in self.adjectives(given))
            return " ".join(filter(None, (forms["this"], words, noun.word)))
        if manner == "it" and self.is_single:
            return forms[f"it{case}"]
        return f"{forms[f'the{case}']} {noun.word}"

    def _aside(self, given: InputSpec, *, case: str = "") -> str:
        """The input in a sentence of its own, which may be far from where it was named."""
        return self._reference(given, manner="it" if self.in_the_middle else "the", case=case)

    def _state(self, given: InputSpec, *, manner: str) -> str:
        if given.is_clozed:
            self.said(given)
            return self.rng.choice(_CLOZED_STATES).format(in_the=self._in_the(given))
        subject = self._reference(given, manner=manner, case=":nom")
        return f"{subject} ist {listed(self.adjectives(given), conjunction='und')}."

    def _in_the(self, given: InputSpec) -> str:
        noun = self.nouns[given.noun]
        return f"{_FORMS[noun.gender]['in']} {noun.word}"

    def _verbs(self, *, form: str, manner: str) -> str:
        wanted = self.spec.stratum.wanted
        if self.is_impossible:
            return self._verb(
                self.rng.choice(_IMPOSSIBLE[wanted[0].base])[0], form=form, manner=manner, wanted=wanted[0]
            )
        found: list[str] = []
        for number, one in enumerate(wanted):
            last = number == len(wanted) - 1
            possible = [verb for verb in _VERBS[one.base] if last or not verb.has_clause]
            later = manner if not number or not self.is_single else "it"
            found.append(self._verb(self.rng.choice(possible), form=form, manner=later, wanted=one))
        return _in_sequence(found, form=form)

    def _verb(self, verb: Verb, *, form: str, manner: str, wanted: AnswerSpec) -> str:
        given = self.spec.input_of(NOUNS[wanted.base][0])
        noun = self.nouns[given.noun]
        template = verb.imperative if form == "do" else verb.final
        is_named = ("{it}" in template or "{of}" in template) and self.is_single
        # By need: what is named as "dieses verrauschte Foto" counts as said.
        parts: dict[str, Callable[[], str]] = {
            "v": lambda: verb.infinitive if form == "inf" else verb.with_zu,
            "it": lambda: self._reference(given, manner=manner),
            "nom": lambda: self._reference(given, manner="it" if is_named else manner, case=":nom"),
            "of": lambda: self._genitive(given, manner=manner),
            "dat": lambda: self._dative(given),
            "to": lambda: f"{'zur' if noun.gender == 'f' else 'zum'} {noun.word}",
            "in": lambda: self._in(wanted),
        }
        return _PART.sub(lambda part: parts[part[1]](), template).strip()

    def _genitive(self, given: InputSpec, *, manner: str) -> str:
        noun = self.nouns[given.noun]
        ending = "" if noun.gender == "f" else {"Bild": "es", "Text": "es"}.get(noun.word, "s")
        if manner != "this" or self.is_said(given):
            return f"{_FORMS[noun.gender]['of']} {noun.word}{ending}"
        words = ", ".join(f"{word}en" for word in self.adjectives(given))
        return " ".join(filter(None, ("dieser" if noun.gender == "f" else "dieses", words, f"{noun.word}{ending}")))

    def _dative(self, given: InputSpec) -> str:
        noun = self.nouns[given.noun]
        return f"{'der' if noun.gender == 'f' else 'dem'} {noun.word}"

    def _results(self) -> str:
        wanted = self.spec.stratum.wanted
        if self.is_impossible:
            return self.rng.choice(_IMPOSSIBLE[wanted[0].base])[1]
        found = [self.rng.choice(_RESULTS[one.base]).format(**{"in": self._in(one)}) for one in wanted]
        return listed(found, conjunction="und")

    def _in(self, wanted: AnswerSpec) -> str:
        return " auf Deutsch" if wanted.language is Language.GERMAN else " auf Englisch"


def _in_sequence(verbs: Sequence[str], *, form: str) -> str:
    if form == "do":
        # "dann" would come between verb and object.
        return listed(verbs, conjunction="und")
    then = f"{', dann '.join(verbs[:-1])} und" if len(verbs) > 1 else ""
    return f"{then} {'schließlich' if len(verbs) > 2 else 'dann'} {verbs[-1]}" if then else verbs[0]
