"""Questions on databases in turns: statements on read-only SQLite, and InterCode's reward.

A result is JSON with columns and rows. A statement other than a query, such as `T1.Name FROM singer AS T1`, is a
fragment, whose text replaces its reference in a later statement, as in LUMOS's annotations. A reference to a result is
replaced by its values: one column, separated by commas.

InterCode's reward (Yang et al. 2023, section 3.2 and its released environment), and the differences here:

With A the rows of the planner's result and G those of the gold query, both as multisets of texts:

    overlap = |A intersect G| / |A union G|      intersection and union of multisets; 1 if both are empty
    order   = Kendall's tau-b of the shared rows, paired by position: the i-th of the planner's result with the i-th of
              the gold result, with rows ranked by their texts
    reward  = overlap * order, in [-1, 1]

Edge cases:

- Of a row that one result has three times and the other twice, the first two are shared.
- Without shared rows the overlap is 0, and so is the reward.
- Tau is undefined for a single shared row, or if all are equal. Then the reward is the overlap, as released.
- Equal rows are ties in both rankings, for which tau-b corrects.
- A failure has the reward 0, whatever the gold result is. If the gold query fails, every result has the reward 0.
- A truncated result is compared by the rows that were read.

The released code rounds the reward to two digits, so that 0.995 is a success. Here only 1 is a success: equal rows in
equal order. Like the paper, the reward counts order even if the gold query has no ORDER BY; `is_success_unordered` does
not.

Texts of rows: the released code compares Python's texts of MySQL's types, where 2 and a decimal 2 differ. Here reals
have 12 significant digits, so that the order of a summation does not matter, and a real differs from an integer.
"""

import json
import re
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.lumos.exact_tools import ExactTools, several_results
from evaluator.lumos.sql.outcome import Cell, Failure, Reason, Result
from evaluator.lumos.tasks import TurnTask

if TYPE_CHECKING:
    from evaluator.lumos.sql.running import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """Comparison of a result with the gold result."""

    value: float
    """The reward, in [-1, 1]."""
    overlap: float
    """In [0, 1]."""
    order: float | None
    """Kendall's tau-b, in [-1, 1]; None if it is undefined."""
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
    order = kendall_tau(_shared(rows, counts=shared), _shared(right, counts=shared))
    is_cut = answer.is_cut or gold.is_cut
    is_same = counts == right_counts and not is_cut
    return Reward(
        value=overlap if order is None else overlap * order, overlap=overlap, order=order,
        is_success=is_same and rows == right, is_success_unordered=is_same,
    )  # fmt: skip


def row_text(row: Sequence[Cell]) -> str:
    """The text by which rows are compared: reals with 12 significant digits, texts in quotes."""

    def cell_text(cell: Cell) -> str:
        if not isinstance(cell, float):
            return repr(cell)
        text = f"{cell + 0.0:.12g}"  # Minus zero is zero.
        return text if any(character in text for character in ".en") else f"{text}.0"

    return f"({', '.join(map(cell_text, row))})"


def _shared(rows: Sequence[str], *, counts: Counter[str]) -> list[str]:
    """The shared rows of a result in its order."""
    remaining = counts.copy()
    shared = []
    for row in rows:
        if remaining[row] > 0:
            remaining[row] -= 1
            shared.append(row)
    return shared


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Kendall's tau-b of two equally long sequences, paired by position and ranked by value (Kendall 1945).

    Returns:
        A value in [-1, 1], exactly 1 for equal sequences; None if all values of either are equal.
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
    """Number of pairs of equal values."""
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _discordant(first: Sequence[str], second: Sequence[str]) -> int:
    """Number of pairs that the sequences order strictly in opposite directions."""
    seen: list[str] = []
    count = 0
    for _, value in sorted(zip(first, second, strict=True)):
        # Count the earlier values that are greater. Ties of the first sequence are in ascending order.
        count += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return count


TOOL = "SQL"
_VERSION = 1
"""Version of these rules; increase it when the same action or answer may have a different result or score."""
_CACHED_CHARACTERS = 50_000_000
"""Maximum size of the cache: statements and results together."""
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
    """A result cannot replace its reference; the message says why."""


class SqlEnvironment(ExactTools):
    """The databases, each the scope of its tasks, opened on the first statement. Results are cached across episodes."""

    def __init__(self, open_runner: "Callable[[], Runner]", *, data: str) -> None:
        """Args:
        open_runner: opens the databases.
        data: digest of their source files.
        """
        self._open_runner = open_runner
        self._data = data
        self._runner: Runner | None = None
        self._cache: dict[tuple[str, str], Result | Failure] = {}
        self._cached_characters = 0

    def digest(self) -> str:
        return canonical_json.digest({"environment": "sql", "version": _VERSION, "data": self._data})

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """InterCode's reward of the last result; solved if it is 1."""
        del transcript
        assert isinstance(task, TurnTask)
        result = None if answer is None else result_of(answer)
        gold = self._result(task.answer, database=task.scope)
        value = reward(answer=result or _NO_RESULT, gold=gold)
        solved, any_order = float(value.is_success), float(value.is_success_unordered)
        return TurnScore(
            score=solved, indicators={"solved": solved, "reward": value.value, "any_order": any_order},
            expected=text_of(gold) if isinstance(gold, Result) else None,
        )  # fmt: skip

    def run_one(self, call: Call) -> Outcome:
        if call.tool != TOOL:
            return Refused(ActionProblem.UNKNOWN_TOOL, f"There is no tool {call.tool!r}; there is {TOOL}.")
        if (refused := several_results(call, what="A statement")) is not None:
            return refused
        try:
            statement = substituted(call)
        except _UnfitError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
        if not _QUERY.match(statement):
            return Made((statement,))
        result = self._result(statement, database=call.scope)
        if isinstance(result, Failure):
            return Refused(_PROBLEMS.get(result.reason, ActionProblem.TOOL_ERROR), result.message)
        return Made((text_of(result),))

    def _result(self, statement: str, *, database: str) -> Result | Failure:
        key = (database, statement)
        if key not in self._cache:
            if self._runner is None:
                self._runner = self._open_runner()
            result = self._runner.run(statement, database=database)
            self._cached_characters += len(statement) + (len(text_of(result)) if isinstance(result, Result) else 0)
            if self._cached_characters > _CACHED_CHARACTERS:
                self._cache.clear()
                self._cached_characters = 0
            self._cache[key] = result
        return self._cache[key]


_NO_RESULT = Failure(reason=Reason.FAILED, message="The answer is no result of a query.")


def text_of(result: Result) -> str:
    """A result as text, the inverse of `result_of`."""
    rows: list[object] = [list(row) for row in result.rows]
    value = {"columns": list(result.columns), "rows": rows, **({"is_cut": True} if result.is_cut else {})}
    return json.dumps(value, ensure_ascii=False)


def result_of(text: str) -> Result | None:
    """Parse a result; None for other texts."""
    try:
        value = json.loads(text)
        rows = tuple(tuple(row) for row in value["rows"])
        return Result(columns=tuple(value["columns"]), rows=rows, is_cut=bool(value.get("is_cut")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def substituted(call: Call) -> str:
    """The statement with references outside quotes replaced by fragments and values."""
    parts, at = [], 0
    for reference in call.references:
        if reference.quoted:
            continue
        parts += [call.arguments[at : reference.start], _replacement(call.values[reference.name], name=reference.name)]
        at = reference.end
    return "".join((*parts, call.arguments[at:])).strip()


def _replacement(text: str, *, name: str) -> str:
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
