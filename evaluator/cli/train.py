"""The commands `planarena train ...`: training planners and comparing them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag, MarkdownFile, OutputFile
from evaluator.core.commands.usage import (
    ExecutedSuiteOption,
    chosen_suite,
    log,
    out,
    usage_error,
    write_json,
    write_text,
)
from evaluator.episodes.options import ExecutionSettings, prepare
from evaluator.training.options import Purpose, TuningOptions, tune_by_options, with_tuning_options

if TYPE_CHECKING:
    from evaluator.core.suites.base import Suite
    from evaluator.training.lora import LoraSettings

Result = TypeVar("Result")

app = typer.Typer(no_args_is_help=True)

ModelOption = Annotated[
    str, typer.Option(help="Folder of a model, hf:ORG/NAME@REVISION, or lilliput-planner[/VARIANT].")
]
ProfileOption = Annotated[str, typer.Option(help="Profile of the experts: lilliput or paper.")]
OutOption = Annotated[Path, typer.Option(help="Folder of the trained planner.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the training tasks and of all random draws.")]
SplitOption = Annotated[str, typer.Option(help="Split of the data that rewards are measured on: validation or public.")]
SamplesOption = Annotated[int, typer.Option(min=1, help="Data points per task.")]
DataOption = Annotated[str, typer.Option(help="The papers' data, for the profile paper: folder:PATH or hub[:PATH].")]
StoreOption = Annotated[str, typer.Option(help="Store of artefacts, kept between runs.")]
DeviceOption = Annotated[str, typer.Option(help="Torch device of the planner.")]
ExpertDeviceOption = Annotated[str, typer.Option(help="Torch device of the experts.")]
LoraOption = Annotated[bool, typer.Option("--lora", help="Low-rank adaptation (LoRA); needs the package peft.")]
RankOption = Annotated[int, typer.Option(min=1, help="Rank of the adaptation.")]
TargetsOption = Annotated[str, typer.Option(help="Layers to adapt; default: query and value projections.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")]
StopOption = Annotated[int | None, typer.Option(help="Stop after this step; --resume continues.")]
RateOption = Annotated[float | None, typer.Option(min=0, help="Peak learning rate.")]
EstimatorOption = Annotated[str, typer.Option(help="Advantages of plans: paper, leave-one-out or grpo.")]
SamplingOption = Annotated[str, typer.Option(help="How plans are drawn: tokens, or beams as in a test.")]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Number of torch threads.")]


@app.command()
def pretrain(
    out_: Annotated[Path, typer.Option("--out", help="Folder of the planner.")] = Path(".data/planners/pretrained"),
    steps: Annotated[int | None, typer.Option(min=1, help="Number of steps; default: the recipe's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the initial weights and of the training data.")] = 0,
    resume: ResumeOption = False,
    stop_after: StopOption = None,
    threads: ThreadsOption = 1,
) -> None:
    """Pretrain lilliput-planner from random weights on paraphrased requests."""
    import torch

    from evaluator.openagi.training.pretraining import STEPS, Pretraining, pretrain

    torch.set_num_threads(threads)
    order = Pretraining(out=out_, steps=steps or STEPS, seed=seed, resume=resume, stop_after=stop_after)
    _print_result(pretrain(order, report=_progress("pretraining")))


@app.command()
def finetune(
    model: ModelOption = "lilliput-planner",
    suite: ExecutedSuiteOption = "",
    profile: ProfileOption = "lilliput",
    out_: Annotated[Path, typer.Option("--out", help="Folder of the trained planner.")] = Path(
        ".data/planners/finetuned"
    ),
    seed: SeedOption = 0,
    steps: Annotated[int | None, typer.Option(min=1, help="Number of training steps.")] = None,
    learning_rate: RateOption = None,
    gold: Annotated[int | None, typer.Option(help="Number of training tasks to learn from; default: all.")] = None,
    lora: LoraOption = False,
    rank: RankOption = 8,
    targets: TargetsOption = "",
    device: DeviceOption = "cpu",
    resume: ResumeOption = False,
    stop_after: StopOption = None,
    threads: ThreadsOption = 1,
) -> None:
    """Fine-tune a planner on the gold plans of 10 % of a suite's tasks.

    Executes nothing: the profile only determines which tools have an expert.
    """
    import torch

    from evaluator.openagi.training.finetuning import FineTuning, fine_tune
    from evaluator.openagi.training.splits import few

    torch.set_num_threads(threads)
    chosen = chosen_suite(suite)
    tasks = _training_tasks(suite=chosen, profile=profile, seed=seed)
    try:
        tasks = tasks if gold is None else few(tasks, count=gold)
    except ValueError as error:
        raise usage_error(f"--gold: {error}") from None
    order = FineTuning(
        model=_folder(model), out=out_, suite=chosen, tasks=tasks,
        seed=seed, lora=_lora(lora, rank=rank, targets=targets), device=device, resume=resume, stop_after=stop_after,
    )  # fmt: skip
    order = replace(order, **_without_none(steps=steps, learning_rate=learning_rate))
    _print_result(_reporting_errors(lambda: fine_tune(order, report=_progress("fine-tuning"))))


@app.command()
@with_tuning_options
def planner(
    tuning: TuningOptions,
    data: Annotated[Path, typer.Option(help="File of conversations, one JSON object a line.")],
    strategy: Annotated[str, typer.Option(help="Strategy that the planner is for, such as openagi/zero-shot.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the adapters and of the batches.")] = 0,
    steps: Annotated[int | None, typer.Option(min=1, help="Number of steps; default: two passes.")] = None,
    resume: ResumeOption = False,
    stop_after: StopOption = None,
) -> None:
    """Tune a model of yours on data of yours, as a planner of any strategy."""
    from evaluator.planners.strategies.registry import PlannerNameError, named_strategy
    from evaluator.training.lessons import chat_lessons

    if not tuning.model:
        raise usage_error("--model must name the model to tune: a folder, hf:ORG/NAME@REVISION, or one that ships")
    try:
        named_strategy(f"{strategy}:model")
    except PlannerNameError as error:
        raise usage_error(error) from None
    purpose = Purpose(title=strategy, strategy=strategy, read=chat_lessons)
    tune_by_options(
        tuning, purpose=purpose, data=data, out=Path(".data/planners/tuned"), seed=seed, steps=steps, resume=resume,
        stop_after=stop_after,
    )  # fmt: skip


# Long: one line for each option.
@app.command()
def rltf(
    model: ModelOption = "lilliput-planner/finetuned",
    suite: ExecutedSuiteOption = "",
    profile: ProfileOption = "lilliput",
    out_: Annotated[Path, typer.Option("--out", help="Folder of the trained planner.")] = Path(".data/planners/rltf"),
    seed: SeedOption = 0,
    steps: Annotated[int | None, typer.Option(min=1, help="Number of training steps.")] = None,
    plans: Annotated[int | None, typer.Option(min=1, help="Plans sampled per task and step.")] = None,
    learning_rate: RateOption = None,
    estimator: EstimatorOption = "paper",
    sampling: SamplingOption = "tokens",
    split: SplitOption = "validation",
    samples: SamplesOption = 4,
    data: DataOption = "",
    store: StoreOption = "",
    lora: LoraOption = False,
    rank: RankOption = 8,
    targets: TargetsOption = "",
    device: DeviceOption = "cpu",
    expert_device: ExpertDeviceOption = "cpu",
    resume: ResumeOption = False,
    stop_after: StopOption = None,
    threads: ThreadsOption = 1,
) -> None:
    """Train a planner by task feedback: the reward of a sampled plan is its score when executed."""
    import torch

    from evaluator.openagi.training.feedback_run import FeedbackRun, train_with_feedback
    from evaluator.openagi.training.rltf import Schedule

    torch.set_num_threads(threads)
    chosen = chosen_suite(suite)
    settings = ExecutionSettings(
        profile=profile, split=split, samples=samples, data=data, store=store, device=expert_device
    )
    tasks = _training_tasks(suite=chosen, profile=profile, seed=seed)
    folder, evaluator = _folder(model), prepare(suite=chosen, settings=settings).evaluator()
    order = FeedbackRun(
        model=folder, out=out_, evaluator=evaluator, data=_data(settings),
        tasks=tuple(key for key in tasks if key not in evaluator.not_run),
        schedule=Schedule(
            seed=seed, **_drawn(estimator=estimator, sampling=sampling),
            **_without_none(steps=steps, samples=plans, learning_rate=learning_rate),
        ),
        lora=_lora(lora, rank=rank, targets=targets), device=device, resume=resume, stop_after=stop_after,
    )  # fmt: skip

    def report(point: Any) -> None:
        typer.echo(
            f"task feedback {point.step + 1}/{order.schedule.steps} reward {point.reward:.4f} "
            f"baseline {point.baseline:.4f} invalid {point.invalid:.3f}"
        )

    _print_result(_reporting_errors(lambda: train_with_feedback(order, report=report)))


# Long: one line for each option.
@app.command()
def table(
    model: ModelOption = "lilliput-planner",
    suite: ExecutedSuiteOption = "",
    profile: ProfileOption = "lilliput",
    seeds: Annotated[str, typer.Option(help="Seeds: numbers and ranges, such as 0-4.")] = "0-2",
    draws: Annotated[int, typer.Option(min=1, help="Test draws per seed.")] = 3,
    samples: SamplesOption = 4,
    work: Annotated[
        Path, typer.Option(help="Folder of planners and scores per seed; existing ones are reused.")
    ] = Path(".data/planners/table"),
    store: StoreOption = "",
    fine_tuning_steps: Annotated[int | None, typer.Option(min=1, help="Steps of fine-tuning.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of task feedback.")] = None,
    plans: Annotated[int | None, typer.Option(min=1, help="Plans sampled per task and step.")] = None,
    learning_rate: RateOption = None,
    out_: MarkdownFile = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    threads: ThreadsOption = 1,
) -> None:
    """Compare zero-shot, few-shot, fine-tuning and task feedback on held-out tasks, as in OpenAGI's Table 5.

    Rewards are measured on validation data, scores on public data.
    """
    import torch

    from evaluator.openagi.training.rltf import Schedule
    from evaluator.openagi.training.study import (
        FINE_TUNED,
        HEADINGS,
        RLTF,
        Study,
        caption,
        cells,
        chosen,
        make_difference,
        make_row,
        markdown,
        study_seed,
        to_json,
    )
    from evaluator.training.runs import seeds_of

    torch.set_num_threads(threads)
    study_suite = chosen_suite(suite)
    try:
        numbers = list(seeds_of(seeds))
    except ValueError:
        raise usage_error(f"--seeds: {seeds!r} must be numbers and ranges, such as 0-4,7") from None
    training = ExecutionSettings(profile=profile, split="validation", samples=samples, store=store)
    testing = replace(training, split="public")
    study = Study(
        model=_folder(model), work=work, training=prepare(suite=study_suite, settings=training).evaluator(),
        testing=prepare(suite=study_suite, settings=testing).evaluator(), data=_data(training), draws=draws,
        schedule=Schedule(**_without_none(steps=steps, samples=plans, learning_rate=learning_rate)),
        **_without_none(fine_tuning_steps=fine_tuning_steps),
    )  # fmt: skip
    measured = _reporting_errors(lambda: [study_seed(study=study, seed=seed, say=log.print) for seed in numbers])
    rows = [make_row(variant=variant, seeds=measured) for variant in chosen(measured)]
    differences = [make_difference(better=RLTF, worse=FINE_TUNED, seeds=measured)]
    shown = cells(rows=rows, differences=differences)
    write_text(markdown(table=shown, seeds=numbers), file=out_)
    write_json(to_json(rows=rows, differences=differences, seeds=numbers), printed=as_json, file=output)
    if not as_json:
        listing = Listing(*HEADINGS, title=caption(numbers))
        for row in shown:
            listing.add_row(*row)
        listing.show(out)


# Long: one line for each option.
@app.command()
def estimators(
    model: ModelOption = "lilliput-planner",
    suite: ExecutedSuiteOption = "",
    profile: ProfileOption = "lilliput",
    seeds: Annotated[str, typer.Option(help="Seeds: numbers and ranges, such as 0-9.")] = "0-9",
    arms: Annotated[
        str, typer.Option(help="Arms, as START/ESTIMATOR; START is fine-tuned or ten-gold.")
    ] = "fine-tuned/leave-one-out",
    samples: SamplesOption = 4,
    work: Annotated[
        Path, typer.Option(help="Folder of planners and scores per seed; existing ones are reused.")
    ] = Path(".data/planners/estimators"),
    store: StoreOption = "",
    steps: Annotated[int, typer.Option(min=1, help="Steps of task feedback.")] = 10,
    plans: Annotated[int, typer.Option(min=1, help="Plans sampled per task and step.")] = 16,
    learning_rate: Annotated[float, typer.Option(min=0, help="Peak learning rate.")] = 1e-3,
    sampling: SamplingOption = "beams",
    out_: MarkdownFile = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    threads: ThreadsOption = 1,
) -> None:
    """Compare planners before and after task feedback, as in the registered studies.

    All arms of a seed are trained before the next seed.
    """
    import torch

    from evaluator.openagi.training.estimator_study import (
        EstimatorStudy,
        arms_of,
        markdown,
        run_arm,
        table_of,
        to_json,
        with_starts,
    )
    from evaluator.openagi.training.rltf import Schedule
    from evaluator.training.runs import seeds_of

    torch.set_num_threads(threads)
    chosen = chosen_suite(suite)
    try:
        numbers, wanted = list(seeds_of(seeds)), arms_of(arms)
    except ValueError as error:
        raise usage_error(f"--seeds, --arms: {error}") from None
    training = ExecutionSettings(profile=profile, split="validation", samples=samples, store=store)
    study = EstimatorStudy(
        model=_folder(model), work=work, training=prepare(suite=chosen, settings=training).evaluator(),
        testing=prepare(suite=chosen, settings=replace(training, split="public")).evaluator(), data=_data(training),
        schedule=Schedule(
            steps=steps, samples=plans, learning_rate=learning_rate, **_drawn(sampling=sampling),
        ),
    )  # fmt: skip
    measured = _reporting_errors(
        lambda: {seed: {arm: run_arm(study=study, seed=seed, arm=arm, say=log.print) for arm in with_starts(wanted)}
                 for seed in numbers}
    )  # fmt: skip
    found = table_of(measured=measured, metrics={task.key: task.metric for task in chosen.tasks})
    write_text(markdown(found), file=out_)
    write_json(to_json(found), printed=as_json, file=output)
    if not as_json:
        out.print(markdown(found), markup=False, soft_wrap=True)


@app.command()
def ship(
    pretrained: Annotated[Path, typer.Option(help="Folder of the planner that the study started from.")],
    work: Annotated[Path, typer.Option(help="Folder of the study, as written by `table`.")] = Path(
        ".data/planners/table"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed whose planners are shipped.")] = 0,
) -> None:
    """Copy planners of a study to the shipped weights, with cards that report their held-out scores."""
    from evaluator.openagi.training.shipping import ship as shipped

    try:
        folders = shipped(pretrained=pretrained, work=work, seed=seed)
    except OSError as error:
        raise usage_error(f"seed {seed} of {work} cannot be shipped: {error}") from None
    for folder in folders:
        typer.echo(f"written to {folder}")


@app.command()
def controlllm(
    what: Annotated[str, typer.Argument(help="decomposer or scorer: train it; measure: on held-out pairs; ship.")],
    work: Annotated[Path, typer.Option(help="Folder of both networks.")] = Path(".data/planners/controlllm"),
    steps: Annotated[int | None, typer.Option(min=1, help="Number of steps; default: the recipe's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the initial weights and of the batches.")] = 0,
    resume: ResumeOption = False,
    stop_after: StopOption = None,
) -> None:
    """Train the networks of controlllm/trained, on requests drawn from a grammar."""
    from evaluator.controlllm.training.command import run

    settings = _without_none(steps=steps, seed=seed, resume=resume, stop_after=stop_after)
    typer.echo(_reporting_errors(lambda: run(what=what, work=work, settings=settings, report=_progress(what))))


@app.command("same-meaning")
def same_meaning(
    what: Annotated[str, typer.Argument(help="train; average; measure: on hidden pairs; ship.")] = "train",
    base: Annotated[Path, typer.Option(help="Folder of all-MiniLM-L6-v2; of all-mpnet-base-v2 for a teacher.")] = Path(
        ".data/planners/all-MiniLM-L6-v2"
    ),
    start: Annotated[list[Path] | None, typer.Option(help="A network to go on from; average: two or more.")] = None,
    teacher: Annotated[Path | None, typer.Option(help="A larger network whose probabilities are learnt.")] = None,
    work: Annotated[Path, typer.Option(help="Folder of the network.")] = Path(".data/planners/same-meaning"),
    steps: Annotated[int | None, typer.Option(min=1, help="Number of steps; default: the recipe's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the head and of the batches.")] = 0,
    resume: ResumeOption = False,
    stop_after: StopOption = None,
) -> None:
    """Train the network that settles what the judge's rules leave undecided."""
    from evaluator.controlllm.training.same_meaning.command import run

    settings = _without_none(steps=steps, seed=seed, resume=resume, stop_after=stop_after)
    typer.echo(
        _reporting_errors(
            lambda: run(
                what=what,
                base=base,
                start=start or [],
                teacher=teacher,
                work=work,
                settings=settings,
                report=_progress("training"),
            )
        )
    )


