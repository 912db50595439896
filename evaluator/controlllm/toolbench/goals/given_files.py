"""The files that a request gives, with their types."""

from evaluator.controlllm.toolbench.goals.derive import GENERATED
from evaluator.controlllm.toolbench.terms import file_names, type_of_file
from evaluator.core.tools.types import ResourceType
from evaluator.replies.decomposition import Decomposition


def files_of(*, instruction: str, decomposition: Decomposition | None) -> dict[str, frozenset[ResourceType]]:
    """The files that a request gives, with the types in which it gives them.

    The decomposition's arguments say in which role a file is given, and name files that only the context of the
    dialogue gives. Other files of the text have the type that their name shows.
    """
    roles: dict[str, set[ResourceType]] = {}
    for subtask in decomposition.subtasks if decomposition is not None else ():
        for argument in subtask.args:
            if argument.type != "text" and not GENERATED.fullmatch(argument.value):
                roles.setdefault(argument.value, set()).add(ResourceType(argument.type.removeprefix("image.")))
    for name in file_names(instruction):
        roles.setdefault(name, {type_of_file(name)})
    return {name: frozenset(kinds) for name, kinds in roles.items()}
