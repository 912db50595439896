"""Word problems of the hidden split, whose structures, words and numbers are in `problems.toml`.

Numbers are drawn forwards from the answer, and solutions only use the numbers that the text mentions.
"""

import ast
import operator
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.hidden.grammar import Grammar, number_text, sentence
from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.seeds import one_of, some_of

if TYPE_CHECKING:
    import numpy as np

_MOST = 5
"""Operations."""
_LARGEST = 3000
_IN_WORDS, _ASIDE, _QUESTION_FIRST = 0.4, 0.4, 0.4
"""Probabilities of a number in words, an irrelevant sentence, and a question before the facts."""
_SLOT = re.compile(r"\{(\w+)(#?)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """A structure of word problems; see `problems.toml`."""

    name: str
    draw: Mapping[str, tuple[int, int]]
    answer: str
    facts: Sequence[Sequence[str]]
    ask: Sequence[str]
    steps: Sequence[tuple[str, str]]
    let: Mapping[str, str]
    where: Sequence[str]
    in_order: bool = False
    question_last: bool = False
    asides: bool = True


def draw_problem(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the problem with this number, of `index % 5 + 1` operations. Attempts give problems of the same kind."""
    operations = index % _MOST + 1
    grammar = Grammar(source)
    possible = grammar.part(f"problems {operations}", structures(operations))
    return with_structure(possible[index // _MOST % len(possible)], source=source, index=index, attempt=attempt)


def with_structure(structure: Structure, *, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw numbers and words for a structure."""
    grammar, operations = Grammar(source), len(structure.steps)
    rng = grammar.stream("problem", index, attempt)
    numbers = _numbers(structure, rng)
    turns, value = _solution(structure, numbers)
    assert value == calculated(structure.answer, numbers), structure.name
    return Drawn(
        text=_text(structure, numbers, grammar=grammar, rng=rng), answer=str(value), gold=turns,
        kind=f"{operations} operation{'s' if operations > 1 else ''}",
    )  # fmt: skip


@cache
def structures(operations: int) -> tuple[Structure, ...]:
    """All structures of so many operations."""
    every = (Structure(**{"let": {}, "where": (), **row}) for row in _data()["problems"])
    return tuple(structure for structure in every if len(structure.steps) == operations)


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("problems.toml").read_text(encoding="utf-8"))


def _numbers(structure: Structure, rng: "np.random.Generator") -> Mapping[str, Fraction]:
    """Numbers that meet the conditions. The answer and all that follow are whole and positive."""
    while True:
        numbers = {name: Fraction(int(rng.integers(low, high + 1))) for name, (low, high) in structure.draw.items()}
        for name, expression in structure.let.items():
            numbers[name] = calculated(expression, numbers)
        whole = [*numbers.values(), calculated(structure.answer, numbers)]
        if all(value.denominator == 1 and 0 < value <= _LARGEST for value in whole) and all(
            calculated(condition, numbers) for condition in structure.where
        ):
            return numbers


def _solution(structure: Structure, numbers: Mapping[str, Fraction]) -> tuple[tuple[GoldTurn, ...], Fraction]:
    """The turns, and the value of the last one."""
    turns: list[GoldTurn] = []
    values: dict[str, Fraction] = {}
    for place, (subgoal, expression) in enumerate(structure.steps, start=1):
        known = {**numbers, **values}
        action = _SLOT.sub(lambda slot: f"R{slot[1]}" if slot[1].isdigit() else str(numbers[slot[1]]), expression)
        turns.append(GoldTurn(subgoal, f"R{place} = Calculator({action})"))
        named = _SLOT.sub(lambda slot: f"R{slot[1]}" if slot[1].isdigit() else slot[1], expression)
        values[f"R{place}"] = calculated(named.replace(" mod ", " % "), known)
    return tuple(turns), values[f"R{len(structure.steps)}"]


def _text(
    structure: Structure, numbers: Mapping[str, Fraction], *, grammar: Grammar, rng: "np.random.Generator"
) -> str:  # fmt: skip
    words = _words(grammar, rng)
    texts = {name: number_text(int(value), in_words=bool(rng.random() < _IN_WORDS)) for name, value in numbers.items()}

    def told(pattern: str) -> str:
        return sentence(
            _SLOT.sub(
                lambda slot: str(numbers[slot[1]]) if slot[2] else {**words, **texts}[slot[1]], pattern
            )
        )  # fmt: skip

    def wording(what: str, wordings: Sequence[str]) -> str:
        return told(grammar.wording(f"{structure.name} {what}", wordings))

    facts = [wording(f"fact {place}", wordings) for place, wordings in enumerate(structure.facts)]
    if not structure.in_order:
        facts = some_of(rng, facts, count=len(facts))
    if structure.asides and rng.random() < _ASIDE:
        texts["x"] = number_text(int(rng.integers(3, 30)), in_words=bool(rng.random() < _IN_WORDS))
        aside = told(one_of(rng, grammar.part("asides", _data()["asides"]["wordings"])))
        # Never before a pronoun: neither within a story nor before its question.
        facts.insert(0 if structure.in_order else int(rng.integers(len(facts))), aside)
    question = wording("question", structure.ask)
    first = not structure.question_last and rng.random() < _QUESTION_FIRST
    return " ".join([question, *facts] if first else [*facts, question])


def _words(grammar: Grammar, rng: "np.random.Generator") -> Mapping[str, str]:
    """A word for each slot that is no number."""
    words = _data()["words"]
    names = some_of(rng, grammar.part("names", words["who"]), count=4)
    small, item = one_of(rng, grammar.part("small", words["small"]))
    holders, holder = one_of(rng, grammar.part("holder", words["holder"]))
    return {
        **dict(zip(("who", "friend", "cousin", "nobody"), names, strict=True)), "small": small, "item": item,
        "holders": holders, "holder": holder, "job": one_of(rng, grammar.part("job", words["job"])),
    }  # fmt: skip


_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Gt: operator.gt,
}  # fmt: skip


def calculated(expression: str, numbers: Mapping[str, Fraction]) -> Fraction:
    """The exact value of an expression over named numbers; of a comparison, 1 or 0."""

    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                return Fraction(_OPERATORS[type(op)](value(left), value(right)))
            case ast.Call(func=ast.Name(id="floor"), args=[argument]):
                return Fraction(value(argument).__floor__())
            case ast.Name(id=name):
                return numbers[name]
            case ast.Constant(value=int(constant)):
                return Fraction(constant)
        raise ValueError(f"{expression!r} has something other than +, -, *, /, %, floor and comparisons")

    return value(ast.parse(expression, mode="eval").body)