def _folder(model: str) -> Path:
    from evaluator.planners.language_models import ModelError
    from evaluator.training.export import base_model

    try:
        return base_model(model).folder
    except (LookupError, ModelError) as error:
        raise usage_error(error) from None


def _training_tasks(*, suite: "Suite", profile: str, seed: int) -> tuple[str, ...]:
    """The training tasks of a seed whose gold plan only needs tools with an expert in the profile."""
    from evaluator.execution.experts.profile import ProfileError, load_profile
    from evaluator.openagi.training.splits import draw_split

    try:
        train = draw_split(suite=suite, seed=seed).train
        offered = set(load_profile(profile).experts)
    except (ValueError, LookupError, ProfileError) as error:
        raise usage_error(error) from None
    golds = {key: suite.task(key).gold for key in train}
    return tuple(key for key, gold in golds.items() if gold is None or offered.issuperset(gold.tools()))


def _lora(enabled: bool, *, rank: int, targets: str) -> "LoraSettings | None":
    from evaluator.training.lora import LoraError, LoraSettings, targets_of

    try:
        return LoraSettings(rank=rank, alpha=2 * rank, targets=targets_of(targets)) if enabled else None
    except LoraError as error:
        raise usage_error(error) from None


def _data(settings: ExecutionSettings) -> dict[str, Any]:
    return {"profile": settings.profile, "split": settings.split, "samples": settings.samples, "data": settings.data}


