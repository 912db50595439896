"""Word problems about what people have, get and give away; every result is a whole number."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.grammar.words import BELONGINGS, PEOPLE
from evaluator.miniature.seeds import one_of, some_of

if TYPE_CHECKING:
    import numpy as np

MOST = 5
"""Operations."""
_LARGEST = 600
_PLURALS = {"knife": "knives", "watch": "watches", "fish": "fish"}


def draw_problem(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the problem with this number, of `index % 5 + 1` operations. Attempts give problems of the same kind."""
    operations = index % MOST + 1
    draft = _Draft(source.stream("problem", index, attempt))
    while operations:
        middle = [event for event in _MIDDLE if event[0] < operations]
        possible = middle + [event for event in _ENDS if event[0] == operations]
        needs, add = one_of(draft.rng, possible)
        if add(draft):
            operations -= needs
    return Drawn(
        text=" ".join(draft.sentences), answer=str(draft.value), gold=tuple(draft.turns),
        kind=f"{index % MOST + 1} operation{'s' if index % MOST else ''}",
    )  # fmt: skip


class _Draft:
    """A problem under construction."""

    def __init__(self, rng: "np.random.Generator") -> None:
        self.rng = rng
        self.who, self.other = (person.name for person in some_of(rng, PEOPLE, count=2))
        noun = one_of(rng, BELONGINGS).noun.english
        self.things = _PLURALS.get(noun, f"{noun}s")
        self.value = self.number(5, 40)
        self.sentences = [f"{self.who} has {self.value} {self.things}."]
        self.turns: list[GoldTurn] = []
        self.last = str(self.value)
        """The current number in an action: a literal or a reference."""

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def calculate(self, *, subgoal: str, expression: str, value: int) -> str:
        """Add a turn; returns the reference of its result."""
        reference = f"R{len(self.turns) + 1}"
        self.turns.append(GoldTurn(subgoal, f"{reference} = Calculator({expression})"))
        self.last, self.value = reference, value
        return reference


def _gets(draft: _Draft) -> bool:
    more = draft.number(2, 30)
    draft.sentences.append(f"{draft.who} {one_of(draft.rng, ('buys', 'finds', 'makes'))} {more} more.")
    draft.calculate(
        subgoal=f"Calculate how many {draft.things} {draft.who} has after getting {more} more.",
        expression=f"{draft.last} + {more}", value=draft.value + more,
    )  # fmt: skip
    return True


def _gives(draft: _Draft) -> bool:
    if draft.value < 4:
        return False
    fewer = draft.number(2, min(30, draft.value - 2))
    draft.sentences.append(f"{draft.who} {one_of(draft.rng, ('gives', 'sells', 'lends'))} {fewer} to {draft.other}.")
    draft.calculate(
        subgoal=f"Calculate how many {draft.things} {draft.who} has left after giving away {fewer}.",
        expression=f"{draft.last} - {fewer}", value=draft.value - fewer,
    )  # fmt: skip
    return True


def _multiplies(draft: _Draft) -> bool:
    times = draft.number(2, 5)
    if draft.value * times > _LARGEST:
        return False
    draft.sentences.append(f"A week later {draft.who} has {times} times as many.")
    draft.calculate(
        subgoal=f"Calculate how many {draft.things} {times} times as many are.",
        expression=f"{draft.last} * {times}", value=draft.value * times,
    )  # fmt: skip
    return True


def _bags(draft: _Draft) -> bool:
    bags, each = draft.number(2, 9), draft.number(2, 12)
    before, had = draft.last, draft.value
    draft.sentences.append(f"{draft.who} gets {bags} boxes with {each} {draft.things} in each.")
    inside = draft.calculate(
        subgoal=f"Calculate how many {draft.things} are in the {bags} boxes.", expression=f"{bags} * {each}",
        value=bags * each,
    )  # fmt: skip
    draft.calculate(
        subgoal=f"Calculate how many {draft.things} {draft.who} has with those of the boxes.",
        expression=f"{before} + {inside}", value=had + bags * each,
    )  # fmt: skip
    return True


def _asked(draft: _Draft, add: Callable[[_Draft], bool]) -> bool:
    if not add(draft):
        return False
    draft.sentences.append(f"How many {draft.things} does {draft.who} have?")
    return True


def _shares(draft: _Draft) -> bool:
    possible = [count for count in range(2, 10) if draft.value % count == 0]
    if not possible:
        return False
    friends = one_of(draft.rng, possible)
    draft.sentences.append(
        f"{draft.who} shares them equally among {friends} friends. How many {draft.things} does each friend get?"
    )
    draft.calculate(
        subgoal=f"Calculate how many {draft.things} each of the {friends} friends gets.",
        expression=f"{draft.last} / {friends}", value=draft.value // friends,
    )  # fmt: skip
    return True


def _sells(draft: _Draft) -> bool:
    coins = draft.number(2, 9)
    draft.sentences.append(
        f"{draft.who} sells all of them for {coins} coins each. How many coins does {draft.who} get?"
    )
    draft.calculate(
        subgoal=f"Calculate how many coins {draft.who} gets for all {draft.things}.",
        expression=f"{draft.last} * {coins}", value=draft.value * coins,
    )  # fmt: skip
    return True


def _together(draft: _Draft) -> bool:
    more, before, had = draft.number(2, 30), draft.last, draft.value
    draft.sentences.append(
        f"{draft.other} has {more} more {draft.things} than {draft.who}. How many do they have together?"
    )
    others = draft.calculate(
        subgoal=f"Calculate how many {draft.things} {draft.other} has.", expression=f"{before} + {more}",
        value=had + more,
    )  # fmt: skip
    draft.calculate(
        subgoal="Calculate how many they have together.", expression=f"{before} + {others}", value=had + had + more
    )
    return True


_MIDDLE: tuple[tuple[int, Callable[[_Draft], bool]], ...] = ((1, _gets), (1, _gives), (1, _multiplies), (2, _bags))
"""Events before the end, with their number of operations."""
_ENDS: tuple[tuple[int, Callable[[_Draft], bool]], ...] = (
    *((needs, lambda draft, add=add: _asked(draft, add)) for needs, add in _MIDDLE),
    (1, _shares), (1, _sells), (2, _together),
)  # fmt: skip
"""Final events, with the question."""
