"""Questions over chronicles on the hidden split: people are named by their trade and things by their noun alone.

Other paths than on the other splits: to day and place of the event that a thing leads to, to the price of another
thing, and over four articles.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.encyclopedia import FACTS, KINDS, SUBGOALS, Draft, chronicle, number_for
from evaluator.lumos.mini.hidden.grammar import Grammar
from evaluator.lumos.mini.hidden.verbs import past_of
from evaluator.miniature.seeds import one_of

if TYPE_CHECKING:
    from evaluator.miniature.grammar.documents import Event
    from evaluator.miniature.grammar.words import Verb

_WORDINGS: Mapping[str, tuple[str, ...]] = {
    "who": (
        "In the annals of {town}, the {trade} {first} one thing. Name the person who {second} it.",
        "Somebody in the annals of {town} {second} the very thing that the {trade} {first}. Name that person.",
        "The annals of {town} say what the {trade} {first}. Another entry has somebody who {second} it: who was that?",
    ),
    "fact": (
        "An entry in the annals of {town} says that somebody {first} the {noun}. {fact}",
        "Look for the entry on whoever {first} the {noun} in the annals of {town}. {fact}",
    ),
    "price": (
        "In the annals of {town}, whoever {first} the {noun} also {second} another thing. State the price of "
        "the latter.",
        "One person in the annals of {town} {first} the {noun} and {second} something different. What was that other "
        "thing's price?",
    ),
    "three-fact": (
        "Take the thing that the {trade} {first}, by the annals of {town}. Another entry says who {second} it. {fact}",
        "By the annals of {town}, somebody {second} a thing, the same that the {trade} {first}. {fact}",
    ),
    "three-who": (
        "Begin with the thing that the {trade} {first} in the annals of {town}. Whoever {second} it also "
        "{third} a thing. "
        "Name the person who {fourth} this last thing.",
        "Somebody in the annals of {town} {second} what the {trade} {first}, and {third} a second thing as "
        "well. Name the "
        "person who {fourth} that second thing.",
    ),
}  # fmt: skip
_ASKED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "fact": {
        "day": ("Which weekday does it give?", "State the weekday of that entry."),
        "place": ("Which place does it give?", "State the place that this entry names."),
    },
    "three-fact": {
        "day": ("Which weekday does that second entry give?", "State the weekday on which that somebody did so."),
        "place": ("Which place does that second entry give?", "State the place where that somebody did so."),
    },
}


def draw_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the question with this number. Attempts give questions of the same kind."""
    number, kind = number_for(index), KINDS[index % len(KINDS)]
    draft = _Draft(source=source, number=number, kind=kind, index=index, attempt=attempt)
    text, answer = _DRAWERS[kind](draft)
    return Drawn(text=text, answer=answer, gold=tuple(draft.turns), kind=kind, scope=f"chronicle {number}")