def _drawn(*, sampling: str, estimator: str = "paper") -> dict[str, Any]:
    """The sampling of plans and the estimator of advantages."""
    from evaluator.openagi.training.episodes import Sampling
    from evaluator.openagi.training.reinforce import Estimator

    try:
        return {"sampling": Sampling(sampling), "estimator": Estimator(estimator)}
    except ValueError as error:
        choices = ", ".join([*Estimator, *Sampling])
        raise usage_error(f"--estimator, --sampling: {error}; there are: {choices}") from None


def _without_none(**options: Any) -> dict[str, Any]:
    """The options that are set; the others keep their defaults."""
    return {name: value for name, value in options.items() if value is not None}


def _reporting_errors(work: Callable[[], Result]) -> Result:
    """Run the work, and report an unusable model or suite as bad usage."""
    from evaluator.openagi.training.lessons import NoLessonsError
    from evaluator.planners.language_models import ModelError
    from evaluator.training.lora import LoraError
    from evaluator.training.runs import ChoiceError, SettingsError

    try:
        return work()
    except (ModelError, NoLessonsError, LoraError, SettingsError, ChoiceError) as error:
        raise usage_error(error) from None


def _progress(stage: str) -> Callable[[Any], None]:
    def report(progress: Any) -> None:
        typer.echo(f"{stage} {progress.step}/{progress.steps} loss {progress.loss:.4f} {progress.seconds:.0f} s")

    return report


def _print_result(folder: Path | None) -> None:
    typer.echo("stopped early; --resume continues" if folder is None else f"written to {folder}")
