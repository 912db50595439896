"""Chronicles of towns as articles, and questions of two and three hops over them.

A chronicle records who bought, sold, found and lost what, where and on which day.

Each person and each thing has an article with a paragraph for each of the four verbs. A paragraph is a story of two
events, of the kind that the reader expert is trained on: the article's event, and another one with the same verb, which
differs in all names. Each verb maps people to things one-to-one, so every question has one answer. Titles of articles
about people include their trade, which questions to the reader need.
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
"""Towns of all splits; each split draws other events."""


@dataclass(frozen=True, slots=True)
class Chronicle:
    """The events of a town."""

    town: str
    events: tuple[Event, ...]
    """One for each verb and person."""
    articles: tuple[Article, ...]

    def by(self, *, verb: Verb, person: Person) -> Event:
        """The event of a verb and a person."""
        return next(event for event in self.events if event.verb is verb and event.person is person)

    def of(self, *, verb: Verb, thing: Belonging) -> Event:
        """The event of a verb and a thing."""
        return next(event for event in self.events if event.verb is verb and event.thing is thing)


@lru_cache(maxsize=64)
def chronicle(*, source: Source, number: int) -> Chronicle:
    """The chronicle of a town of a split.

    Args:
        source: the split.
        number: index of the town in `TOWNS`; larger numbers give further chronicles of the same towns.
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
    topics = [
        *((named(person), [event for event in events if event.person is person]) for person in PEOPLE),
        *((thing.name.english, [event for event in events if event.thing is thing]) for thing in BELONGINGS),
    ]
    articles = tuple(
        Article(title, tuple(_paragraph(event, events=events, rng=rng) for event in own)) for title, own in topics
    )
    return Chronicle(TOWNS[number % len(TOWNS)], tuple(events), articles)


def _paragraph(event: Event, *, events: list[Event], rng: np.random.Generator) -> str:
    others = [
        other
        for other in events
        if other.verb is event.verb
        and other.person is not event.person
        and other.thing is not event.thing
        and other.place is not event.place
        and other.day is not event.day
        and other.coins != event.coins
    ]
    other = others[int(rng.integers(len(others)))]
    pair = (event, other) if rng.random() < 0.5 else (other, event)
    return Document(events=pair, weather=None, acquainted=False).text.english


def named(person: Person) -> str:
    """For example `Anna the baker`."""
    return f"{person.name} the {person.trade}"


KINDS = ("who", "fact", "price", "three-fact", "three-who")
FACTS: dict[str, tuple[str, Callable[[Event], str]]] = {
    "day": ("On which day did {0} {1} something?", lambda event: event.day.english),
    "place": ("Where did {0} {1} something?", lambda event: event.place.phrase.english),
    "thing": ("What did {0} {1}?", lambda event: event.thing.name.english),
}
SUBGOALS = {
    "day": "Find out on which day that person {} something.",
    "place": "Find out where that person {} something.",
    "thing": "Find out what that person {}.",
}


