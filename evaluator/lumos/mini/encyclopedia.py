"""Chronicles of towns as articles, and questions of two and three hops over them.

A chronicle says who bought, sold, found and lost what, where and on which day.

Each person and each thing has an article with a paragraph for each of the four verbs. A paragraph is a story of two
events as the reader expert knows them: the one that the article is about, and another one of the same verb, so that
only names tell them apart. For each verb each person has one thing and each thing one person, so every question has one
answer. Articles about people are titled with their trade, which questions to the reader need.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.retrieval.articles import Article
from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.grammar.documents import Document, Event
from evaluator.miniature.grammar.words import BELONGINGS, DAYS, PEOPLE, PLACES, VERBS, Belonging, Person, Verb
from evaluator.miniature.seeds import one_of, some_of

if TYPE_CHECKING:
    import numpy as np


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


KINDS = ("who", "fact", "price", "three-fact", "three-who")
_FACTS: dict[str, tuple[str, Callable[[Event], str]]] = {
    "day": ("On which day did {0} {1} something?", lambda event: event.day.english),
    "place": ("Where did {0} {1} something?", lambda event: event.place.phrase.english),
    "thing": ("What did {0} {1}?", lambda event: event.thing.name.english),
}
_SUBGOALS = {
    "day": "Find out on which day that person {} something.",
    "place": "Find out where that person {} something.",
    "thing": "Find out what that person {}.",
}


def draw_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """The question with this number; each attempt is another one of the same kind."""
    rng = source.stream("question", index, attempt)
    number = index % len(TOWNS) + len(TOWNS) * (index // 600)
    kind = KINDS[index % len(KINDS)]
    told = chronicle(source=source, number=number)
    draft = _Draft(told, rng)
    text, answer = _DRAWERS[kind](draft)
    return Drawn(
        text=f"According to the chronicle of {told.town}: {text}", answer=answer, gold=tuple(draft.turns), kind=kind,
        scope=f"chronicle {number}",
    )  # fmt: skip


class _Draft:
    """A question and the way to its answer."""

    def __init__(self, told: Chronicle, rng: "np.random.Generator") -> None:
        self.told, self.rng = told, rng
        self.turns: list[GoldTurn] = []
        self._results = 0

    def verbs(self) -> list[Verb]:
        """The four verbs in random order."""
        return some_of(self.rng, VERBS, count=len(VERBS))

    def event(self, verb: Verb) -> Event:
        """Something that happened."""
        return one_of(self.rng, [event for event in self.told.events if event.verb is verb])

    def look_up(self, *, subgoal: str, entity: str, query: str, question: str, with_title: bool = False) -> str:
        """Add a turn that answers a question from an entity's article, and return the reference of the answer.

        In `query` and `question` a `{}` is the entity, or the title of its article.
        """
        first = self._results + 1
        article = f"R{first}"
        title = f"R{first + 1}" if with_title else entity
        passage, answer = (f"R{first + number + with_title}" for number in (1, 2))
        outputs = f"{article}, {title}" if with_title else article
        actions = (
            f"{outputs} = KnowledgeQuery({entity})",
            f"{passage} = ParagraphRetrieve({article}, Query: {query.format(title)})",
            f"{answer} = QA([{passage}], Question: {question.format(title)})",
        )
        self.turns.append(GoldTurn(subgoal, "; ".join(actions)))
        self._results = first + 2 + with_title
        return answer

    def thing_of(self, event: Event) -> str:
        """What somebody of the request did something with."""
        person, verb = named(event.person), event.verb
        return self.look_up(
            subgoal=f"Find out what {person} {verb.past.english}.", entity=person, query=verb.past.english,
            question=f"What did {{}} {verb.english_infinitive}?",
        )  # fmt: skip

    def person_of(self, *, thing: str, verb: Verb, name: str) -> str:
        """Who did something with a thing that is a reference or a name."""
        return self.look_up(
            subgoal=f"Find out who {verb.past.english} {name}.", entity=thing, query=f"{verb.past.english} {{}}",
            question=f"Who {verb.past.english} the {{}}?",
        )  # fmt: skip

    def fact_of(self, *, person: str, verb: Verb, fact: str) -> str:
        """A fact about what a person who is a reference did."""
        return self.look_up(
            subgoal=_SUBGOALS[fact].format(verb.past.english), entity=person, query=verb.past.english,
            question=_FACTS[fact][0].format("{}", verb.english_infinitive), with_title=True,
        )  # fmt: skip


def _who(draft: _Draft) -> tuple[str, str]:
    first, second, *_ = draft.verbs()
    start = draft.event(first)
    draft.person_of(thing=draft.thing_of(start), verb=second, name="it")
    end = draft.told.of(verb=second, thing=start.thing)
    return f"Who {second.past.english} what {named(start.person)} {first.past.english}?", end.person.name


def _fact(draft: _Draft) -> tuple[str, str]:
    first, second, *_ = draft.verbs()
    start = draft.event(first)
    thing = start.thing.name.english
    person = draft.person_of(thing=thing, verb=first, name=f"the {thing}")
    fact = one_of(draft.rng, tuple(_FACTS))
    draft.fact_of(person=person, verb=second, fact=fact)
    end = draft.told.by(verb=second, person=start.person)
    who = f"the one who {first.past.english} the {thing}"
    return _FACTS[fact][0].format(who, second.english_infinitive), _FACTS[fact][1](end)


def _price(draft: _Draft) -> tuple[str, str]:
    priced = {event.thing.noun.english for event in draft.told.events if event.priced}
    first = draft.verbs()[0]
    start = one_of(
        draft.rng, [one for one in draft.told.events if one.verb is first and one.thing.noun.english in priced]
    )
    thing = draft.thing_of(start)
    draft.look_up(
        subgoal="Find out how much it cost.", entity=thing, query="{} cost", question="How much did the {} cost?"
    )
    return f"How much did the thing cost that {named(start.person)} {first.past.english}?", start.price.english


def _three_fact(draft: _Draft) -> tuple[str, str]:
    first, second, third, _ = draft.verbs()
    start = draft.event(first)
    person = draft.person_of(thing=draft.thing_of(start), verb=second, name="it")
    fact = one_of(draft.rng, tuple(_FACTS))
    draft.fact_of(person=person, verb=third, fact=fact)
    middle = draft.told.of(verb=second, thing=start.thing)
    end = draft.told.by(verb=third, person=middle.person)
    who = f"the one who {second.past.english} what {named(start.person)} {first.past.english}"
    return _FACTS[fact][0].format(who, third.english_infinitive), _FACTS[fact][1](end)


def _three_who(draft: _Draft) -> tuple[str, str]:
    first, second, third, _ = draft.verbs()
    start = draft.event(first)
    thing = start.thing.name.english
    person = draft.person_of(thing=thing, verb=first, name=f"the {thing}")
    other = draft.fact_of(person=person, verb=second, fact="thing")
    draft.person_of(thing=other, verb=third, name="it")
    middle = draft.told.by(verb=second, person=start.person)
    end = draft.told.of(verb=third, thing=middle.thing)
    who = f"the one who {first.past.english} the {thing}"
    return f"Who {third.past.english} what {who} {second.past.english}?", end.person.name


_DRAWERS: dict[str, Callable[[_Draft], tuple[str, str]]] = {
    "who": _who,
    "fact": _fact,
    "price": _price,
    "three-fact": _three_fact,
    "three-who": _three_who,
}
