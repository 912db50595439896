"""Hidden requests: planned as passages of a discourse, then worded in a form such as a mail or a dialogue.

A request says what is at hand, what is wrong with it, what is wanted and in which language, besides what it does not
need: who asks, a trait of an input, and lures, which use words of the public tables about something else. Passages
come in any order and, but for one of them at times, in the language of the request. Each is complete by itself.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.hidden.lexicon import drawn_part, season_lexicon
from evaluator.openagi.season.hidden.voice import Voice
from evaluator.openagi.season.requests import NOUNS, AnswerSpec, Composition, InputSpec, Language, RequestSpec, Trick


class Form(StrEnum):
    """The outer form of a request."""

    NOTE = "note"
    MAIL = "mail"
    CHAT = "chat"
    TELEGRAM = "telegram"
    BULLETS = "bullets"
    DIALOGUE = "dialogue"
    TICKET = "ticket"


_TERSE = frozenset({Form.TELEGRAM, Form.BULLETS, Form.TICKET})
"""Forms in which fragments may take the place of sentences."""


class Topic(StrEnum):
    """What a passage is about; the names of its headings and prompts in the lexicon."""

    INPUTS = "inputs"
    FLAWS = "flaws"
    WANTED = "wanted"
    LANGUAGE = "language"
    ELSE = "else"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a request: a sentence or several, without the mark at the end unless that is a question mark."""

    topic: Topic
    text: str


_MIXED = 0.3
"""Share of requests with a passage in the other language."""
_LURES = (1, 2, 2, 3)
_PERSON, _FRAGMENT, _JOINED, _TAG, _NOUN_PHRASE, _INTRODUCED = 0.5, 0.6, 0.5, 0.5, 0.4, 0.6
_FLAWED_EXTRA, _OTHERS = 0.4, 0.4
_GOALS_OF_OTHERS = {
    "image": (Base.CAPTIONING, Base.CLASSIFICATION, Base.DETECTION),
    "text": (Base.SUMMARIZATION, Base.SENTIMENT),
}


def with_neutral_names(*, spec: RequestSpec, lexicon: str, rng: random.Random) -> RequestSpec:
    """The request with inputs in random order, under names with a random number, such as `file_4`: they tell neither
    noun nor number of the inputs, nor which are needed.

    Args:
        spec: as drawn.
        lexicon: the secret of the season's lexicon.
        rng: the request's random stream.
    """
    stem = rng.choice(season_lexicon(language=Language.ENGLISH, seed=lexicon)["names"])
    numbers = sorted(rng.sample(range(1, 10), len(spec.given)))
    given = rng.sample(spec.given, len(spec.given))
    return replace(spec, given=tuple(one.named(f"{stem}_{number}") for number, one in zip(numbers, given, strict=True)))


def realised(*, spec: RequestSpec, lexicon: str, rng: random.Random) -> str:
    """The wording of a request.

    Args:
        spec: with neutral names.
        lexicon: the secret that determines the season's lexicon and forms.
        rng: the request's random stream.
    """
    return _Realiser(spec=spec, seed=lexicon, rng=rng).text()