class _Draft(Draft):
    """A question and its solution, whose first look-up finds the whole title of an article."""

    def __init__(self, *, source: Source, number: int, kind: str, index: int, attempt: int) -> None:
        self.grammar = Grammar(source)
        self._kind = kind
        super().__init__(chronicle(source=source, number=number), self.grammar.stream("question", index, attempt))

    def thing_by_trade(self, event: "Event") -> str:
        """Look up the thing of an event by the trade of its person."""
        trade, verb = event.person.trade, event.verb
        return self.look_up(
            subgoal=f"Find out what the {trade} {verb.past.english}.", entity=trade, query=verb.past.english,
            question=f"What did {{}} {verb.english_infinitive}?", with_title=True,
        )  # fmt: skip

    def person_by_noun(self, event: "Event") -> str:
        """Look up the person of an event by the noun of its thing."""
        noun, verb = event.thing.noun.english, event.verb
        return self.look_up(
            subgoal=f"Find out who {verb.past.english} the {noun}.", entity=noun, query=f"{verb.past.english} {{}}",
            question=f"Who {verb.past.english} the {{}}?", with_title=True,
        )  # fmt: skip

    def price_of(self, thing: str) -> None:
        """Look up the price of a thing, which is a reference."""
        self.look_up(
            subgoal="Find out how much that thing cost.", entity=thing, query="{} cost",
            question="How much did the {} cost?",
        )  # fmt: skip

    def text(self, *verbs: "Verb", event: "Event", fact: str = "") -> str:
        """The season's wording of a question that begins with an event."""
        pasts = (past_of(verb, grammar=self.grammar) for verb in verbs)
        slots = dict(zip(("first", "second", "third", "fourth"), pasts, strict=False))
        # Question and end of a wording belong together.
        wordings = _WORDINGS[self._kind]
        place = wordings.index(self.grammar.wording(f"chronicle {self._kind}", wordings))
        asked = _ASKED[self._kind][fact][place] if fact else ""
        return wordings[place].format(
            town=self.chronicle.town, trade=event.person.trade, noun=event.thing.noun.english, fact=asked, **slots
        )

    def day_or_place(self) -> str:
        """One of the two facts."""
        return one_of(self.rng, ("day", "place"))


def _who(draft: _Draft) -> tuple[str, str]:
    first, second, *_ = draft.verbs()
    start = draft.event(first)
    draft.person_of(thing=draft.thing_by_trade(start), verb=second, name="it")
    end = draft.chronicle.of(verb=second, thing=start.thing)
    return draft.text(first, second, event=start), end.person.name


def _fact(draft: _Draft) -> tuple[str, str]:
    first, *_ = draft.verbs()
    start, fact = draft.event(first), draft.day_or_place()
    draft.fact_of(person=draft.person_by_noun(start), verb=first, fact=fact)
    return draft.text(first, event=start, fact=fact), FACTS[fact][1](start)


def _price(draft: _Draft) -> tuple[str, str]:
    events = draft.chronicle.events
    priced = {event.thing for event in events if event.priced}
    first, second, *_ = draft.verbs()
    possible = [
        (event, other)
        for event in events
        if event.verb is first
        and (other := draft.chronicle.by(verb=second, person=event.person)).thing in priced - {event.thing}
    ]
    start, end = one_of(draft.rng, possible)
    person = draft.person_by_noun(start)
    thing = draft.look_up(
        subgoal=SUBGOALS["thing"].format(second.past.english), entity=person, query=second.past.english,
        question=FACTS["thing"][0].format("{}", second.english_infinitive), with_title=True,
    )  # fmt: skip
    draft.price_of(thing)
    return draft.text(first, second, event=start), end.price.english


def _three_fact(draft: _Draft) -> tuple[str, str]:
    first, second, *_ = draft.verbs()
    start, fact = draft.event(first), draft.day_or_place()
    person = draft.person_of(thing=draft.thing_by_trade(start), verb=second, name="it")
    draft.fact_of(person=person, verb=second, fact=fact)
    end = draft.chronicle.of(verb=second, thing=start.thing)
    return draft.text(first, second, event=start, fact=fact), FACTS[fact][1](end)


def _three_who(draft: _Draft) -> tuple[str, str]:
    first, second, third, fourth = draft.verbs()
    start = draft.event(first)
    person = draft.person_of(thing=draft.thing_by_trade(start), verb=second, name="it")
    thing = draft.fact_of(person=person, verb=third, fact="thing")
    draft.person_of(thing=thing, verb=fourth, name="it")
    middle = draft.chronicle.of(verb=second, thing=start.thing)
    last = draft.chronicle.by(verb=third, person=middle.person)
    end = draft.chronicle.of(verb=fourth, thing=last.thing)
    return draft.text(first, second, third, fourth, event=start), end.person.name


_DRAWERS: Mapping[str, Callable[[_Draft], tuple[str, str]]] = {
    "who": _who,
    "fact": _fact,
    "price": _price,
    "three-fact": _three_fact,
    "three-who": _three_who,
}
