"""Subtasks of a decomposition, with their types known and their order settled: what the search works on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.tools.types import ResourceType
from evaluator.replies.decomposition import Argument, Decomposition, Subtask


@dataclass(frozen=True, slots=True)
class Resource:
    """Something a tool may take."""

    type: ResourceType
    value: str
    """A file name, a literal text, or the reference of something that a tool makes."""


@dataclass(frozen=True, slots=True)
class TypedSubtask:
    """A subtask whose types are resource types."""

    id: int
    description: str
    domains: tuple[str, ...]
    args: tuple[Resource, ...]
    returns: tuple[Resource, ...]

    @property
    def arg_types(self) -> tuple[ResourceType, ...]:
        return tuple(resource.type for resource in self.args)

    @property
    def return_types(self) -> tuple[ResourceType, ...]:
        return tuple(resource.type for resource in self.returns)


def typed_subtasks(decomposition: Decomposition) -> tuple[TypedSubtask, ...]:
    """The subtasks, each after those that it depends on, and else in the order given.

    Raises:
        PlanSyntaxError: a type is none of the catalogue's, two subtasks return the same reference, a subtask depends
            on one that is not there or, round about, on itself; `where` is the JSON path.
    """
    subtasks = decomposition.subtasks
    places = {subtask.id: index for index, subtask in enumerate(subtasks)}
    _check_references(subtasks)
    for index, subtask in enumerate(subtasks):
        for dependency in subtask.dependencies:
            if dependency not in places:
                raise PlanSyntaxError(f"there is no subtask {dependency}", where=f"[{index}].dep")
    order = TopologicalSorter({subtask.id: subtask.dependencies for subtask in subtasks})
    try:
        sorted_ids = tuple(order.static_order())
    except CycleError as error:
        raise PlanSyntaxError(f"subtasks depend on each other in a circle: {error.args[1]}", where="dep") from None
    ordered = subtasks if _in_order(subtasks) else tuple(subtasks[places[number]] for number in sorted_ids)
    return tuple(_typed(subtask=subtask, where=f"[{places[subtask.id]}]") for subtask in ordered)


def protocol_text(subtasks: Sequence[TypedSubtask]) -> str:
    """Subtasks in the protocol of Table 1, `<Solution>[...]</Solution>`."""
    owners = {result.value: subtask.id for subtask in subtasks for result in subtask.returns}
    rows = [
        {
            "description": subtask.description,
            "task": list(subtask.domains),
            "id": subtask.id,
            "dep": [owners[one.value] for one in subtask.args if one.value in owners] or [-1],
            "args": [{"type": str(one.type), "value": one.value} for one in subtask.args],
            "returns": [{"type": str(one.type), "value": one.value} for one in subtask.returns],
        }
        for subtask in subtasks
    ]
    return f"<Solution>{json.dumps(rows, ensure_ascii=False)}</Solution>"


def _in_order(subtasks: Sequence[Subtask]) -> bool:
    seen: set[int] = set()
    for subtask in subtasks:
        if not seen.issuperset(subtask.dependencies):
            return False
        seen.add(subtask.id)
    return True


def _check_references(subtasks: Sequence[Subtask]) -> None:
    owners: dict[str, int] = {}
    for index, subtask in enumerate(subtasks):
        if not subtask.returns:
            raise PlanSyntaxError("a subtask returns at least one resource", where=f"[{index}].returns")
        for result in subtask.returns:
            if result.value in owners:
                raise PlanSyntaxError(
                    f"{result.value!r} is already what [{owners[result.value]}] returns", where=f"[{index}].returns"
                )
            owners[result.value] = index


def _typed(*, subtask: Subtask, where: str) -> TypedSubtask:
    return TypedSubtask(
        id=subtask.id,
        description=subtask.description,
        domains=subtask.domains,
        args=_resources(subtask.args, where=f"{where}.args"),
        returns=_resources(subtask.returns, where=f"{where}.returns"),
    )


def _resources(arguments: Sequence[Argument], *, where: str) -> tuple[Resource, ...]:
    return tuple(
        Resource(type=_type(argument.type, where=f"{where}[{index}].type"), value=argument.value)
        for index, argument in enumerate(arguments)
    )


def _type(written: str, *, where: str) -> ResourceType:
    """A type as it is written; the released code's `image.mask` is `mask`."""
    name = written.strip().lower().removeprefix("image.")
    try:
        return ResourceType(name)
    except ValueError:
        known = ", ".join(ResourceType)
        raise PlanSyntaxError(f"there is no resource type {written!r}; there are: {known}", where=where) from None


Scores = Mapping[str, float]
"""Scores of tools by their names."""
