"""The commands of ARC's suites: fetching, and training a program writer of Lilliput size."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.arc.source import RELEASE
from evaluator.core.commands.options import MarkdownFile
from evaluator.core.commands.usage import log, out, usage_error, write_text
from evaluator.network.fetching import fetching
from evaluator.training.options import TuningOptions, refuse_without_model, tune_by_options, with_tuning_options

_DATA, _WORK = Path(".data/arc-writer"), Path(".data/planners/arc")


def convert(
    folder: Annotated[Path, typer.Option("--out", help="Folder of the file.")] = _DATA,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks of each family of arc-mini's training split.")] = 2500,
    start: Annotated[int, typer.Option(min=0, help="Number of the first task of each family.")] = 0,
) -> None:
    """Write lessons for the program writer: tasks of arc-mini's training split in several views with their programs,
    and wrong programs with feedback."""
    from evaluator.arc.training.lessons import FILE, write_lessons
    from evaluator.sandbox.programs.support import UnconfinedError

    try:
        count = write_lessons(folder=folder, count=tasks, start=start)
    except OSError as error:
        raise usage_error(f"--out: {folder} cannot be written: {error}") from None
    except UnconfinedError as error:
        raise usage_error(error) from None
    out.print(f"{folder / FILE}: {count} lessons", markup=False, highlight=False, soft_wrap=True)


@with_tuning_options
def train(
    tuning: TuningOptions,
    data: Annotated[
        Path, typer.Option(help="Folder written by `arc convert`; with --model, also a file of conversations.")
    ] = _DATA,
    work: Annotated[Path, typer.Option(help="Folder of the trained writers.")] = _WORK,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the initial weights and of the batches.")] = 0,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of steps; default: the recipe's, with --model two passes.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    stop_after: Annotated[int | None, typer.Option(help="Stop after this step; --resume continues.")] = None,
) -> None:
    """Train a program writer: of Lilliput size, or from a model of yours."""
    from evaluator.arc.training.training import train as train_one
    from evaluator.arc.training.training import tuned_for
    from evaluator.training.lessons import DataError
    from evaluator.training.runs import ChoiceError, SettingsError

    refuse_without_model(tuning)
    settings = {"seed": seed, "steps": steps, "resume": resume, "stop_after": stop_after}
    try:
        if tuning.model:
            purpose, file = tuned_for(data)
            tune_by_options(
                tuning, purpose=purpose, data=file, out=work / f"seed-{seed}" / "writer-tuned", **settings,  # type: ignore[arg-type]
            )  # fmt: skip
            return
        folder = train_one(
            data=data, work=work, settings=settings,
            report=lambda at: log.print(f"step {at.step} of {at.steps}, loss {at.loss:.4f}, {at.seconds:.0f} s"),
        )  # fmt: skip
    except (ChoiceError, DataError, SettingsError) as error:
        raise usage_error(error) from None
    typer.echo("stopped early; --resume continues" if folder is None else f"written to {folder}")


def compare(
    work: Annotated[Path, typer.Option(help="Folder of the trained writers.")] = _WORK,
    seeds: Annotated[str, typer.Option(help="Seeds: numbers and ranges, such as 0-2.")] = "0-2",
    split: Annotated[str, typer.Option(help="Split of the tasks: public or validation.")] = "public",
    each: Annotated[int, typer.Option("--tasks", min=1, help="Tasks of each family; the suite has ten.")] = 10,
    out_: MarkdownFile = None,
) -> None:
    """Measure the trained writers with single views and all of them, with and without feedback, and print the paper's
    comparison."""
    from evaluator.arc.training.comparison import Tasks, evaluator_of, markdown, measure_all
    from evaluator.training.runs import ChoiceError, seeds_of

    tasks = Tasks(split=split, each=each)
    try:
        numbers = list(seeds_of(seeds))
        evaluator = evaluator_of(tasks)
    except ChoiceError as error:
        raise usage_error(error) from None
    except ValueError as error:
        raise usage_error(f"--seeds: {error}") from None
    measured = measure_all(work=work, seeds=numbers, tasks=tasks, evaluator=evaluator, say=log.print)
    report = markdown(measured=measured, seeds=numbers, tasks=tasks.name)
    write_text(report, file=out_)
    out.print(report, markup=False, highlight=False, soft_wrap=True)


RELEASED = {RELEASE.name: fetching(RELEASE)}
