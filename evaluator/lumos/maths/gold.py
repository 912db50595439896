"""Gold subgoals and actions, from GSM8K's annotated rationales and SVAMP's equations.

GSM8K: each line of a rationale with annotations `<<expression=value>>` is a subgoal, without the annotations, and each
annotation is an action. A number in an expression is replaced by the earlier result with this value, unless the number
also occurs in the question. Actions after the last one whose result is the answer are dropped.

SVAMP: each operation of the equation is a subgoal with one action; one equation is a single number.

All gold actions have been run with the tools, and the last result is the answer.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

from evaluator.lumos.maths.algebra.arithmetic import Rational, exact_text, number_of
from evaluator.lumos.maths.algebra.errors import MathsError
from evaluator.lumos.maths.algebra.parser import Literal, Node, Series, parse_expression
from evaluator.lumos.maths.algebra.values import Number, Result
from evaluator.lumos.maths.tools import Outcome, ToolFailure, run
from evaluator.lumos.tasks import GoldTurn
from evaluator.replies.turns.actions import read_actions

_ANNOTATION = re.compile(r"<<([^<>]{1,200})>>")
_NUMBER = re.compile(r"(?<![\w.])(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?![\w.])")
_WRITTEN = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_SENTENCES = {
    "+": "Add {1} to {0}.",
    "-": "Subtract {1} from {0}.",
    "*": "Multiply {0} by {1}.",
    "/": "Divide {0} by {1}.",
}


class NoGold(StrEnum):
    """Why there are no gold actions."""

    NOT_ANNOTATED = "not annotated"
    """The rationale has no annotation."""
    UNREADABLE = "unreadable"
    """An annotation or equation is not arithmetic."""
    LAST_STEP = "last step not annotated"
    """No result is the answer, and the last line of the rationale has no annotation."""
    OTHER_RESULT = "other result"
    """No result is the answer: prose rounds it or converts it to percent, or the answer is wrong."""


def gold_of_rationale(*, question: str, rationale: str, answer: Fraction) -> tuple[GoldTurn, ...] | NoGold:
    """The gold turns of a problem of GSM8K."""
    given = {number_of(text) for text in _WRITTEN.findall(question)}
    known: dict[Rational, str] = {}
    values: dict[str, Result] = {}
    turns: list[GoldTurn] = []
    complete = 0
    for line in rationale.strip().split("\n"):
        actions: list[str] = []
        for annotation in _ANNOTATION.findall(line):
            expression, _, written = annotation.partition("=")
            name = f"R{len(values) + 1}"
            results = {value: name for value, name in known.items() if value not in given}
            linked = _linked(expression, results=results)
            outcome = run(tool="Calculator", arguments=linked, values=values)
            if isinstance(outcome, ToolFailure) or not isinstance(outcome.values[0], Number):
                return NoGold.UNREADABLE
            result = values[name] = outcome.values[0]
            actions.append(f"{name} = Calculator({linked})")
            if _is_number(written, result.value):
                known[result.value] = name
            if result.value == answer:
                complete = len(values)
        if actions:
            turns.append(GoldTurn(_ANNOTATION.sub("", line).strip(), "; ".join(actions)))
    if not turns:
        return NoGold.NOT_ANNOTATED
    if complete:
        return _first(turns, actions=complete)
    return NoGold.OTHER_RESULT if _ANNOTATION.search(line) else NoGold.LAST_STEP


def gold_of_equation(*, equation: str, answer: Fraction) -> tuple[GoldTurn, ...] | NoGold:
    """The gold turns of a problem of SVAMP."""
    turns: list[GoldTurn] = []
    try:
        node = parse_expression(equation)
    except MathsError:
        return NoGold.UNREADABLE
    operand = _operand(node, turns=turns)
    if operand is None:
        return NoGold.UNREADABLE
    if not turns:
        turns.append(GoldTurn(f"Take {operand} from the problem.", f"R1 = Calculator({operand})"))
    results = run_turns(turns)
    if isinstance(results, ToolFailure):
        return NoGold.UNREADABLE
    last = list(results.values())[-1]
    return tuple(turns) if isinstance(last, Number) and last.value == answer else NoGold.OTHER_RESULT


def run_turns(turns: Sequence[GoldTurn]) -> Mapping[str, Result] | ToolFailure:
    """The results of actions by their outputs, in order, or the first failure."""
    values: dict[str, Result] = {}
    for turn in turns:
        for action in read_actions(text=turn.actions).actions:
            outcome = run(tool=action.tool, arguments=action.raw, values=values, outputs=len(action.outputs))
            if not isinstance(outcome, Outcome):
                return outcome
            values.update(zip(action.outputs, outcome.values, strict=True))
    return values


def _linked(expression: str, *, results: Mapping[Rational, str]) -> str:
    """The expression with references in place of numbers that are earlier results."""
    return _NUMBER.sub(lambda match: results.get(number_of(match[0]), match[0]), expression).strip()


def _is_number(text: str, value: Rational) -> bool:
    try:
        return number_of(text.strip().lstrip("-")) == abs(value)
    except (MathsError, ValueError):
        return False


def _first(turns: Sequence[GoldTurn], *, actions: int) -> tuple[GoldTurn, ...]:
    """The turns truncated to the first `actions` actions."""
    result = []
    for turn in turns:
        first = turn.actions.split("; ")[:actions]
        actions -= len(first)
        if first:
            result.append(GoldTurn(turn.subgoal, "; ".join(first)))
    return tuple(result)


def _operand(node: Node, *, turns: list[GoldTurn]) -> str | None:
    """A number, or the reference to the turn appended for an operation; None for other nodes."""
    if isinstance(node, Literal):
        return exact_text(node.value)
    if not isinstance(node, Series):
        return None
    left = _operand(node.operands[0], turns=turns)
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        right = _operand(operand, turns=turns)
        if left is None or right is None or operator not in _SENTENCES:
            return None
        name = f"R{len(turns) + 1}"
        turns.append(
            GoldTurn(_SENTENCES[operator].format(left, right), f"{name} = Calculator({left} {operator} {right})")
        )
        left = name
    return left
