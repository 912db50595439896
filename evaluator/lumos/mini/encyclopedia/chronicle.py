"""The chronicle of a town: who bought, sold, found and lost what, where and on which day, as articles.

Each person and each thing has an article with a paragraph for each of the four verbs. A paragraph is a story of two
events as the reader expert knows them: the one that the article is about, and another one of the same verb, so that
only names tell them apart. For each verb each person has one thing and each thing one person, so every question has one
answer. Articles about people are titled with their trade, which questions to the reader need.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evaluator.lumos.mini.draws import Source
from evaluator.lumos.retrieval.articles import Article
from evaluator.miniature.grammar.documents import Document, Event
from evaluator.miniature.grammar.words import BELONGINGS, DAYS, PEOPLE, PLACES, VERBS, Belonging, Person, Verb

TOWNS = ("Alder", "Birchfield", "Cedarbrook", "Dunmoor", "Elmstead", "Farnley")
"""The first six split; each split draws other events for the same towns."""


@dataclass(frozen=True, slots=True)
class Chronicle:
    """The events of a town."""

    town: str
    events: tuple[Event, ...]
    """One for each verb and person."""
    articles: tuple[Article, ...]

    def by(self, *, verb: Verb, person: Person) -> Event:
        """What a person did."""
        return next(event for event in self.events if event.verb is verb and event.person is person)

    def of(self, *, verb: Verb, thing: Belonging) -> Event:
        """What was done with a thing."""
        return next(event for event in self.events if event.verb is verb and event.thing is thing)


@lru_cache(maxsize=64)
def chronicle(*, source: Source, number: int) -> Chronicle:
    """The chronicle of a town of a split.

    Args:
        source: the split.
        number: index of the town in `TOWNS`; larger ones give further chronicles of the same names.
    """
    rng = source.stream("chronicle", number)
    coins = [int(value) for value in rng.integers(2, 9, size=len(BELONGINGS))]
    events: list[Event] = []
    for verb in VERBS:
        things, places = rng.permutation(len(BELONGINGS)), rng.permutation(len(PLACES))
        for index, person in enumerate(PEOPLE):
            thing = int(things[index])
            events.append(
                Event(
                    person=person, verb=verb, thing=BELONGINGS[thing], place=PLACES[int(places[index])],
                    day=DAYS[int(rng.integers(len(DAYS)))], coins=coins[thing], priced=bool(rng.random() < 0.5),
                )
            )  # fmt: skip
    articles = [
        *(_article(named(person), [one for one in events if one.person is person], events, rng) for person in PEOPLE),
        *(
            _article(thing.name.english, [one for one in events if one.thing is thing], events, rng)
            for thing in BELONGINGS
        ),
    ]
    return Chronicle(TOWNS[number % len(TOWNS)], tuple(events), tuple(articles))


def _article(title: str, own: list[Event], events: list[Event], rng: np.random.Generator) -> Article:
    return Article(title, tuple(_paragraph(event, events=events, rng=rng) for event in own))


def _paragraph(event: Event, *, events: list[Event], rng: np.random.Generator) -> str:
    others = [
        one
        for one in events
        if one.verb is event.verb
        and one.person is not event.person
        and one.thing is not event.thing
        and one.place is not event.place
        and one.day is not event.day
        and one.coins != event.coins
    ]
    other = others[int(rng.integers(len(others)))]
    pair = (event, other) if rng.random() < 0.5 else (other, event)
    return Document(events=pair, weather=None, acquainted=False).text.english


def named(person: Person) -> str:
    """For example `Anna the baker`."""
    return f"{person.name} the {person.trade}"