def number_for(index: int) -> int:
    """Number of a task's chronicle."""
    return index % len(TOWNS) + len(TOWNS) * (index // 600)


def draw_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the question with this number. Attempts give questions of the same kind."""
    rng = source.stream("question", index, attempt)
    number, kind = number_for(index), KINDS[index % len(KINDS)]
    draft = Draft(chronicle(source=source, number=number), rng)
    text, answer = _DRAWERS[kind](draft)
    return Drawn(
        text=f"According to the chronicle of {draft.chronicle.town}: {text}", answer=answer, gold=tuple(draft.turns),
        kind=kind, scope=f"chronicle {number}",
    )  # fmt: skip


class Draft:
    """A question and its solution."""

    def __init__(self, chronicle: Chronicle, rng: "np.random.Generator") -> None:
        self.chronicle, self.rng = chronicle, rng
        self.turns: list[GoldTurn] = []
        self._results = 0

    def verbs(self) -> list[Verb]:
        """The four verbs in random order."""
        return some_of(self.rng, VERBS, count=len(VERBS))

    def event(self, verb: Verb) -> Event:
        """A random event of a verb."""
        return one_of(self.rng, [event for event in self.chronicle.events if event.verb is verb])

    def look_up(self, *, subgoal: str, entity: str, query: str, question: str, with_title: bool = False) -> str:
        """Add a turn that answers a question from an entity's article, and return the reference to the answer.

        In `query` and `question`, `{}` stands for the entity, or the title of its article.
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
        """Look up the thing of an event by its person."""
        person, verb = named(event.person), event.verb
        return self.look_up(
            subgoal=f"Find out what {person} {verb.past.english}.", entity=person, query=verb.past.english,
            question=f"What did {{}} {verb.english_infinitive}?",
        )  # fmt: skip

    def person_of(self, *, thing: str, verb: Verb, name: str) -> str:
        """Look up the person of an event by its thing, which is a reference or a name."""
        return self.look_up(
            subgoal=f"Find out who {verb.past.english} {name}.", entity=thing, query=f"{verb.past.english} {{}}",
            question=f"Who {verb.past.english} the {{}}?",
        )  # fmt: skip

    def fact_of(self, *, person: str, verb: Verb, fact: str) -> str:
        """Look up a fact of an event by its person, which is a reference."""
        return self.look_up(
            subgoal=SUBGOALS[fact].format(verb.past.english), entity=person, query=verb.past.english,
            question=FACTS[fact][0].format("{}", verb.english_infinitive), with_title=True,
        )  # fmt: skip


def _who(draft: Draft) -> tuple[str, str]:
    first, second, *_ = draft.verbs()
    start = draft.event(first)
    draft.person_of(thing=draft.thing_of(start), verb=second, name="it")
    end = draft.chronicle.of(verb=second, thing=start.thing)
    return f"Who {second.past.english} what {named(start.person)} {first.past.english}?", end.person.name


def _fact(draft: Draft) -> tuple[str, str]:
    first, second, *_ = draft.verbs()
    start = draft.event(first)
    thing = start.thing.name.english
    person = draft.person_of(thing=thing, verb=first, name=f"the {thing}")
    fact = one_of(draft.rng, tuple(FACTS))
    draft.fact_of(person=person, verb=second, fact=fact)
    end = draft.chronicle.by(verb=second, person=start.person)
    who = f"the one who {first.past.english} the {thing}"
    return FACTS[fact][0].format(who, second.english_infinitive), FACTS[fact][1](end)


def _price(draft: Draft) -> tuple[str, str]:
    events = draft.chronicle.events
    priced = {event.thing.noun.english for event in events if event.priced}
    first = draft.verbs()[0]
    start = one_of(draft.rng, [event for event in events if event.verb is first and event.thing.noun.english in priced])
    thing = draft.thing_of(start)
    draft.look_up(
        subgoal="Find out how much it cost.", entity=thing, query="{} cost", question="How much did the {} cost?"
    )
    return f"How much did the thing cost that {named(start.person)} {first.past.english}?", start.price.english


def _three_fact(draft: Draft) -> tuple[str, str]:
    first, second, third, _ = draft.verbs()
    start = draft.event(first)
    person = draft.person_of(thing=draft.thing_of(start), verb=second, name="it")
    fact = one_of(draft.rng, tuple(FACTS))
    draft.fact_of(person=person, verb=third, fact=fact)
    middle = draft.chronicle.of(verb=second, thing=start.thing)
    end = draft.chronicle.by(verb=third, person=middle.person)
    who = f"the one who {second.past.english} what {named(start.person)} {first.past.english}"
    return FACTS[fact][0].format(who, third.english_infinitive), FACTS[fact][1](end)


def _three_who(draft: Draft) -> tuple[str, str]:
    first, second, third, _ = draft.verbs()
    start = draft.event(first)
    thing = start.thing.name.english
    person = draft.person_of(thing=thing, verb=first, name=f"the {thing}")
    other = draft.fact_of(person=person, verb=second, fact="thing")
    draft.person_of(thing=other, verb=third, name="it")
    middle = draft.chronicle.by(verb=second, person=start.person)
    end = draft.chronicle.of(verb=third, thing=middle.thing)
    who = f"the one who {first.past.english} the {thing}"
    return f"Who {third.past.english} what {who} {second.past.english}?", end.person.name


_DRAWERS: dict[str, Callable[[Draft], tuple[str, str]]] = {
    "who": _who,
    "fact": _fact,
    "price": _price,
    "three-fact": _three_fact,
    "three-who": _three_who,
}