class _Realiser:
    def __init__(self, *, spec: RequestSpec, seed: str, rng: random.Random) -> None:
        self._spec, self._rng = spec, rng
        spoken = spec.stratum.spoken
        other = Language.ENGLISH if spoken is Language.GERMAN else Language.GERMAN
        self._main, self._aside = (
            Voice(
                language=language, lexicon=season_lexicon(language=language, seed=seed), inputs=spec.given,
                by_name=language is other, rng=rng,
            )
            for language in (spoken, other)
        )  # fmt: skip
        self._form = rng.choice(drawn_part(list(Form), place=f"{seed} forms"))
        self._is_mixed = rng.random() < _MIXED

    def text(self) -> str:
        passages = [*self._inputs(), *self._flaws(), *self._wanted(), *self._trick(), *self._lures(), *self._person()]
        self._rng.shuffle(passages)
        return _FORMS[self._form](self._main, passages, self._rng, [given.name for given in self._spec.given])

    def _inputs(self) -> list[Passage]:
        given = self._spec.given
        if len(given) == 1 and self._rng.random() >= _INTRODUCED:
            return []
        voice = self._main
        accusative = voice.introduced(given, case="acc")
        nominative = voice.introduced(given, case="nom")
        if self._form is Form.TICKET:
            return [Passage(Topic.INPUTS, nominative)]
        text = voice.chosen(voice.lexicon["frames"]["inputs"], list=accusative, list_nom=nominative)
        return [Passage(Topic.INPUTS, text)]

    def _flaws(self) -> list[Passage]:
        passages: list[Passage] = []
        for given in self._spec.needed:
            kinds = [*map(str, given.degradations), *(["word"] if given.is_clozed else [])]
            if not kinds:
                continue
            self._rng.shuffle(kinds)
            if self._form in _TERSE and self._rng.random() < _FRAGMENT:
                passages.append(self._fragments(given, kinds=kinds))
            elif self._rng.random() < _JOINED:
                passages.append(self._joined(given, kinds=kinds))
            else:
                passages += [self._joined(given, kinds=[kind]) for kind in kinds]
        return passages

    def _fragments(self, given: InputSpec, *, kinds: Sequence[str]) -> Passage:
        voice = self._main
        voice.new_topic()
        found = [voice.chosen(voice.lexicon["flaws"][kind]["fragments"]) for kind in kinds]
        return Passage(Topic.FLAWS, voice.filled("{x}: ", x=given) + ", ".join(found))

    def _joined(self, given: InputSpec, *, kinds: Sequence[str]) -> Passage:
        voice = self._voice()
        voice.new_topic()
        text = voice.chosen(voice.lexicon["flaws"][kinds[0]]["sentences"], x=given)
        for kind in kinds[1:]:
            link = self._rng.choice(voice.lexicon["frames"]["links"])
            text += link + voice.chosen(voice.lexicon["flaws"][kind]["sentences"], x=given)
        return Passage(Topic.FLAWS, text)

    def _wanted(self) -> list[Passage]:
        stratum = self._spec.stratum
        if stratum.composition is Composition.NO_TOOL:
            return [Passage(Topic.WANTED, self._framed(table="impossible", answers=stratum.wanted, tags=[""]))]
        worded = [one for one in stratum.wanted if _is_worded(one)]
        languages = {one.language for one in stratum.wanted if one.language is not None}
        passages: list[Passage] = []
        if worded and len(languages) == 1 and self._rng.random() >= _TAG:
            sentence = self._in_language(self._main.lexicon["languages"]["sentences"], language=worded[0].language)
            passages.append(Passage(Topic.LANGUAGE, sentence))
            tags = ["" for _ in stratum.wanted]
        else:
            tags = [self._tag(one) for one in stratum.wanted]
        return [Passage(Topic.WANTED, self._framed(table="wanted", answers=stratum.wanted, tags=tags)), *passages]

    def _framed(self, *, table: str, answers: Sequence[AnswerSpec], tags: Sequence[str]) -> str:
        voice = self._main
        voice.new_topic()
        manner = "get" if self._rng.random() < _NOUN_PHRASE else "do"
        found = [
            self._phrase(voice.lexicon[table][answer.base][manner], answer=answer) + tag
            for answer, tag in zip(answers, tags, strict=True)
        ]
        frames = voice.lexicon["frames"]
        is_labelled = self._form is Form.TICKET
        if len(found) == 1:
            return found[0] if is_labelled else voice.chosen(frames[manner], **{manner: found[0]})
        numbered = dict(zip(("first", "second", "third"), found, strict=False))
        sequence = voice.chosen(frames["two" if len(found) == 2 else "three"], **numbered)
        return sequence if is_labelled else f"{self._rng.choice(frames[f'order_{manner}'])}: {sequence}"

    def _phrase(self, phrases: Sequence[str], *, answer: AnswerSpec) -> str:
        inputs = [self._spec.input_of(noun) for noun in NOUNS[answer.base]]
        slots = dict(zip(("x", "q"), inputs, strict=False))
        return self._in_language(phrases, language=answer.language, **slots)

    def _in_language(self, phrases: Sequence[str], *, language: Language | None, **inputs: InputSpec) -> str:
        """A phrase that may name the language of an answer, and the other one."""
        wanted = Language.GERMAN if language is Language.GERMAN else Language.ENGLISH
        other = Language.ENGLISH if wanted is Language.GERMAN else Language.GERMAN
        names = self._main.lexicon["languages"]
        slots: dict[str, str] = {}
        for slot, one in (("yes", wanted), ("no", other)):
            name = names.get(f"{one}_name", "")
            slots |= {slot: self._rng.choice(names[one]), f"{slot}_name": name, f"{slot}_only": f"nur {name}"}
        return self._main.chosen(phrases, **slots, **inputs)

    def _tag(self, answer: AnswerSpec) -> str:
        if not _is_worded(answer):
            return ""
        return ", " + self._in_language(self._main.lexicon["languages"]["tags"], language=answer.language)

    def _trick(self) -> list[Passage]:
        spec = self._spec
        unneeded = next((given for given in spec.given if not given.is_needed), None)
        if unneeded is not None:
            return [self._about(unneeded, table="distractors"), *self._of_unneeded(unneeded)]
        match spec.stratum.trick:
            case Trick.DETAIL:
                plain = [given for given in spec.needed if given.noun != "query"]
                return [self._about(self._rng.choice(plain), table="details")]
            case Trick.INTACT:
                return [self._about(spec.input_of("image"), table="intact", topic=Topic.FLAWS)]
            case Trick.NEGATION:
                denied = [*map(str, spec.denied)] or ["word"]
                given = spec.input_of("image") if spec.denied else spec.needed[0]
                return [self._denial(given, kind=kind) for kind in denied]
        return []

    def _of_unneeded(self, given: InputSpec) -> list[Passage]:
        """What is wrong with an input that is not needed, and what others do with it."""
        passages = []
        if given.noun == "image" and self._rng.random() < _FLAWED_EXTRA:
            passages.append(self._joined(given, kinds=[self._rng.choice([*Degradation])]))
        if self._rng.random() < _OTHERS:
            voice = self._voice()
            voice.new_topic()
            goal = self._rng.choice(_GOALS_OF_OTHERS[given.noun])
            what = voice.chosen(voice.lexicon["wanted"][goal]["do"], x=given)
            passages.append(Passage(Topic.ELSE, voice.chosen(voice.lexicon["lures"]["others"], do=what)))
        return passages

    def _about(self, given: InputSpec, *, table: str, topic: Topic = Topic.ELSE) -> Passage:
        voice = self._voice()
        voice.new_topic()
        phrases = voice.lexicon[table]
        is_terse = "fragments" in phrases and self._form in _TERSE and self._rng.random() < _FRAGMENT
        if not is_terse:
            return Passage(topic, voice.chosen(phrases["sentences"], x=given))
        fragment = voice.chosen(phrases["fragments"], x=given)
        return Passage(topic, fragment if table == "distractors" else voice.filled("{x}: ", x=given) + fragment)

    def _denial(self, given: InputSpec, *, kind: str) -> Passage:
        voice = self._voice()
        voice.new_topic()
        return Passage(Topic.FLAWS, voice.chosen(voice.lexicon["flaws"][kind]["denials"], x=given))

    def _lures(self) -> list[Passage]:
        """Sentences with words of the public tables that say nothing of this request."""
        stratum, rng = self._spec.stratum, self._rng
        bases = {answer.base for answer in stratum.wanted}
        goals = [base for base in Base if base not in bases and not (base in _ASKING and bases & _ASKING)]
        if any(answer.language is Language.GERMAN for answer in stratum.wanted):
            goals.remove(Base.TRANSLATION) if Base.TRANSLATION in goals else None
        kinds: list[Callable[[Voice], Sequence[str]]] = [
            lambda voice: voice.lexicon["lures"]["goals"][rng.choice(goals)],
            lambda voice: voice.lexicon["lures"]["degradations"],
            lambda voice: voice.lexicon["lures"]["language"],
            lambda voice: voice.lexicon["lures"]["word"],
        ]
        passages = []
        for kind in rng.sample(kinds, rng.choice(_LURES)):
            voice = self._voice()
            passages.append(Passage(Topic.ELSE, voice.chosen(kind(voice))))
        return passages

    def _person(self) -> list[Passage]:
        if self._rng.random() >= _PERSON:
            return []
        voice = self._voice()
        return [Passage(Topic.ELSE, voice.chosen(voice.lexicon["people"]["sentences"]))]

    def _voice(self) -> Voice:
        """The main one, but the other one once in a mixed request."""
        if self._is_mixed and self._rng.random() < 0.5:
            self._is_mixed = False
            return self._aside
        return self._main


