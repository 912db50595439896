"""The search: grids of growing cost that equal the outputs, and tables from labels of cells to colours.

A table counts only if it fits every cell of every demonstration and has an entry for every cell of the test inputs.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import Any

from evaluator.arc.search.functions import Grid
from evaluator.arc.search.menu import grid_options, labels_of, objects_cut
from evaluator.arc.search.terms import Bench, Made, Term, WorkIsDoneError, program_of, size

_FUNCTIONS = {1: "by_one", 2: "by_two", 3: "by_three"}
Flat = list[Any]
"""The labels of all cells of all demonstrations, one after the other."""


def flat(grids: Sequence[Any]) -> Flat:
    """All cells."""
    return list(chain.from_iterable(chain.from_iterable(grids)))


def learnt(keys: Sequence[Any], wanted: Sequence[str]) -> dict[Any, str] | None:
    """The map from keys to the wanted values; None if a key would need two."""
    table: dict[Any, str] = {}
    for key, value in zip(keys, wanted, strict=True):
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
        made.append([[table[one[0] if len(parts) == 1 else one] for one in zip(*row, strict=True)] for row in rows])
    return tuple(made)


def term_of(table: dict[Any, str], parts: Sequence[Made]) -> Term:
    """The application of a table as a term."""
    return Term(_FUNCTIONS[len(parts)], tuple(part.term for part in parts), (_Literal(table),))


class _Literal(dict[Any, str]):
    """A table as an option of a term, which needs a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


WORK = 4_000_000
"""The default budget, in cells that functions are applied to, weighted: about half a second on one core."""
_MOST = 3
_BASES = 6
"""Grids of the outputs' sizes whose cells are labelled, the simplest first."""
_LAYERS = 2
"""Functions in a row from grid to grid."""
_PARTS = 90
"""Labels of which pairs are tried."""
_TRIPLES = 45
"""Labels of which pairs are tried together with the first grid."""


def search(
    *, demonstrations: Sequence[tuple[Grid, Grid]], tests: Sequence[Grid], budget: int = WORK, most: int = _MOST
) -> list[str]:
    """Programs that fit all demonstrations, the simplest first, each with other outputs for the tests.

    Args:
        demonstrations: inputs and outputs, as grids of letters.
        tests: inputs.
        budget: of work; a larger one only adds programs behind.
        most: how many programs.
    """
    inputs = [given for given, _ in demonstrations]
    found = _Search(
        bench=Bench(inputs=[*inputs, *tests], budget=budget), inputs=inputs,
        outputs=[wanted for _, wanted in demonstrations], tests=len(tests), most=most,
    )  # fmt: skip
    return found.run()


class _Search:
    def __init__(self, *, bench: Bench, inputs: Sequence[Grid], outputs: Sequence[Grid], tests: int, most: int) -> None:
        self._bench, self._inputs, self._outputs, self._tests, self._most = bench, inputs, outputs, tests, most
        self._sizes = [size(grid) for grid in outputs]
        self._wanted = flat(outputs)
        self._seen: set[str] = set()
        self._answers: dict[str, str] = {}

    def run(self) -> list[str]:
        with suppress(WorkIsDoneError):
            self._all()
        return list(self._answers.values())[: self._most]

    def _all(self) -> None:
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

    def _new(self, made: "Iterator[Made] | list[Made]") -> list[Made]:
        """Those whose values are new; the ones that equal the outputs are answers."""
        found = []
        for one in made:
            key = repr(one.values)
            if key in self._seen:
                continue
            self._seen.add(key)
            found.append(one)
            if list(one.values[: len(self._outputs)]) == self._outputs:
                self._answers.setdefault(repr(one.values[-self._tests :]), program_of(one.term))
        return found

    def _grown(self, layer: Sequence[Made]) -> Iterator[Made]:
        options = grid_options(inputs=self._inputs, outputs=self._outputs)
        for base in layer:
            for name, given, weight in options:
                made = self._bench.grid(name, [base], *given, weight=weight)
                if made is not None:
                    yield made
            if base.cost <= 1:
                yield from objects_cut(self._bench, base)

    def _pair(self, known: Sequence[Made]) -> None:
        """Two grids beside, below or over each other where that gives the outputs' sizes."""
        simple = [one for one in known if one.cost <= 2][:160]
        shapes = [[size(grid) for grid in one.values[: len(self._sizes)]] for one in simple]
        for i, first in enumerate(simple):
            for j, second in enumerate(simple):
                function = self._join(shapes[i], shapes[j])
                made = self._bench.grid(function, [first, second]) if function else None
                if made is not None:
                    self._new([made])

    def _join(self, first: list[tuple[int, int]], second: list[tuple[int, int]]) -> str:
        self._bench.spend(1)
        (a, b), (c, d), (rows, cols) = first[0], second[0], self._sizes[0]
        if a == c == rows and b + d == cols:
            return "beside"
        if b == d == cols and a + c == rows:
            return "below"
        return "over" if (a, b) == (c, d) == (rows, cols) else ""

    def _fits(self, made: Made) -> bool:
        return [size(grid) for grid in made.values[: len(self._sizes)]] == self._sizes

    def _label(self, known: Sequence[Made], *, bases: int) -> None:
        """Tables of one, two, and with the first grid three labels."""
        grids = sorted((one for one in known if self._fits(one)), key=lambda one: one.cost)
        if not grids:
            return
        labels = grids[:_PARTS]
        for base in grids[:bases]:
            labels += labels_of(self._bench, base)
        parts, columns = self._distinct(labels)
        found: list[tuple[float, Sequence[Made], dict[object, str]]] = []
        try:
            for chosen in self._chosen(len(parts)):
                self._try([parts[place] for place in chosen], [columns[place] for place in chosen], found=found)
        finally:
            # What was found before the budget is spent counts.
            for _, some, table in sorted(found, key=lambda one: one[0]):
                answer = applied(table, some, tests=self._tests)
                self._answers.setdefault(repr(answer), program_of(term_of(table, some)))

    def _distinct(self, labels: Sequence[Made]) -> tuple[list[Made], list[Flat]]:
        """Labels without those that are equal to one before on the demonstrations and the tests."""
        seen = set()
        parts, columns = [], []
        for one in labels:
            key = repr(one.values)
            if key in seen or not self._fits(one):
                continue
            seen.add(key)
            parts.append(one)
            columns.append(flat(one.values[: len(self._outputs)]))
        return parts, columns

    def _chosen(self, count: int) -> Iterator[tuple[int, ...]]:
        for many in (1, 2):
            yield from combinations(range(min(count, 10_000 if many == 1 else _PARTS * 2)), many)
        yield from ((0, *pair) for pair in combinations(range(1, min(count, _TRIPLES)), 2))

    def _try(
        self, parts: Sequence[Made], columns: Sequence[Flat], *,
        found: "list[tuple[float, Sequence[Made], dict[object, str]]]",
    ) -> None:  # fmt: skip
        self._bench.spend(30 + len(self._wanted) // 20)
        keys = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        table = learnt(keys, self._wanted)
        if table is not None and covers(table, parts, tests=self._tests):
            found.append((sum(part.cost for part in parts) + len(table) / 4, parts, table))
