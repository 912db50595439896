"""The search: grids of growing cost that equal the outputs, and tables from labels of cells to colours.

A table counts only if it fits every cell of every demonstration and has an entry for every cell of the test inputs.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import Any

from evaluator.arc.search.functions import Grid
from evaluator.arc.search.menu import grid_options, labels_of, objects_cut
from evaluator.arc.search.terms import Bench, Made, Term, WorkIsDoneError, program_of, size

_FUNCTIONS = {1: "by_one", 2: "by_two", 3: "by_three"}
Flat = list[Any]
"""The labels of all cells of all demonstrations, concatenated."""


def flat(grids: Sequence[Any]) -> Flat:
    """All cells of all grids."""
    return list(chain.from_iterable(chain.from_iterable(grids)))


def learnt(keys: Sequence[Any], values: Sequence[str]) -> dict[Any, str] | None:
    """The map from keys to values; None if a key has two values."""
    table: dict[Any, str] = {}
    for key, value in zip(keys, values, strict=True):
        if table.setdefault(key, value) != value:
            return None
    return table


def covers(table: dict[Any, str], parts: Sequence[Made], *, tests: int) -> bool:
    """Whether the table has an entry for every cell of the tests."""
    shapes = [[size(grid) for grid in part.values[-tests:]] for part in parts]
    if any(shape != shapes[0] for shape in shapes):
        return False
    columns = [flat(part.values[-tests:]) for part in parts]
    keys = columns[0] if len(parts) == 1 else zip(*columns, strict=True)
    return all(key in table for key in keys)


def applied(table: dict[Any, str], parts: Sequence[Made], *, tests: int) -> tuple[Grid, ...]:
    """The table's outputs for the tests."""
    made = []
    for place in range(-tests, 0):
        grids = [part.values[place] for part in parts]
        rows = zip(*grids, strict=True)
        made.append([[table[key[0] if len(parts) == 1 else key] for key in zip(*row, strict=True)] for row in rows])
    return tuple(made)


def term_of(table: dict[Any, str], parts: Sequence[Made]) -> Term:
    """The application of a table as a term."""
    return Term(_FUNCTIONS[len(parts)], tuple(part.term for part in parts), (_Literal(table),))


class _Literal(dict[Any, str]):
    """A hashable table, for use as an option of a term."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


WORK = 4_000_000
"""The default budget, in weighted cells that functions are applied to: about half a second on one core."""
_MOST = 3
_BASES = 6
"""Maximum number of grids of the outputs' sizes whose cells are labelled, the simplest first."""
_LAYERS = 2
"""Maximum number of consecutive functions from grid to grid."""
_PARTS = 90
"""Maximum number of labels for pairs."""
_TRIPLES = 45
"""Maximum number of labels for triples, which consist of the first grid and a pair."""


def search(
    *, demonstrations: Sequence[tuple[Grid, Grid]], tests: Sequence[Grid], budget: int = WORK, most: int = _MOST
) -> list[str]:
    """Programs that fit all demonstrations, the simplest first, with pairwise different outputs for the tests.

    Args:
        demonstrations: inputs and outputs, as grids of letters.
        tests: inputs.
        budget: maximum work; a larger budget only appends programs.
        most: maximum number of programs.
    """
    inputs = [grid for grid, _ in demonstrations]
    return _Search(
        bench=Bench(inputs=[*inputs, *tests], budget=budget), inputs=inputs,
        outputs=[output for _, output in demonstrations], tests=len(tests), most=most,
    ).run()  # fmt: skip


