"""A plans file: the plans of a suite's tasks, prepared in advance.

JSON, one object with a plan for each task:

    {"image_detection/0": <plan>, "QA/0": {"plan": <plan>, "alternatives": [<plan>, ...]}}

or JSON lines (and a JSON list of the same objects), also a single one:

    {"task": "image_detection/0", "plan": <plan>}
    {"task": "QA/0", "plan": <plan>, "alternatives": [<plan>, ...]}

If no plan can satisfy a request, the plan is null, and `reason` may say why.

A plan may have any form in the table of `replies/read.py`. Up to four alternatives are further candidates, best first.
An invalid file is rejected as a whole, with a list of its errors; omitted tasks have no plan.

This is the only reader of such files: of uploads, of the API, of `submit`, of `evaluate` and of `score-plans`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.naming import did_you_mean
from evaluator.core.planner import MAX_ALTERNATIVES, MAX_RESPONSE_BYTES, PlannerError, PlannerReply, PlannerRequest
from evaluator.core.plans.abstaining import abstention
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.storable import unkeepable

MAX_BYTES = 8 * 1024 * 1024
MAX_PLAN_BYTES = MAX_RESPONSE_BYTES
MAX_PLANS = 20_000
"""Ten times the tasks of the largest suite."""
_MAX_LISTED = 5
"""Maximum number of tasks or errors in one message."""
_PLAN_FORMS = frozenset({"steps", "solution", "tool_calls", "program", "grids"})
"""Keys of objects that are plans themselves."""


class PlansFileError(ValueError):
    """The file is invalid; `problems` has a sentence for each error."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__(" ".join(problems))


