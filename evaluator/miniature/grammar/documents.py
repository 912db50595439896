"""Documents: small stories of two events, with questions, answers and a summary."""

from dataclasses import dataclass

import numpy as np

from evaluator.miniature.grammar.german import Bilingual, capitalised, joined
from evaluator.miniature.grammar.labels import NUMBERS
from evaluator.miniature.grammar.questions import Question
from evaluator.miniature.grammar.words import (
    BELONGINGS,
    DAYS,
    PEOPLE,
    PLACES,
    VERBS,
    WEATHER,
    Belonging,
    Person,
    Place,
    Verb,
)

_SAME_VERB = 0.5
"""How often both events are certain to be of one kind, so that only names tell them apart."""


@dataclass(frozen=True, slots=True)
class Event:
    """Somebody did something with something, somewhere on some day."""

    person: Person
    verb: Verb
    thing: Belonging
    place: Place
    day: Bilingual
    coins: int
    """What the thing costs; from 2 to 8."""
    priced: bool
    """Whether the story says so."""

    @property
    def sentence(self) -> Bilingual:
        """For example `On Monday Anna bought a sweet cake in the quiet library.`"""
        past, thing, place = self.verb.past, self.thing.full_object, self.place.phrase
        return Bilingual(
            f"On {self.day.english} {self.person.name} {past.english} {thing.english} {place.english}.",
            f"Am {self.day.german} {past.german} {self.person.name} {thing.german} {place.german}.",
        )

    @property
    def price(self) -> Bilingual:
        """For example `three coins`."""
        number = NUMBERS[self.coins]
        return Bilingual(f"{number.english} coins", f"{number.german} Münzen")

    @property
    def price_sentence(self) -> Bilingual:
        """For example `The cake cost three coins.`"""
        subject, price = self.thing.subject, self.price
        return Bilingual(
            f"{capitalised(subject.english)} cost {price.english}.",
            f"{capitalised(subject.german)} kostete {price.german}.",
        )

    @property
    def notice(self) -> Bilingual:
        """The event and its price, a story of its own for translation."""
        return joined((self.sentence, self.price_sentence))

    @property
    def recoverable(self) -> tuple[str, ...]:
        """Words of the event's sentence that follow from their partner."""
        return (*self.thing.recoverable, *self.place.thing.recoverable)

    @property
    def gist(self) -> Bilingual:
        """For example `Anna bought a cake`."""
        past, thing = self.verb.past, self.thing.short_object
        return Bilingual(
            f"{self.person.name} {past.english} {thing.english}", f"{self.person.name} {past.german} {thing.german}"
        )


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """A question about a document whose answer is a span of it."""

    event: Event
    """What is asked about."""
    question: Question
    document_recoverable: tuple[str, ...]
    """Words of the document that follow from their partner, and without which the answer is hard or incomplete."""


@dataclass(frozen=True, slots=True)
class Document:
    """A story of three to six sentences."""

    events: tuple[Event, Event]
    """Of different people, with different things, places, prices and days."""
    weather: Bilingual | None
    acquainted: bool
    """Whether it ends with the two knowing each other."""

    @property
    def sentences(self) -> tuple[Bilingual, ...]:
        """In order."""
        first, second = self.events
        told = []
        if self.weather is not None:
            weather = self.weather
            told.append(Bilingual(f"The weather was {weather.english}.", f"Das Wetter war {weather.german}."))
        for event in self.events:
            told.append(event.sentence)
            if event.priced:
                told.append(event.price_sentence)
        if self.acquainted:
            one, other = first.person.name, second.person.name
            told.append(Bilingual(f"{one} and {other} know each other.", f"{one} und {other} kennen sich."))
        return tuple(told)

    @property
    def text(self) -> Bilingual:
        """The whole story."""
        return joined(self.sentences)

    @property
    def summary(self) -> Bilingual:
        """Who did what, in one sentence, for example `Anna bought a cake and Hugo found a knife.`"""
        first, second = (event.gist for event in self.events)
        return Bilingual(f"{first.english} and {second.english}.", f"{first.german} und {second.german}.")


def draw_document(rng: np.random.Generator) -> Document:
    """A story at random."""
    people, things, places, days = (rng.permutation(n)[:2] for n in _counts())
    verbs = rng.integers(len(VERBS), size=2)
    if rng.random() < _SAME_VERB:
        verbs[1] = verbs[0]
    coins = rng.permutation(np.arange(2, len(NUMBERS)))[:2]
    # At least one of the extra sentences, so that a story has three or more.
    extras = [bool(value) for value in rng.random(4) < 0.5]
    if not any(extras):
        extras[int(rng.integers(4))] = True
    first, second = (
        Event(
            person=PEOPLE[people[i]],
            verb=VERBS[verbs[i]],
            thing=BELONGINGS[things[i]],
            place=PLACES[places[i]],
            day=DAYS[days[i]],
            coins=int(coins[i]),
            priced=extras[i],
        )
        for i in range(2)
    )
    weather = WEATHER[rng.integers(len(WEATHER))] if extras[2] else None
    return Document(events=(first, second), weather=weather, acquainted=extras[3])


def _counts() -> tuple[int, int, int, int]:
    return len(PEOPLE), len(BELONGINGS), len(PLACES), len(DAYS)


def draw_document_question(*, document: Document, rng: np.random.Generator) -> DocumentQuestion:
    """One question about one of the events."""
    event = document.events[rng.integers(2)]
    possible = [question for question, wanted in _questions(event) if wanted]
    question = possible[rng.integers(len(possible))]
    place = event.place.thing.recoverable
    in_place = question.answer == event.place.phrase
    return DocumentQuestion(event, question, document_recoverable=place if in_place else event.thing.recoverable)


def _questions(event: Event) -> tuple[tuple[Question, bool], ...]:
    """All questions about an event, and whether the story answers them."""
    name, verb, what = event.person.name, event.verb.english_infinitive, event.thing.name
    who = f"{name} the {event.person.trade}"
    # The story says only the name, so it is the name that matters: it is what is masked, and follows from the trade.
    masked = (name,)
    noun = (event.thing.noun.english,)
    return (
        (Question(f"Who {event.verb.past.english} the {what.english}?", Bilingual(name, name), noun), True),
        (Question(f"What did {who} {verb}?", what, masked), True),
        (Question(f"Where did {who} {verb} something?", event.place.phrase, masked), True),
        (Question(f"On which day did {who} {verb} something?", event.day, masked), True),
        (Question(f"How much did the {what.english} cost?", event.price, noun), event.priced),
    )
