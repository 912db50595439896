"""Questions on databases in turns: statements on read-only SQLite, and InterCode's reward.

A result is kept as JSON with columns and rows. A statement that is no query, such as `T1.Name FROM singer AS T1`, is a
fragment: its text is kept, and takes the place of its reference in a later statement (LUMOS's annotations are written
so). A result in the place of a reference becomes its values: one column, separated by commas.

InterCode's reward (Yang et al. 2023, section 3.2 and its released environment), and what differs here:

With A the rows of the planner's result and G those of the gold query, both as multisets of texts:

    overlap = |A intersect G| / |A union G|      intersection and union of multisets; 1 if both are empty
    order   = Kendall's tau-b of the shared rows, paired by place: the i-th of the planner's result with the i-th of
              the gold's, where rows are ranked by their texts
    reward  = overlap * order, in [-1, 1]

Edge cases:

- Shared rows are taken from the front: of a row that one result has 3 times and the other 2 times, the first two.
- No shared row: overlap is 0, and so is the reward.
- Tau is not defined for one shared row, or where all are equal. Then the reward is the overlap, as released.
- Rows that are equal are ties in both rankings, which tau-b allows for.
- A failure has the reward 0, whatever the gold is. If the gold query itself fails, so has every result.
- A result that was cut off is compared by the rows that were read.

The released code rounds the reward to two digits, so that 0.995 is a success. Here only 1 is one: equal rows, in equal
order. It also counts order where the gold query has no ORDER BY, and so does the reward here, because the paper does;
`is_success_unordered` is for boards that do not.

Texts of rows: the released code compares Python's texts of MySQL's types, where 2 and a decimal 2 differ. Here numbers
have 12 significant digits, so that the order of a sum does not matter, and a real number differs from an integer.
"""

import json
import re
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluator.core import canonical_json
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.lumos.sql.outcome import Cell, Failure, Reason, Result
from evaluator.lumos.tasks import TurnTask

if TYPE_CHECKING:
    from evaluator.core.records import Reason as NotRunReason
    from evaluator.lumos.sql.running import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """How a result agrees with that of the gold query."""

    value: float
    """The reward, in [-1, 1]."""
    overlap: float
    """In [0, 1]."""
    order: float | None
    """Kendall's tau-b, in [-1, 1]; None where it is not defined."""
    is_success: bool
    """The same rows in the same order."""
    is_success_unordered: bool
    """The same rows in any order."""


FAILED = Reward(value=0.0, overlap=0.0, order=None, is_success=False, is_success_unordered=False)


def reward(*, answer: Result | Failure, gold: Result | Failure) -> Reward:
    """The reward of an answer against the result of the gold query."""
    if isinstance(answer, Failure) or isinstance(gold, Failure):
        return FAILED
    rows, right = [row_text(row) for row in answer.rows], [row_text(row) for row in gold.rows]
    counts, right_counts = Counter(rows), Counter(right)
    shared = counts & right_counts
    union = (counts | right_counts).total()
    overlap = shared.total() / union if union else 1.0
    order = kendall_tau(_kept(rows, shared=shared), _kept(right, shared=shared))
    is_cut = answer.is_cut or gold.is_cut
    is_same = counts == right_counts and not is_cut
    return Reward(
        value=overlap if order is None else overlap * order,
        overlap=overlap,
        order=order,
        is_success=is_same and rows == right,
        is_success_unordered=is_same,
    )


def row_text(row: Sequence[Cell]) -> str:
    """The text by which rows are compared: reals with 12 significant digits, texts in quotes."""
    return f"({', '.join(map(_cell_text, row))})"


def _cell_text(cell: Cell) -> str:
    if not isinstance(cell, float):
        return repr(cell)
    written = f"{cell + 0.0:.12g}"  # Minus zero is zero.
    return written if any(character in written for character in ".en") else f"{written}.0"


