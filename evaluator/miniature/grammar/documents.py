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
"""Probability that both events are forced to have the same verb, so that only names distinguish them."""


@dataclass(frozen=True, slots=True)
class Event:
    """A person did something with a thing, at a place and on a day."""

    person: Person
    verb: Verb
    thing: Belonging
    place: Place
    day: Bilingual
    coins: int
    """Price of the thing, from 2 to 8."""
    priced: bool
    """Whether the story states the price."""

    @property
    def sentence(self) -> Bilingual:
        """The event, for example `On Monday Anna bought a sweet cake in the quiet library.`"""
        past, thing, place = self.verb.past, self.thing.full_object, self.place.phrase
        return Bilingual(
            f"On {self.day.english} {self.person.name} {past.english} {thing.english} {place.english}.",
            f"Am {self.day.german} {past.german} {self.person.name} {thing.german} {place.german}.",
        )

    @property
    def price(self) -> Bilingual:
        """The price, for example `three coins`."""
        number = NUMBERS[self.coins]
        return Bilingual(f"{number.english} coins", f"{number.german} Münzen")

    @property
    def price_sentence(self) -> Bilingual:
        """The price as a sentence, for example `The cake cost three coins.`"""
        subject, price = self.thing.subject, self.price
        return Bilingual(
            f"{capitalised(subject.english)} cost {price.english}.",
            f"{capitalised(subject.german)} kostete {price.german}.",
        )

    @property
    def notice(self) -> Bilingual:
        """The event and its price, as a text for translation."""
        return joined((self.sentence, self.price_sentence))

    @property
    def recoverable(self) -> tuple[str, ...]:
        """Words of the event's sentence that can be inferred from their partner."""
        return (*self.thing.recoverable, *self.place.thing.recoverable)

    @property
    def gist(self) -> Bilingual:
        """The event in short, for example `Anna bought a cake`."""
        past, thing = self.verb.past, self.thing.short_object
        return Bilingual(
            f"{self.person.name} {past.english} {thing.english}", f"{self.person.name} {past.german} {thing.german}"
        )


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """A question about a document, with a span as answer."""

    event: Event
    """The event in question."""
    question: Question
    document_recoverable: tuple[str, ...]
    """Words of the document that can be inferred from their partner, and are needed for the answer."""


@dataclass(frozen=True, slots=True)
class Document:
    """A story of three to six sentences."""

    events: tuple[Event, Event]
    """With different people, things, places, prices and days."""
    weather: Bilingual | None
    acquainted: bool
    """Whether it ends by stating that the two people know each other."""

    @property
    def sentences(self) -> tuple[Bilingual, ...]:
        """The sentences in order."""
        sentences = []
        if self.weather is not None:
            weather = self.weather
            sentences.append(Bilingual(f"The weather was {weather.english}.", f"Das Wetter war {weather.german}."))
        for event in self.events:
            sentences.append(event.sentence)
            if event.priced:
                sentences.append(event.price_sentence)
        if self.acquainted:
            first, second = (event.person.name for event in self.events)
            sentences.append(Bilingual(f"{first} and {second} know each other.", f"{first} und {second} kennen sich."))
        return tuple(sentences)

    @property
    def text(self) -> Bilingual:
        """The whole story."""
        return joined(self.sentences)

    @property
    def summary(self) -> Bilingual:
        """Both events in one sentence, for example `Anna bought a cake and Hugo found a knife.`"""
        first, second = (event.gist for event in self.events)
        return Bilingual(f"{first.english} and {second.english}.", f"{first.german} und {second.german}.")


def draw_document(rng: np.random.Generator) -> Document:
    """A random story."""
    people, things, places, days = (rng.permutation(len(words))[:2] for words in (PEOPLE, BELONGINGS, PLACES, DAYS))
    verbs = rng.integers(len(VERBS), size=2)
    if rng.random() < _SAME_VERB:
        verbs[1] = verbs[0]
    coins = rng.permutation(np.arange(2, len(NUMBERS)))[:2]
    # At least one extra sentence, so that a story has three or more.
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


def draw_document_question(*, document: Document, rng: np.random.Generator) -> DocumentQuestion:
    """A random question about one of the events."""
    event = document.events[rng.integers(2)]
    possible = _questions(event)
    question = possible[rng.integers(len(possible))]
    place = event.place.thing.recoverable
    in_place = question.answer == event.place.phrase
    return DocumentQuestion(event, question, document_recoverable=place if in_place else event.thing.recoverable)


def _questions(event: Event) -> list[Question]:
    """All questions about an event that the story answers."""
    name, verb, what = event.person.name, event.verb.english_infinitive, event.thing.name
    who = f"{name} the {event.person.trade}"
    # The story states only the name, so the name is masked; it can be inferred from the trade.
    masked = (name,)
    noun = (event.thing.noun.english,)
    questions = [
        Question(f"Who {event.verb.past.english} the {what.english}?", Bilingual(name, name), noun),
        Question(f"What did {who} {verb}?", what, masked),
        Question(f"Where did {who} {verb} something?", event.place.phrase, masked),
        Question(f"On which day did {who} {verb} something?", event.day, masked),
    ]
    if event.priced:
        questions.append(Question(f"How much did the {what.english} cost?", event.price, noun))
    return questions
