"""Options of a command that are the fields of a shape: name, type, default, limits and help follow from the shape."""

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

Command = Callable[..., None]


def with_options(
    shape: type[BaseModel], *, apart_from: Collection[str], spelled: Mapping[str, str]
) -> Callable[[Command], Command]:
    """Decorates a command that takes the values of a shape's fields, by name, as its argument `entered`.

    Args:
        shape: what the fields are of.
        apart_from: fields that have no option of their own.
        spelled: options that are not called as their field is.
    """
    options = {name: spelled.get(name, _option(name)) for name in shape.model_fields if name not in apart_from}

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**arguments: Any) -> None:
            entered = {name: arguments.pop(name) for name in options}
            command(entered=entered, **arguments)

        signature = inspect.signature(command, eval_str=True)
        own = [parameter for name, parameter in signature.parameters.items() if name != "entered"]
        given = [_parameter(name, field=shape.model_fields[name], option=option) for name, option in options.items()]
        together = sorted([*own, *given], key=lambda parameter: parameter.default is not inspect.Parameter.empty)
        run.__signature__ = signature.replace(parameters=together)  # type: ignore[attr-defined]
        # Typer reads the types here.
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in together}
        return run

    return decorate


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _parameter(name: str, *, field: FieldInfo, option: str) -> inspect.Parameter:
    least: Any = next((one.ge for one in field.metadata if hasattr(one, "ge")), None)
    most: Any = next((one.le for one in field.metadata if hasattr(one, "le")), None)
    declared = typer.Option(option, min=least, max=most, help=field.description)
    kind: Any = field.annotation
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=field.default,
        annotation=Annotated[kind, declared],
    )
