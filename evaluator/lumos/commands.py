"""The commands of LUMOS's suites: fetching, and writing training data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from evaluator.core.commands.options import MarkdownFile, writable
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_text
from evaluator.lumos.maths import source as maths
from evaluator.lumos.questions import source as questions
from evaluator.lumos.sql import source as sql
from evaluator.network.fetching import fetching
from evaluator.training.options import TuningOptions, refuse_without_model, tune_by_options, with_tuning_options

_WORK = Path(".data/planners/lumos")


def convert(
    folder: Annotated[Path, typer.Option("--out", help="Folder of the files.")] = Path(".data/lumos"),
    tasks: Annotated[int, typer.Option(min=1, help="Tasks of each group of lumos-mini's training split.")] = 1000,
    start: Annotated[int, typer.Option(min=0, help="Number of the first task of each group.")] = 0,
    profile: Annotated[str, typer.Option(help="Profile of the experts that the solutions are run with.")] = "lilliput",
    source: Annotated[
        str,
        typer.Option("--from", metavar="NAME", help="A published data set: gsm8k, svamp, asdiv or musique."),
    ] = "",
    file: Annotated[Path | None, typer.Option(help="With --from: the data set's own file.")] = None,
) -> None:
    """Write LUMOS's training data: conversations of planning and grounding modules, iterative and one-pass, and of the
    baselines.

    Runs the solutions of lumos-mini's training split, so that the conversations contain real results. With --from and
    --file, converts the solutions of a published data set instead.
    """
    if bool(source) != (file is not None):
        raise usage_error("--from and --file go together")
    if file is not None:
        _convert_file(source, file=file, folder=folder)
        return
    from evaluator.episodes.options import ExecutionSettings, setting_of
    from evaluator.lumos.mini.conversion import write_training_data

    setting = setting_of(ExecutionSettings(profile=profile, split="", samples=1))
    try:
        written = write_training_data(folder=folder, setting=setting, count=tasks, start=start)
    except OSError as error:
        raise usage_error(f"--out: {folder} cannot be written: {error}") from None
    _print_written(written, folder=folder)


def _convert_file(source: str, *, file: Path, folder: Path) -> None:
    from evaluator.lumos.training.published import SOURCES
    from evaluator.lumos.training.published import convert as convert_file
    from evaluator.training.lessons import DataError

    if source not in SOURCES:
        raise usage_error(f"--from: there is no data set {source!r}; there are: {', '.join(SOURCES)}")
    try:
        written, left_out = convert_file(source=source, file=file, folder=folder)
    except DataError as error:
        raise usage_error(f"--file: {error}") from None
    except OSError as error:
        raise usage_error(f"--out: {folder} cannot be written: {error}") from None
    _print_written(written, folder=folder)
    for why, count in left_out.items():
        out.print(f"left out: {count}, {why}", markup=False, highlight=False, soft_wrap=True)


def _print_written(written: Mapping[str, int], *, folder: Path) -> None:
    for form, count in written.items():
        out.print(f"{folder / form}.jsonl: {count} conversations", markup=False, highlight=False, soft_wrap=True)


@with_tuning_options
def train(
    module: Annotated[str, typer.Argument(help="What to train; a wrong name lists all.")],
    tuning: TuningOptions,
    data: Annotated[
        Path, typer.Option(help="Folder written by `lumos convert`; with --model, also a file in LUMOS's layout.")
    ] = Path(".data/lumos"),
    work: Annotated[Path, typer.Option(help="Folder of the trained modules.")] = _WORK,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the initial weights and of the batches.")] = 0,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of steps; default: the recipe's, with --model two passes.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    stop_after: Annotated[int | None, typer.Option(help="Stop after this step; --resume continues.")] = None,
) -> None:
    """Train a planning or grounding module, or a baseline: of Lilliput size, or from a model of yours."""
    from evaluator.lumos.training.command import train as train_one
    from evaluator.lumos.training.command import tuned_for
    from evaluator.training.lessons import DataError
    from evaluator.training.runs import ChoiceError, SettingsError

    refuse_without_model(tuning)
    settings = {"seed": seed, "steps": steps, "resume": resume, "stop_after": stop_after}
    try:
        if tuning.model:
            purpose, file = tuned_for(module, data=data)
            out_ = work / f"seed-{seed}" / f"{module}-tuned"
            tune_by_options(tuning, purpose=purpose, data=file, out=out_, **settings)  # type: ignore[arg-type]
            return
        folder = train_one(
            name=module, data=data, work=work, settings=settings,
            report=lambda at: log.print(f"{module}: step {at.step} of {at.steps}, loss {at.loss:.4f}"),
        )  # fmt: skip
    except (ChoiceError, DataError, SettingsError) as error:
        raise usage_error(error) from None
    typer.echo("stopped early; --resume continues" if folder is None else f"written to {folder}")


def compare(
    work: Annotated[Path, typer.Option(help="Folder of the trained modules.")] = _WORK,
    seeds: Annotated[str, typer.Option(help="Seeds: numbers and ranges, such as 0-2.")] = "0-2",
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    out_: MarkdownFile = None,
) -> None:
    """Measure all trained modules on lumos-mini's public tasks, and print LUMOS's comparison."""
    from evaluator.core.suites.registry import suite_of
    from evaluator.episodes.base import episode_of
    from evaluator.episodes.options import ExecutionSettings, setting_of
    from evaluator.lumos.mini.suite import SLUG
    from evaluator.lumos.training.study import markdown, measure_all
    from evaluator.training.runs import seeds_of

    try:
        numbers = list(seeds_of(seeds))
    except ValueError as error:
        raise usage_error(f"--seeds: {error}") from None
    setting = setting_of(ExecutionSettings(profile=profile, split="public", samples=1))
    evaluator = episode_of(SLUG).evaluator(suite=suite_of(SLUG), setting=setting)
    measured = measure_all(work=work, seeds=numbers, evaluator=evaluator, say=log.print)
    report = markdown(measured=measured, seeds=numbers)
    write_text(report, file=out_)
    out.print(report, markup=False, highlight=False, soft_wrap=True)


def efficiency(
    planners: Annotated[list[str], typer.Argument(help="Names of two or more planners; ratios are to the first.")],
    suite: Annotated[str, typer.Option(help="Slug of a suite in turns.")] = "lumos-mini",
    each: Annotated[int, typer.Option(min=1, help="Tasks of each kind that a board has a column for.")] = 20,
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    out_: MarkdownFile = None,
) -> None:
    """Measure time and tokens of planners on the same tasks, such as LUMOS's one-pass and iterative forms."""
    from evaluator.episodes.base import SettingError, episode_of
    from evaluator.episodes.options import ExecutionSettings, setting_of
    from evaluator.lumos.efficiency import NothingSpentError, first_of_each_metric, markdown, measured
    from evaluator.planners.named import planner_named

    if len(planners) < 2:
        raise usage_error("name two or more planners")
    chosen = chosen_suite(suite)
    if not episode_of(suite).in_turns:
        raise usage_error(f"{suite} asks for whole plans; this command needs a suite in turns")
    try:
        named = {name: planner_named(name=name, suite=chosen) for name in planners}
        setting = setting_of(ExecutionSettings(profile=profile, split="", samples=1))
        evaluator = episode_of(suite).evaluator(suite=chosen, setting=setting)
        found = measured(
            named, evaluator=evaluator, tasks=first_of_each_metric(evaluator.suite, count=each), say=log.print
        )
    except (LookupError, SettingError, NothingSpentError) as error:
        raise usage_error(error) from None
    report = markdown(found)
    write_text(report, file=out_)
    out.print(report, markup=False, highlight=False, soft_wrap=True)


