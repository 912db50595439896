"""Questions on databases in turns: statements on read-only SQLite, and InterCode's reward.

A result is kept as JSON with columns and rows. A statement that is no query, such as `T1.Name FROM singer AS T1`, is a
fragment: its text is kept, and takes the place of its reference in a later statement (LUMOS's annotations are written
so). A result in the place of a reference becomes its values: one column, separated by commas.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluator.core import canonical_json
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.lumos.sql.outcome import Cell, Failure, Reason, Result
from evaluator.lumos.sql.reward import reward
from evaluator.lumos.tasks import TurnTask

if TYPE_CHECKING:
    from evaluator.core.records import Reason as NotRunReason
    from evaluator.lumos.sql.running import Runner

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
        """See `Environment`."""
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
        """See `Environment`."""
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
