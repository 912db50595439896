"""Questions over the chronicle of a town, whose answers take two or three articles."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from evaluator.lumos.gold_turns import GoldTurn
from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.encyclopedia.chronicle import TOWNS, Chronicle, chronicle, named
from evaluator.miniature.draws import one_of, some_of
from evaluator.miniature.grammar.documents import Event
from evaluator.miniature.grammar.words import VERBS, Verb

if TYPE_CHECKING:
    import numpy as np

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