_ASKING = frozenset({Base.VQA, Base.QA})


def _is_worded(answer: AnswerSpec) -> bool:
    """Whether the request has to say the language of an answer."""
    return answer.language is not None and answer.base is not Base.TRANSLATION


_Layout = Callable[[Voice, Sequence[Passage], random.Random, Sequence[str]], str]


def _sentence(text: str, names: Sequence[str]) -> str:
    """With a capital, unless it begins with the name of an input, and with a mark at the end."""
    begun = text if text.startswith(tuple(names)) else text[0].upper() + text[1:]
    return begun if begun[-1] in "?!." else f"{begun}."


def _sentences(passages: Iterable[Passage], names: Sequence[str]) -> str:
    return " ".join(_sentence(passage.text, names) for passage in passages)


def _note(voice: Voice, passages: Sequence[Passage], rng: random.Random, names: Sequence[str]) -> str:  # noqa: ARG001
    return _sentences(passages, names)


def _mail(voice: Voice, passages: Sequence[Passage], rng: random.Random, names: Sequence[str]) -> str:
    words = voice.lexicon["mail"]
    cut = rng.randint(1, len(passages))
    paragraphs = [_sentences(part, names) for part in (passages[:cut], passages[cut:]) if part]
    subject = f"{words['subject']} {rng.choice(words['subjects'])}"
    signed = f"{rng.choice(words['farewells'])}\n{rng.choice(words['signatures'])}"
    return "\n\n".join([subject, rng.choice(words["salutations"]), *paragraphs, signed])