def ship(
    work: Annotated[Path, typer.Option(help="Folder of the trained modules.")] = _WORK,
    seed: Annotated[int, typer.Option(help="Seed of the modules.")] = 0,
) -> None:
    """Copy the measured modules of a seed, with their cards, into the folder that PlanArena ships them from."""
    from evaluator.lumos.training.command import ship as ship_modules
    from evaluator.training.runs import ChoiceError

    try:
        for folder in ship_modules(work=work, seed=seed):
            out.print(str(folder), markup=False, highlight=False, soft_wrap=True)
    except ChoiceError as error:
        raise usage_error(error) from None


def mind2web(
    pages: Annotated[Path, typer.Option(help="Folder with the released JSON files of a test split.")],
    ranks: Annotated[Path, typer.Option(help="JSON file of the ranks of the elements.")],
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="The file; default: where the suite looks for it.", callback=writable),
    ] = None,
) -> None:
    """Build the data file of the suite mind2web from the released pages and ranks."""
    from evaluator.lumos.web.building import build
    from evaluator.lumos.web.steps import STEPS, StepFileError

    target = out_ or STEPS.path(STEPS.files[0])
    try:
        count = build(pages=pages, ranks=ranks, target=target, report=log.print)
    except StepFileError as error:
        raise usage_error(error) from None
    out.print(f"{target}: {count} tasks", markup=False, highlight=False, soft_wrap=True)


RELEASED = {release.name: fetching(release) for release in (maths.RELEASE, questions.RELEASE, sql.RELEASE)}
