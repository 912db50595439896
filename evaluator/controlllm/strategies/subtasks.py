"""Typed subtasks of a decomposition in the order of their dependencies, the input of the search."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.tools.types import ResourceType
from evaluator.replies.decomposition import Argument, Decomposition, Subtask


@dataclass(frozen=True, slots=True)
class Resource:
    """An argument or result of a tool."""

    type: ResourceType
    value: str
    """A file name, a literal text, or the reference of a result."""

    def to_json(self) -> dict[str, JsonValue]:
        """In the format of the protocol."""
        return {"type": str(self.type), "value": self.value}


@dataclass(frozen=True, slots=True)
class TypedSubtask:
    """A subtask whose types are resource types."""

    id: int
    description: str
    domains: tuple[str, ...]
    args: tuple[Resource, ...]
    returns: tuple[Resource, ...]
    lacks: str = ""
    """Why no tool does it, as part of a sentence; empty if one may."""
    demanded: tuple[str, ...] = ()
    """The tools of the shortest chain that does it, the last of which makes the result; empty if any chain may."""

    @property
    def arg_types(self) -> tuple[ResourceType, ...]:
        return tuple(resource.type for resource in self.args)

    @property
    def return_types(self) -> tuple[ResourceType, ...]:
        return tuple(resource.type for resource in self.returns)


def typed_subtasks(decomposition: Decomposition) -> tuple[TypedSubtask, ...]:
    """The subtasks in the order of their dependencies; the written order is kept where it is one.

    Raises:
        PlanSyntaxError: there is no such type, two subtasks return the same reference, or a dependency is missing or
            circular; `where` is the JSON path.
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
    earlier = [{other.id for other in subtasks[:index]} for index in range(len(subtasks))]
    if not all(ids.issuperset(subtask.dependencies) for ids, subtask in zip(earlier, subtasks, strict=True)):
        subtasks = tuple(subtasks[places[number]] for number in sorted_ids)
    return tuple(
        TypedSubtask(
            id=subtask.id,
            description=subtask.description,
            domains=subtask.domains,
            args=_resources(subtask.args, where=f"[{places[subtask.id]}].args"),
            returns=_resources(subtask.returns, where=f"[{places[subtask.id]}].returns"),
        )
        for subtask in subtasks
    )


def protocol_text(subtasks: Sequence[TypedSubtask]) -> str:
    """Subtasks in the protocol of Table 1, `<Solution>[...]</Solution>`."""
    owners = {result.value: subtask.id for subtask in subtasks for result in subtask.returns}
    rows = [
        {
            "description": subtask.description,
            "task": list(subtask.domains),
            "id": subtask.id,
            "dep": [owners[argument.value] for argument in subtask.args if argument.value in owners] or [-1],
            "args": [argument.to_json() for argument in subtask.args],
            "returns": [result.to_json() for result in subtask.returns],
        }
        for subtask in subtasks
    ]
    return f"<Solution>{json.dumps(rows, ensure_ascii=False)}</Solution>"


def _check_references(subtasks: Sequence[Subtask]) -> None:
    owners: dict[str, int] = {}
    for index, subtask in enumerate(subtasks):
        if not subtask.returns:
            raise PlanSyntaxError("a subtask returns at least one resource", where=f"[{index}].returns")
        for result in subtask.returns:
            if result.value in owners:
                raise PlanSyntaxError(
                    f"[{owners[result.value]}] already returns {result.value!r}", where=f"[{index}].returns"
                )
            owners[result.value] = index


def _resources(arguments: Sequence[Argument], *, where: str) -> tuple[Resource, ...]:
    resources = []
    for index, argument in enumerate(arguments):
        # The released code writes `image.mask` for `mask`.
        name = argument.type.strip().lower().removeprefix("image.")
        if name not in list(ResourceType):
            message = f"there is no resource type {argument.type!r}; there are: {', '.join(ResourceType)}"
            raise PlanSyntaxError(message, where=f"{where}[{index}].type")
        resources.append(Resource(type=ResourceType(name), value=argument.value))
    return tuple(resources)


Scores = Mapping[str, float]
"""Scores of tools by their names."""