def _kept(rows: Sequence[str], *, shared: Counter[str]) -> list[str]:
    """The shared rows of a result in its order."""
    left = shared.copy()
    kept = []
    for row in rows:
        if left[row] > 0:
            left[row] -= 1
            kept.append(row)
    return kept


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Kendall's tau-b of two equally long sequences, paired by place and ranked by value (Kendall 1945).

    Returns:
        A value in [-1, 1], exactly 1 for equal sequences; None if either has no two values that differ.
    """
    total = len(first) * (len(first) - 1) // 2
    ties, other_ties = _pairs(first), _pairs(second)
    if ties == total or other_ties == total:
        return None
    if list(first) == list(second):
        return 1.0
    both = _pairs(list(zip(first, second, strict=True)))
    discordant = _discordant(first, second)
    concordant = total - discordant - ties - other_ties + both
    return (concordant - discordant) / sqrt((total - ties) * (total - other_ties))


def _pairs(values: Sequence[object]) -> int:
    """Pairs of equal values."""
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _discordant(first: Sequence[str], second: Sequence[str]) -> int:
    """Pairs that one sequence orders strictly one way and the other strictly the other way."""
    seen: list[str] = []
    count = 0
    for _, value in sorted(zip(first, second, strict=True)):
        # Of the values before in the first order, those that are greater; ties of the first come in ascending order.
        count += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return count


TOOL = "SQL"
_VERSION = 1
"""Of these rules; raise it when the same action may have another result, or the same answer another score."""
_REMEMBERED_CHARACTERS = 50_000_000
"""Of statements and results together."""
_QUERY = re.compile(r"\s*(?:\(|select|with|show|desc|describe|explain|values|table)\b|\s*\(", re.IGNORECASE)
_PROBLEMS = MappingProxyType(
    {
        Reason.TOO_LONG: ActionProblem.TOO_MUCH,
        Reason.TOO_DEEP: ActionProblem.TOO_MUCH,
        Reason.TOO_SLOW: ActionProblem.TOO_MUCH,
        Reason.TOO_LARGE: ActionProblem.TOO_MUCH,
        Reason.SYNTAX: ActionProblem.BAD_ARGUMENTS,
        Reason.NOT_ONE_STATEMENT: ActionProblem.BAD_ARGUMENTS,
        Reason.UNSUPPORTED: ActionProblem.UNAVAILABLE,
    }
)


class _UnfitError(ValueError):
    """A result cannot take the place of its reference; the message says why."""


class SqlEnvironment:
    """The databases, opened by the first statement. Equal statements of all episodes are run once."""

    def __init__(self, open_runner: "Callable[[], Runner]", *, data: str) -> None:
        """Args:
        open_runner: opens the databases.
        data: digest of the files that they are made of.
        """
        self._open_runner = open_runner
        self._data = data
        self._runner: Runner | None = None
        self._known: dict[tuple[str, str], Result | Failure] = {}
        self._remembered = 0

    def digest(self) -> str:
        return canonical_json.digest({"environment": "sql", "version": _VERSION, "data": self._data})

    def not_run(self, suite: Suite) -> "Mapping[str, tuple[NotRunReason, str]]":
        """See `Environment`: every task can run."""
        del suite
        return {}

    def scope(self, task: Task) -> str:
        """See `Environment`: the database."""
        assert isinstance(task, TurnTask)
        return task.scope

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        return [self._run(call) for call in calls]

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """InterCode's reward of the last result; solved where it is 1."""
        del transcript
        assert isinstance(task, TurnTask)
        found = None if answer is None else result_of(answer)
        gold = self._result(task.answer, database=task.scope)
        right = reward(answer=found or _NO_RESULT, gold=gold)
        indicators = {
            "solved": float(right.is_success), "reward": right.value,
            "any_order": float(right.is_success_unordered),
        }  # fmt: skip
        expected = text_of(gold) if isinstance(gold, Result) else None
        return TurnScore(score=float(right.is_success), indicators=indicators, expected=expected)

    def _run(self, call: Call) -> Outcome:
        if call.tool != TOOL:
            return Refused(ActionProblem.UNKNOWN_TOOL, f"There is no tool {call.tool!r}; there is {TOOL}.")
        if call.outputs != 1:
            return Refused(
                ActionProblem.BAD_ARGUMENTS, f"A statement has one result, and the action names {call.outputs}."
            )
        try:
            statement = substituted(call)
        except _UnfitError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
        if not _QUERY.match(statement):
            return Made((statement,))
        found = self._result(statement, database=call.scope)
        if isinstance(found, Failure):
            return Refused(_PROBLEMS.get(found.reason, ActionProblem.TOOL_ERROR), found.message)
        return Made((text_of(found),))

    def _result(self, statement: str, *, database: str) -> Result | Failure:
        key = (database, statement)
        if key not in self._known:
            if self._runner is None:
                self._runner = self._open_runner()
            found = self._runner.run(statement, database=database)
            self._remembered += len(statement) + (len(text_of(found)) if isinstance(found, Result) else 0)
            if self._remembered > _REMEMBERED_CHARACTERS:
                self._known.clear()
                self._remembered = 0
            self._known[key] = found
            return found
        return self._known[key]


_NO_RESULT = Failure(reason=Reason.FAILED, message="The answer is no result of a query.")


def text_of(result: Result) -> str:
    """A result as a text, which `result_of` reads."""
    rows: list[object] = [list(row) for row in result.rows]
    value = {"columns": list(result.columns), "rows": rows, **({"is_cut": True} if result.is_cut else {})}
    return json.dumps(value, ensure_ascii=False)


def result_of(text: str) -> Result | None:
    """The result that a text is; None if it is none."""
    try:
        value = json.loads(text)
        rows = tuple(tuple(row) for row in value["rows"])
        return Result(columns=tuple(value["columns"]), rows=rows, is_cut=bool(value.get("is_cut")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def substituted(call: Call) -> str:
    """The statement with fragments and values in place of references outside quotes."""
    parts, at = [], 0
    for reference in call.references:
        if reference.quoted:
            continue
        parts += [call.arguments[at : reference.start], _in_place(call.values[reference.name], name=reference.name)]
        at = reference.end
    return "".join((*parts, call.arguments[at:])).strip()


def _in_place(text: str, *, name: str) -> str:
    result = result_of(text)
    if result is None:
        return text
    if len(result.columns) != 1 or not result.rows:
        size = f"{len(result.columns)} columns and {len(result.rows)} rows"
        raise _UnfitError(
            f"{name} has {size}; only a result with one column and at least one row can be used in a statement."
        )
    return ", ".join(_literal(row[0]) for row in result.rows)


def _literal(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return "'" + cell.replace("\\", "\\\\").replace("'", "''") + "'"
    return str(cell)