class _Search:
    def __init__(self, *, bench: Bench, inputs: Sequence[Grid], outputs: Sequence[Grid], tests: int, most: int) -> None:
        self._bench, self._inputs, self._outputs, self._tests, self._most = bench, inputs, outputs, tests, most
        self._sizes = [size(grid) for grid in outputs]
        self._values = flat(outputs)
        self._seen: set[str] = set()
        self._answers: dict[str, str] = {}

    def run(self) -> list[str]:
        with suppress(WorkIsDoneError):
            self._search()
        return list(self._answers.values())[: self._most]

    def _search(self) -> None:
        layer = self._new([self._bench.first])
        known = list(layer)
        for depth in range(_LAYERS):
            # Whole grids come before tables, which fit by chance more often.
            layer = self._new(self._grown(layer))
            if depth == 0:
                self._label(known, bases=1)
            known += layer
            self._pair(known)
            self._label(known, bases=_BASES)
            if len(self._answers) >= self._most:
                return

    def _new(self, terms: Iterable[Made]) -> list[Made]:
        """The terms with new values; those that equal the outputs become answers."""
        new = []
        for made in terms:
            key = repr(made.values)
            if key in self._seen:
                continue
            self._seen.add(key)
            new.append(made)
            if list(made.values[: len(self._outputs)]) == self._outputs:
                self._answers.setdefault(repr(made.values[-self._tests :]), program_of(made.term))
        return new

    def _grown(self, layer: Sequence[Made]) -> Iterator[Made]:
        options = grid_options(inputs=self._inputs, outputs=self._outputs)
        for base in layer:
            for name, arguments, weight in options:
                made = self._bench.grid(name, [base], *arguments, weight=weight)
                if made is not None:
                    yield made
            if base.cost <= 1:
                yield from objects_cut(self._bench, base)

    def _pair(self, known: Sequence[Made]) -> None:
        """Two grids beside, below or over each other, if that gives the outputs' sizes."""
        simple = [made for made in known if made.cost <= 2][:160]
        for first in simple:
            for second in simple:
                function = self._join(size(first.values[0]), size(second.values[0]))
                made = self._bench.grid(function, [first, second]) if function else None
                if made is not None:
                    self._new([made])

    def _join(self, first: tuple[int, int], second: tuple[int, int]) -> str:
        self._bench.spend(1)
        (a, b), (c, d), (rows, cols) = first, second, self._sizes[0]
        if a == c == rows and b + d == cols:
            return "beside"
        if b == d == cols and a + c == rows:
            return "below"
        return "over" if (a, b) == (c, d) == (rows, cols) else ""

    def _fits(self, made: Made) -> bool:
        return [size(grid) for grid in made.values[: len(self._sizes)]] == self._sizes

    def _label(self, known: Sequence[Made], *, bases: int) -> None:
        """Tables of one label, of two, and of the first grid with two labels."""
        grids = sorted((made for made in known if self._fits(made)), key=lambda made: made.cost)
        if not grids:
            return
        labels = grids[:_PARTS]
        for base in grids[:bases]:
            labels += labels_of(self._bench, base)
        distinct: dict[str, Made] = {}
        for made in labels:
            if self._fits(made):
                distinct.setdefault(repr(made.values), made)
        parts = list(distinct.values())
        columns = [flat(part.values[: len(self._outputs)]) for part in parts]
        count = len(parts)
        choices = chain(
            combinations(range(min(count, 10_000)), 1),
            combinations(range(min(count, _PARTS * 2)), 2),
            ((0, *pair) for pair in combinations(range(1, min(count, _TRIPLES)), 2)),
        )
        tables: list[tuple[float, list[Made], dict[object, str]]] = []
        try:
            for places in choices:
                self._bench.spend(30 + len(self._values) // 20)
                keys = (
                    list(zip(*(columns[place] for place in places), strict=True)) if places[1:] else columns[places[0]]
                )
                table = learnt(keys, self._values)
                chosen = [parts[place] for place in places]
                if table is not None and covers(table, chosen, tests=self._tests):
                    tables.append((sum(part.cost for part in chosen) + len(table) / 4, chosen, table))
        finally:
            # Tables found before the budget is spent count.
            for _, chosen, table in sorted(tables, key=lambda entry: entry[0]):
                answer = applied(table, chosen, tests=self._tests)
                self._answers.setdefault(repr(answer), program_of(term_of(table, chosen)))