def _chat(voice: Voice, passages: Sequence[Passage], rng: random.Random, names: Sequence[str]) -> str:  # noqa: ARG001
    return "\n".join(passage.text for passage in passages)


def _telegram(voice: Voice, passages: Sequence[Passage], rng: random.Random, names: Sequence[str]) -> str:  # noqa: ARG001
    return " STOP ".join(passage.text for passage in passages) + " STOP"


def _bullets(voice: Voice, passages: Sequence[Passage], rng: random.Random, names: Sequence[str]) -> str:  # noqa: ARG001
    mark = rng.choice(("-", "*", "+"))
    return "\n".join(f"{mark} {passage.text}" for passage in passages)


def _dialogue(voice: Voice, passages: Sequence[Passage], rng: random.Random, names: Sequence[str]) -> str:
    words = voice.lexicon["dialogue"]
    asker, clerk = rng.choice(words["speakers"])
    lines = []
    for number, passage in enumerate(passages):
        if number and rng.random() < 0.6:
            lines.append(f"{clerk}: {rng.choice(words[passage.topic])}")
            lines.append(f"{asker}: {_sentence(passage.text, names)}")
        elif lines:
            lines[-1] += f" {_sentence(passage.text, names)}"
        else:
            lines.append(f"{asker}: {_sentence(passage.text, names)}")
    return "\n".join(lines)


def _ticket(voice: Voice, passages: Sequence[Passage], rng: random.Random, names: Sequence[str]) -> str:  # noqa: ARG001
    words = voice.lexicon["ticket"]
    heading = f"{rng.choice(words['headings'])} {rng.randint(1000, 9999)}"
    labels = {topic: rng.choice(words[topic]) for topic in Topic}
    return "\n".join([heading, *(f"{labels[passage.topic]}: {passage.text}" for passage in passages)])


_FORMS: dict[Form, _Layout] = {
    Form.NOTE: _note, Form.MAIL: _mail, Form.CHAT: _chat, Form.TELEGRAM: _telegram, Form.BULLETS: _bullets,
    Form.DIALOGUE: _dialogue, Form.TICKET: _ticket,
}  # fmt: skip
