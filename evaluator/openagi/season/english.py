"""Requests in English."""

import random
from collections.abc import Mapping, Sequence

from evaluator.openagi.grammar import Degradation
from evaluator.openagi.season.requests import NOUNS, AnswerSpec, InputSpec, Language, RequestSpec
from evaluator.openagi.season.speaker import Pattern, Speaker, Words, listed, vocabulary

_TABLE = vocabulary("english")
_NOUNS: Mapping[str, Sequence[str]] = _TABLE["nouns"]
_CLOZED: Sequence[str] = _TABLE["clozed"]
_CLOZED_STATES: Sequence[str] = _TABLE["clozed_states"]
_NOT_CLOZED: Sequence[str] = _TABLE["not_clozed"]
_CLOZED_CLAUSE: str = _TABLE["clozed_clause"]
_VERBS: Mapping[str, Sequence[str]] = _TABLE["verbs"]
_RESULTS: Mapping[str, Sequence[str]] = _TABLE["results"]
_IMPOSSIBLE: Mapping[str, Sequence[Sequence[str]]] = _TABLE["impossible"]
_ORDINALS = ("first", "second")


class English(Speaker):
    """Words one request in English."""

    words = Words.of(_TABLE)
    patterns = tuple(Pattern(text=text) for text in _TABLE["patterns"])

    def __init__(self, *, spec: RequestSpec, rng: random.Random) -> None:
        super().__init__(spec=spec, rng=rng)
        self.nouns = {given.noun: rng.choice(_NOUNS[given.noun]) for given in spec.given}

    def slot(self, name: str, argument: str) -> str:
        """See `Speaker`."""
        match name:
            case "a":
                return self._joined([self._indefinite(given) for given in self.spec.needed])
            case "this":
                return self._joined([self._this(given) for given in self.spec.needed])
            case "the":
                return self._joined([self._the(given) for given in self.spec.needed])
            case "state":
                return " ".join(self._state(given, manner=argument or "it") for given in self.defective)
            case "clause":
                return self._clause(self._reference(self.defective[0], manner=argument))
            case "do":
                return self._verbs(manner=argument)
            case "get":
                return self._results()
            case "it":
                return self._aside(self.spec.needed[0])
            case "image":
                return self._aside(self.spec.input_of("image"))
        raise ValueError(f"no pattern has a slot {name!r}")

    def state(self, given: InputSpec) -> str:
        """See `Speaker`."""
        return self._state(given, manner="the")

    def denial(self) -> str:
        """See `Speaker`."""
        given = self.spec.needed[0]
        subject = self._aside(given)
        if not self.spec.denied:
            return self.rng.choice(_NOT_CLOZED).format(it=subject)
        denied = [self.rng.choice(self._plain(kind)) for kind in self.spec.denied]
        if len(denied) > 1:
            return f"{subject} is neither {denied[0]} nor {denied[1]}."
        forms = ("{it} is not {one}.", "{it} is not {one}, though.", "At least {it} is not {one}.")
        return self.rng.choice(forms).format(it=subject, one=denied[0])

    def distraction(self, extra: InputSpec) -> str:
        """See `Speaker`."""
        noun = self.nouns[extra.noun]
        if "_" not in extra.name:
            forms = (
                f"There is also {_article(noun)} {noun} in the attachment, but it plays no role.",
                f"Please ignore the {noun} that came with it.",
                f"The {noun} that I attached as well is of no importance.",
                f"The {noun} got in there by mistake.",
            )
            return self.rng.choice(forms)
        number = int(extra.name[-1]) - 1
        other, needed, plural = _ORDINALS[number], _ORDINALS[1 - number], f"{noun}s"
        forms = (
            f"There are two {plural}, but only the {needed} one matters.",
            f"I mean the {needed} of the two {plural}; the {other} one is only there for comparison.",
            f"Please use the {needed} {noun} and ignore the {other} one.",
            f"Of the two {plural}, the {other} one is there by mistake.",
        )
        return self.rng.choice(forms)

    def _indefinite(self, given: InputSpec) -> str:
        noun = self.nouns[given.noun]
        if given.is_clozed:
            self.said(given)
            return f"{_article(noun)} {noun} {self.rng.choice(_CLOZED)}"
        if given.noun == "query" and self.rng.random() < 0.5:
            return f"{_article(noun)} {noun} about it"
        adjectives = self.adjectives(given)
        if len(adjectives) > 2 or (adjectives and self.rng.random() < 0.25):
            split = self.rng.randint(0, len(adjectives) - 1)
            front, back = adjectives[:split], listed(adjectives[split:], conjunction="and")
            words = " ".join(filter(None, (", ".join(front), noun)))
            return f"{_article(words)} {words} that is {'also ' if front else ''}{predicative(back)}"
        words = " ".join(filter(None, (", ".join(adjectives), noun)))
        return f"{_article(words)} {words}"

    def _this(self, given: InputSpec) -> str:
        words = " ".join(filter(None, (", ".join(self.adjectives(given)), self.nouns[given.noun])))
        return f"this {words}"

    def _the(self, given: InputSpec) -> str:
        return f"the {self.nouns[given.noun]}"

    def _reference(self, given: InputSpec, *, manner: str) -> str:
        """The input within a phrase: `it` where that is clear, `the photo` or `this grainy photo`."""
        if manner == "this" and not self.is_said(given):
            return self._this(given)
        return "it" if manner == "it" and self.is_single else self._the(given)

    def _aside(self, given: InputSpec) -> str:
        """The input in a sentence of its own, which may be far from where it was named."""
        return self._reference(given, manner="it" if self.in_the_middle else "the")

    def _state(self, given: InputSpec, *, manner: str) -> str:
        if given.is_clozed:
            self.said(given)
            return self.rng.choice(_CLOZED_STATES).format(the=self._the(given))
        return f"{self._is(subject=self._reference(given, manner=manner), given=given)}."

    def _clause(self, subject: str) -> str:
        given = self.defective[0]
        self.said(given)
        return _CLOZED_CLAUSE.format(it=subject) if given.is_clozed else self._is(subject=subject, given=given)

    def _is(self, *, subject: str, given: InputSpec) -> str:
        found = [predicative(word) for word in self.adjectives(given)]
        return f"{subject} is {listed(found, conjunction='and')}"

    def _plain(self, kind: Degradation) -> list[str]:
        return [predicative(word) for word in (*self.words.terms[kind], *self.words.looks[kind][:1])]

    def _verbs(self, *, manner: str) -> str:
        wanted = self.spec.stratum.wanted
        if self.is_impossible:
            verb = self.rng.choice(_IMPOSSIBLE[wanted[0].base])[0]
            return verb.format(it=self._reference(self.spec.needed[0], manner=manner))
        found: list[str] = []
        for number, one in enumerate(wanted):
            given = self.spec.input_of(NOUNS[one.base][0])
            # An input is described once; after that it is clear what is meant.
            later = "it" if self.is_single else "the"
            phrase = self._reference(given, manner=manner if not number or not self.is_single else later)
            verb = self.rng.choice(_VERBS[one.base])
            found.append(verb.format(it=phrase, **{"in": self._in(one)}))
        return self._in_sequence(found)

    def _in_sequence(self, verbs: list[str]) -> str:
        if len(verbs) == 1:
            return verbs[0]
        if len(verbs) == 2:
            return self.rng.choice(("{0} and {1}", "{0} and then {1}", "first {0} and then {1}")).format(*verbs)
        return f"first {verbs[0]}, then {verbs[1]}, and finally {verbs[2]}"

    def _results(self) -> str:
        wanted = self.spec.stratum.wanted
        if self.is_impossible:
            return self.rng.choice(_IMPOSSIBLE[wanted[0].base])[1]
        found = [self.rng.choice(_RESULTS[one.base]).format(**{"in": self._in(one)}) for one in wanted]
        return listed(found, conjunction="and")

    def _in(self, wanted: AnswerSpec) -> str:
        if wanted.language is Language.GERMAN:
            return " in German"
        return self.rng.choice(("", " in English")) if len(self.spec.stratum.wanted) == 1 else " in English"

    def _joined(self, phrases: list[str]) -> str:
        return " and ".join(phrases)


def predicative(adjectives: str) -> str:
    """Adjectives as they stand after a verb, without hyphens where these join them to a noun only."""
    return (
        adjectives.replace("out-of-focus", "out of focus")
        .replace("black-and-white", "black and white")
        .replace("low-resolution", "low in resolution")
        .replace("low-res", "low in resolution")
        .replace("thumbnail-sized", "the size of a thumbnail")
        .replace("stamp-sized", "the size of a stamp")
        .replace("grayscale", "in grayscale")
        .replace("greyscale", "in greyscale")
    )


def _article(words: str) -> str:
    return "an" if words[0] in "aeiou" else "a"