@dataclass(frozen=True, slots=True)
class GivenPlan:
    """The plans of one task."""

    plan: JsonValue
    alternatives: tuple[JsonValue, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    """Token counts of the call that made it, named as in a `PlannerCall`; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansFile:
    """A parsed plans file."""

    plans: Mapping[str, GivenPlan]
    places: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Position of each plan by task, such as `line 3`; empty for an object with a plan for each task."""

    def digest(self) -> str:
        """SHA-256 over tasks and plans, independent of the order and form of the file."""
        return digest({task: [given.plan, *given.alternatives] for task, given in self.plans.items()})

    def check(self, *, tasks: Set[str], suite: str) -> None:
        """Check that the suite has every task of the file.

        Raises:
            PlansFileError: it lacks some.
        """
        unknown = [task for task in self.plans if task not in tasks]
        if not unknown:
            return
        example = min(tasks, default="")
        raise PlansFileError(
            f"{_count(len(unknown), 'key')} of the file {'is' if len(unknown) == 1 else 'are'} no task of {suite}: "
            f"{_some(unknown, places=self.places)}.{did_you_mean(unknown[0], tasks)} "
            f"Its tasks are called like {example!r}."
        )

    def missing(self, tasks: Set[str]) -> list[str]:
        """The tasks without a plan, sorted."""
        return sorted(set(tasks) - set(self.plans))


def read_plans(data: bytes) -> PlansFile:
    """Read a file.

    Raises:
        PlansFileError: it is too large, not text, not JSON (with line and column), or does not have this shape.
    """
    if len(data) > MAX_BYTES:
        raise PlansFileError(f"The file has {len(data):,} bytes; at most {MAX_BYTES:,} are read.")
    text = _text(data)
    if not text.strip():
        raise PlansFileError("The file is empty.")
    try:
        value = _loaded(text)
    except json.JSONDecodeError as error:
        first, _, rest = text.lstrip().partition("\n")
        if not rest.strip() or not _is_json(first):
            raise _not_json(error, line=error.lineno) from None
        return _plans([_listed(item, f"line {number}") for number, item in _lines(text)])
    return plans_of(value)


def plans_of(value: Any) -> PlansFile:
    """Read a file from its parsed JSON.

    Raises:
        PlansFileError: it does not have this shape.
    """
    if isinstance(value, Mapping | list) and len(value) > MAX_PLANS:
        raise PlansFileError(f"The file has {len(value):,} plans; at most {MAX_PLANS:,} are read.")
    if isinstance(value, list):
        return _plans([_listed(item, f"entry {number}") for number, item in enumerate(value, start=1)])
    if not isinstance(value, Mapping):
        raise PlansFileError(
            "A plans file is an object with a plan for each task, or lines like "
            '{"task": "...", "plan": ...}; this is neither.'
        )
    repeated = getattr(value, "repeated", [])
    if _is_line(value):
        if repeated:
            raise PlansFileError(f"Line 1 has {repeated[0]!r} twice.")
        return _plans([_listed(value, "line 1")])
    problems = [f"The file has two plans for {_some(repeated)}."] if repeated else []
    entries = [_Entry(task=str(task), where=f"task {task!r}", value=given) for task, given in value.items()]
    return _plans(entries, problems=problems)


def _is_line(value: Mapping[Any, Any]) -> bool:
    """Whether an object is the only line of its file. No task of any suite is called "task"."""
    return isinstance(value.get("task"), str)


def _plans(entries: "Sequence[_Entry]", *, problems: Sequence[str] = ()) -> PlansFile:
    problems = list(problems)
    plans: dict[str, GivenPlan] = {}
    places: dict[str, str] = {}
    for entry in entries:
        if entry.task in places:
            problems.append(
                f"{_capital(entry.place)} has a second plan for {_some([entry.task])}; "
                f"{places[entry.task]} has the first."
            )
            continue
        if entry.place:
            places[entry.task] = entry.place
        try:
            plans[entry.task] = _given(entry)
        except PlansFileError as error:
            problems += error.problems
    if problems:
        more = [f"And {len(problems) - _MAX_LISTED} more."] if len(problems) > _MAX_LISTED else []
        raise PlansFileError(*problems[:_MAX_LISTED], *more)
    if not plans:
        raise PlansFileError("The file holds no plan.")
    return PlansFile(plans=plans, places=places)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    task: str
    where: str
    value: Any
    place: str = ""
    """`line 3` or `entry 3`; empty for an object with a plan for each task."""


class _Object(dict[str, Any]):
    """A JSON object with the list of its duplicate keys."""

    repeated: Sequence[str] = ()


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    made = _Object(pairs)
    if len(made) < len(pairs):
        made.repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    return made


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise PlansFileError(f"Line {line} is no UTF-8 text: a plans file is JSON or JSON lines.") from None


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    # Not `splitlines`, which also splits at separators that may occur within JSON strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if number > MAX_PLANS:
            raise PlansFileError(f"The file has more than {MAX_PLANS:,} lines, the most that are read.")
        try:
            yield number, _loaded(line)
        except json.JSONDecodeError as error:
            raise _not_json(error, line=number) from None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise PlansFileError("The file is nested too deeply to be read.") from None
    except (json.JSONDecodeError, PlansFileError):
        raise
    except ValueError:
        # Python limits the number of digits of an integer.
        raise PlansFileError("The file holds a number with too many digits to be read.") from None


def _is_json(line: str) -> bool:
    try:
        _loaded(line)
    except json.JSONDecodeError:
        return False
    return True


def _not_json(error: json.JSONDecodeError, *, line: int) -> PlansFileError:
    return PlansFileError(f"Line {line}, column {error.colno} is not JSON: {error.msg}.")


def _refuse_constant(name: str) -> float:
    raise PlansFileError(f"The file holds {name}, which is not JSON.")


def _listed(item: Any, place: str) -> _Entry:
    if not isinstance(item, Mapping) or not isinstance(item.get("task"), str) or "plan" not in item:
        lacking = [key for key in ("task", "plan") if not isinstance(item, Mapping) or key not in item]
        wrong = f"lacks {lacking[0]!r}" if lacking else 'has a "task" that is no text'
        raise PlansFileError(f'{_capital(place)} {wrong}: each is an object with "task" and "plan".')
    if repeated := getattr(item, "repeated", ()):
        raise PlansFileError(f"{_capital(place)} has {repeated[0]!r} twice.")
    given = {key: inner for key, inner in item.items() if key != "task"}
    return _Entry(task=item["task"], where=f"{place} (task {item['task']!r})", value=given, place=place)


def _given(entry: _Entry) -> GivenPlan:
    value = entry.value
    if problem := unkeepable(entry.task):
        raise PlansFileError(f"The key of {entry.where} {problem}.")
    wrapped = isinstance(value, Mapping) and "plan" in value and not _PLAN_FORMS & set(value)
    plan, alternatives = (value["plan"], value.get("alternatives", [])) if wrapped else (value, [])
    known = {"plan", "alternatives"} | ({"reason"} if plan is None else set())
    if unknown := sorted(set(value) - known) if wrapped else []:
        raise PlansFileError(f"{entry.where} has {unknown[0]!r}; beside a plan there may be alternatives only.")
    if wrapped and plan is None:
        plan = _abstention(value.get("reason"), where=entry.where)
    if not isinstance(alternatives, list) or len(alternatives) > MAX_ALTERNATIVES:
        raise PlansFileError(f"{entry.where} has alternatives that are no list of at most {MAX_ALTERNATIVES} plans.")
    for candidate in (plan, *alternatives) if plan is not None else alternatives:
        _check_candidate(candidate, where=entry.where)
    return GivenPlan(plan=plan, alternatives=tuple(alternatives))


def _abstention(reason: Any, *, where: str) -> JsonValue:
    if reason is not None and not isinstance(reason, str):
        raise PlansFileError(f"{where} has a reason that is no text.")
    return abstention(reason or "")


def _check_candidate(value: Any, *, where: str) -> None:
    if not isinstance(value, str | Mapping | list):
        raise PlansFileError(f"{where} has a plan that is neither an object, a list nor a text.")
    if problem := unkeepable(value):
        raise PlansFileError(f"{where} {problem}.")
    if (size := len(json.dumps(value, ensure_ascii=False).encode())) > MAX_PLAN_BYTES:
        raise PlansFileError(f"{where} has a plan of {size:,} bytes; at most {MAX_PLAN_BYTES:,} are read.")


def _capital(place: str) -> str:
    return f"{place[:1].upper()}{place[1:]}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _some(keys: Sequence[str], *, places: Mapping[str, str] = MappingProxyType({})) -> str:
    named = ((repr(key if len(key) <= 60 else key[:59] + "…"), places.get(key)) for key in keys[:_MAX_LISTED])
    shown = ", ".join(f"{key} ({place})" if place else key for key, place in named)
    return shown if len(keys) <= _MAX_LISTED else f"{shown} and {len(keys) - _MAX_LISTED} more"


class GivenPlans:
    """Answers each task with its plan from a file. An omitted task is a planner fault."""

    def __init__(self, plans: Mapping[str, GivenPlan], *, name: str = "plans file") -> None:
        self.name = name
        self._plans = plans

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The plan of the file."""
        given = self._plans.get(request.task.id)
        if given is None:
            message = "The plans file has no plan for this task."
            raise PlannerError(reason=Reason.NO_PLAN, message=message, call=PlannerCall(seconds=0.0))
        call = PlannerCall.model_validate({"seconds": 0.0, **given.usage})
        return PlannerReply(plan=given.plan, call=call, alternatives=given.alternatives)
