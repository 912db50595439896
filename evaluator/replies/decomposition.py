"""Parser for ControlLLM's task decompositions, the answer of the first stage, without tools.

Grammar::

    decomposition = "<Solution>" subtasks "</Solution>"
    subtasks      = [subtask, ...]                                          JSON
    subtask       = {"description": text, "task": [domain, ...], "id": integer, "dep": [id, ...] | [-1],
                     "args": [resource, ...], "returns": [resource, ...]}
    resource      = {"type": text, "value": text}

Tolerated and recorded: Python literals instead of JSON; missing tags; the paper's field names `task_domain` and
`return`; `task` as a text; ids as texts; missing `dep`; numbers, truth values or null as values; unknown keys.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.core.plans.literals import Places, a_list, a_text, integer, kind_of, load_literal, refuse_too_many
from evaluator.core.plans.model import PlanSyntaxError

OPENING = "<Solution>"
_CLOSING = "</Solution>"
_PAPER_NAMES = {"task_domain": "task", "return": "returns"}
_KEYS = frozenset({"description", "task", "id", "dep", "args", "returns"})


@dataclass(frozen=True, slots=True)
class Argument:
    """A typed resource that a subtask takes or returns."""

    type: str
    value: str
    """A file name, a literal text, or the reference of an earlier subtask's return."""


@dataclass(frozen=True, slots=True)
class Subtask:
    """A subtask of a decomposition."""

    id: int
    description: str
    domains: tuple[str, ...]
    """Domains of its tools."""
    dependencies: tuple[int, ...]
    """Ids of the subtasks that it depends on."""
    args: tuple[Argument, ...]
    returns: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The subtasks of a request, with the tolerated deviations."""

    subtasks: tuple[Subtask, ...]
    tolerated: tuple[str, ...] = ()


def parse_decomposition(text: str) -> Decomposition:
    """Parse a task decomposition.

    Raises:
        PlanSyntaxError: the syntax is invalid; `where` is the position in the text or the JSON path.
    """
    tolerated: list[str] = []
    value, records = load_literal(_without_tags(text=text, tolerated=tolerated))
    tolerated += records
    items = a_list(value, "decomposition")
    refuse_too_many(steps=items)
    subtasks = tuple(_subtask(raw=raw, where=f"[{index}]", tolerated=tolerated) for index, raw in enumerate(items))
    seen: set[int] = set()
    for index, subtask in enumerate(subtasks):
        if subtask.id in seen:
            raise PlanSyntaxError(f"two subtasks have the id {subtask.id}", where=f"[{index}].id")
        seen.add(subtask.id)
    return Decomposition(subtasks=subtasks, tolerated=tuple(tolerated))


def _without_tags(*, text: str, tolerated: list[str]) -> str:
    """The text with its tags replaced by blanks, which preserves positions."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    if text.startswith(OPENING, start):
        start += len(OPENING)
    else:
        tolerated.append(f"{Places(text)[start]}: {OPENING} is missing")
    if text.endswith(_CLOSING, start, end):
        end -= len(_CLOSING)
    else:
        tolerated.append(f"{Places(text)[end]}: {_CLOSING} is missing")
    blanks = "".join("\n" if character == "\n" else " " for character in text[:start])
    return blanks + text[start:end]


def _subtask(*, raw: object, where: str, tolerated: list[str]) -> Subtask:
    if not isinstance(raw, Mapping):
        raise PlanSyntaxError(f"a subtask is an object, not {kind_of(raw)}", where=where)
    fields = _fields(raw=raw, where=where, tolerated=tolerated)
    if "dep" not in fields:
        tolerated.append(f"{where}.dep: missing; read as no dependency")
    dependencies = [
        integer(value=item, where=f"{where}.dep[{index}]", tolerated=tolerated)
        for index, item in enumerate(a_list(fields.get("dep", []), f"{where}.dep"))
    ]
    number = integer(value=fields.get("id"), where=f"{where}.id", tolerated=tolerated)
    description = a_text(fields.get("description"), f"{where}.description")
    domains = fields.get("task")
    if isinstance(domains, str) and domains:
        tolerated.append(f"{where}.task: read a text as a list of one")
        domains = [domains]
    return Subtask(
        id=number,
        description=description,
        domains=tuple(
            a_text(item, f"{where}.task[{index}]") for index, item in enumerate(a_list(domains, f"{where}.task"))
        ),
        dependencies=tuple(item for item in dependencies if item != -1),
        args=_resources(value=fields.get("args"), where=f"{where}.args", tolerated=tolerated),
        returns=_resources(value=fields.get("returns"), where=f"{where}.returns", tolerated=tolerated),
    )


def _fields(*, raw: Mapping[str, object], where: str, tolerated: list[str]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in raw.items():
        name = _PAPER_NAMES.get(key, key)
        if name in fields:
            raise PlanSyntaxError(f'"{key}" and "{name}" mean the same; give one of them', where=where)
        if name != key:
            tolerated.append(f'{where}: read "{key}" as "{name}"')
        elif key not in _KEYS:
            tolerated.append(f"{where}: ignored {key!r}")
        fields[name] = value
    return fields


def _resources(*, value: object, where: str, tolerated: list[str]) -> tuple[Argument, ...]:
    resources = []
    for index, raw in enumerate(a_list(value, where)):
        item = f"{where}[{index}]"
        if not isinstance(raw, Mapping):
            raise PlanSyntaxError(f"a resource is an object with type and value, not {kind_of(raw)}", where=item)
        value = raw.get("value")
        if not isinstance(value, str):
            if isinstance(value, list | dict):
                raise PlanSyntaxError(f"must be a text, not {kind_of(value)}", where=f"{item}.value")
            tolerated.append(f"{item}.value: read {kind_of(value)} as a text")
            value = "" if value is None else json.dumps(value)
        resources.append(Argument(type=a_text(raw.get("type"), f"{item}.type"), value=value))
    return tuple(resources)
