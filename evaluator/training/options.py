"""Options of the commands that tune a given model, the same for all papers. Imports no torch."""

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from evaluator.core.commands.options import writable_folder
from evaluator.core.commands.usage import log, usage_error

if TYPE_CHECKING:
    from evaluator.training.lessons import Reader

_MODEL, _TUNING = "A model of yours", "Tuning it"


def _option(text: str, *names: str, panel: str = _MODEL, **settings: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **settings)


_tuning = partial(_option, panel=_TUNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningOptions:
    """How to tune a given model. Each field is an option of a command."""

    model: Annotated[str, _option("Model to tune: a folder, hf:ORG/NAME@REVISION, or one that ships.")] = ""
    out: Annotated[Path | None, _option("Folder of the tuned model.", "--out", callback=writable_folder)] = None
    lora: Annotated[bool, _tuning("Train low-rank adapters (LoRA) and merge them at the end.", "--lora")] = False
    rank: Annotated[int | None, _tuning("Rank of the adapters.", show_default="8", min=1, max=4096)] = None
    targets: Annotated[
        str, _tuning("Layers to adapt, separated by commas.", show_default="query and value projections")
    ] = ""
    batch: Annotated[int | None, _tuning("Conversations of a step.", show_default="16", min=1)] = None
    at_once: Annotated[
        int | None, _tuning("Texts of a step in memory at once, which changes no result.", show_default="1", min=1)
    ] = None
    learning_rate: Annotated[
        float | None, _tuning("Peak learning rate.", show_default="2e-5; with --lora 3e-4", min=0)
    ] = None
    longest: Annotated[
        int | None, _tuning("Tokens of a prompt with its reply; longer ones are left out.", show_default="2048", min=2)
    ] = None
    held_out: Annotated[float | None, _option("Share of the tasks to hold out for the card.", show_default="0.05")] = (
        None
    )
    precision: Annotated[str, _option("float32, or bfloat16 with --lora.", show_default="float32")] = ""
    device: Annotated[str, _option("Torch device.", show_default="cpu")] = ""
    save_memory: Annotated[bool, _tuning("Compute activations twice instead of storing them.", "--save-memory")] = False
    licence: Annotated[str, _option("Licence of the base model, for the card.", show_default="as its card says")] = ""
    data_licence: Annotated[str, _option("Licence of the data, for the card.")] = ""

    @property
    def given(self) -> list[str]:
        """The options that are set, besides `--model`."""
        return [
            f"--{field.name.replace('_', '-')}"
            for field in dataclasses.fields(self)
            if field.name != "model" and getattr(self, field.name) != field.default
        ]


def with_tuning_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `tuning` of a command by the options of `TuningOptions`."""
    hints = get_type_hints(TuningOptions, include_extras=True)
    fields = dataclasses.fields(TuningOptions)

    @wraps(command)
    def run(**arguments: Any) -> None:
        tuning = TuningOptions(**{field.name: arguments.pop(field.name) for field in fields})
        command(tuning=tuning, **arguments)

    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for own in signature.parameters.values():
        if own.name != "tuning":
            # Required options may follow optional ones.
            parameters.append(own.replace(kind=own.KEYWORD_ONLY))
            continue
        parameters += [
            inspect.Parameter(field.name, own.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
            for field in fields
        ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    # Typer reads the types here.
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def refuse_without_model(tuning: TuningOptions) -> None:
    """Refuse options that have no effect without `--model`.

    Raises:
        typer.Exit: one is set.
    """
    if not tuning.model and tuning.given:
        raise usage_error(f"{', '.join(tuning.given)}: only with --model, which names the model to tune")


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What a tuned model is for, and how its data are read."""

    title: str
    strategy: str
    read: "Reader"
    stop: tuple[str, ...] = ()


def tune_by_options(
    tuning: TuningOptions, *, purpose: Purpose, data: Path, out: Path, seed: int, steps: int | None, resume: bool,
    stop_after: int | None,
) -> None:  # fmt: skip
    """Tune the model of the options.

    Args:
        tuning: the options.
        purpose: what it is for.
        data: file of lessons.
        out: folder of the result where `--out` names none.
        seed: seed of the adapters and batches.
        steps: number of steps; None for a number of passes over the data.
        resume: whether to continue from the checkpoint.
        stop_after: stop after this step.

    Raises:
        typer.Exit: the model, the data or an option is wrong; standard error says why.
    """
    from evaluator.planners.language_models import ModelError
    from evaluator.training.export import base_model
    from evaluator.training.lessons import DataError
    from evaluator.training.lora import LoraError, LoraSettings, targets_of
    from evaluator.training.runs import SettingsError
    from evaluator.training.tuning import Tuning, TuningError, tune

    try:
        if (tuning.rank or tuning.targets) and not tuning.lora:
            raise TuningError("--rank and --targets belong to --lora")
        rank = tuning.rank or LoraSettings().rank
        lora = LoraSettings(rank=rank, alpha=2 * rank, targets=targets_of(tuning.targets)) if tuning.lora else None
        chosen = {
            name: value
            for name in ("batch", "at_once", "held_out", "precision", "device")
            if (value := getattr(tuning, name)) not in (None, "")
        }
        order = Tuning(
            base=base_model(tuning.model), data=data, out=tuning.out or out, title=purpose.title,
            strategy=purpose.strategy, read=purpose.read, stop=purpose.stop, seed=seed, steps=steps, lora=lora,
            learning_rate=tuning.learning_rate, longest=tuning.longest, save_memory=tuning.save_memory,
            licence=tuning.licence, data_licence=tuning.data_licence, resume=resume, stop_after=stop_after, **chosen,
        )  # fmt: skip
        folder = tune(
            order, say=log.print,
            report=lambda at: log.print(f"step {at.step} of {at.steps}, loss {at.loss:.4f}, {at.seconds:.0f} s"),
        )  # fmt: skip
    except (DataError, LookupError, LoraError, ModelError, SettingsError, TuningError) as error:
        raise usage_error(error) from None
    typer.echo("stopped early; --resume continues" if folder is None else f"written to {folder}")
