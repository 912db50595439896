"""The command `planarena validity`: do the scores distinguish gold plans from degraded ones?"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.execution_agreement import compare_with_execution, is_judged_too
from evaluator.cli.judged_validity import compare_judged
from evaluator.core.canonical_json import JsonValue
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_json
from evaluator.core.suites.base import Suite
from evaluator.episodes.base import episode_of
from evaluator.episodes.options import ExecutionSettings, prepare, selected_tasks

AnySuiteOption = Annotated[
    str, typer.Option(help="Slug of a suite; default: the first one whose plans are executed.", show_default=False)
]

if TYPE_CHECKING:
    from evaluator.episodes.executed import Prepared
    from evaluator.studies.validity.floors import Floors
    from evaluator.studies.validity.images import ImageReport
    from evaluator.studies.validity.variants import ValidityReport


def validity(
    suite: AnySuiteOption = "",
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    split: Annotated[str, typer.Option(help="Split of the data: public or validation.")] = "public",
    data: Annotated[str, typer.Option(help="The papers' data, for the profile paper: folder:PATH or hub[:PATH].")] = "",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task.")] = 20,
    tasks: Annotated[str, typer.Option(help="Only these tasks: ids and ranges, such as 0-14,16,19.")] = "",
    store: Annotated[str, typer.Option(help="Store of artefacts: a folder, or s3://bucket/prefix.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    seed: Annotated[str, typer.Option(help="Draws the damage where plans are judged.")] = "",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the tables of a suite whose plans are judged as Markdown.")
    ] = False,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Compare gold plans with worse ones.

    Where plans are executed: with plans that lack a step, reorder the restorations, or have no step. Also compare the
    image score with measures that were not trained on degradations, and measure floors. Exit code 0 if every
    independent image measure ranks gold plans first, and the gold plan wins in 19 of 20 tasks with a text score.

    Where plans are judged: with each kind of damage, such as a dropped step or swapped files. Also judge the anchors.
    Only --tasks, --seed, --markdown, --json and --output matter. Exit code 0 if gold plans are better than each kind of
    damage in the indicator that it must worsen.

    Where plans are both: whether plans that are judged to solve a request produce good results. Exit code 0 if they
    do more often than the others.
    """
    chosen = chosen_suite(suite)
    if not episode_of(chosen.slug).executes:
        keys = selected_tasks(suite=chosen, text=tasks)
        compare_judged(suite=chosen, tasks=keys, seed=seed, markdown=markdown, as_json=as_json, output=output)
        return
    settings = ExecutionSettings(profile=profile, split=split, data=data, samples=samples, device=device, store=store)
    if is_judged_too(chosen):
        prepared = prepare(suite=chosen, settings=settings)
        keys = selected_tasks(suite=chosen, text=tasks)
        compare_with_execution(
            prepared=prepared, tasks=keys, seed=seed, markdown=markdown, as_json=as_json, output=output
        )
        return
    if markdown or seed:
        raise usage_error(f"--markdown and --seed are for suites whose plans are judged; {chosen.slug} executes plans")
    _compare_executed(suite=chosen, settings=settings, tasks=tasks, as_json=as_json, output=output)


def _compare_executed(
    *, suite: Suite, settings: ExecutionSettings, tasks: str, as_json: bool, output: Path | None
) -> None:
    prepared = prepare(suite=suite, settings=settings)
    evaluator = prepared.evaluator()
    from evaluator.studies.validity.images import Images, measure_images
    from evaluator.studies.validity.variants import measure_validity

    keys = selected_tasks(suite=suite, text=tasks)
    images = Images(value=evaluator.engine.value)
    report = measure_validity(
        suite=suite,
        evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
        tasks=keys,
        samples=settings.samples,
        seen=images.add,
    )
    compared = measure_images(images=images, profile=prepared.profile)
    floors = _floors(prepared=prepared, tasks=keys)
    write_json(_document(report=report, images=compared, floors=floors), printed=as_json, file=output)
    if not as_json:
        _print(report=report, images=compared, floors=floors)
    if not is_valid(report=report, images=compared):
        log.print("planarena: the scores do not distinguish the gold plans from degraded ones")
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _floors(*, prepared: "Prepared", tasks: Sequence[str]) -> "Floors":
    from evaluator.scoring.metrics.scorers.loading import load_scorer
    from evaluator.studies.validity.floors import measure_floors

    return measure_floors(
        suite=prepared.suite, tasks=tasks, samples=prepared.samples, count=prepared.count,
        scorer=lambda name: load_scorer(name=name, profile=prepared.profile, device=prepared.device),
    )  # fmt: skip


def _document(*, report: "ValidityReport", images: "ImageReport | None", floors: "Floors") -> dict[str, JsonValue]:
    return {
        **report.to_json(),
        "images": None if images is None else dict(asdict(images)),
        "floors": {**asdict(floors), "constant_score": floors.constant_score},
    }


TEXT_TASKS_WON = 0.95
"""Share of the tasks with a text score in which the gold plan must beat every plan that lacks a step."""


def is_valid(*, report: "ValidityReport", images: "ImageReport | None") -> bool:
    """Whether gold plans come first by every measure that was not trained to put them there, and win often enough.

    The image score's own order is printed and decides nothing: it was trained on the degradations that it ranks.
    """
    texts = [row for row in report.metrics if row.metric == "BERT"]
    others = [row for row in report.metrics if row.metric not in {"BERT", "ViT"}]
    return (
        all(one.ranks_gold_first for one in (images.measures if images is not None else ()))
        and all(row.won >= TEXT_TASKS_WON * row.tasks for row in texts)
        and all(row.margin.mean > 0 for row in others)
    )


def _print(*, report: "ValidityReport", images: "ImageReport | None", floors: "Floors") -> None:
    show_all([*_tables(report), *_image_tables(images), *_floor_tables(floors)], console=out)
    for row in report.metrics:
        for loss in row.losses:
            out.print(f"task {loss.task} ({row.metric}): {loss.variant} scores {loss.other:.4f}, gold {loss.gold:.4f}")


def _image_tables(images: "ImageReport | None") -> Iterator[Listing]:
    if images is None:
        return
    kinds = list(images.measures[0].means)
    table = Listing("measure", *kinds, title="mean by kind of plan, by measures not trained on degradations")
    for one in images.measures:
        table.add_row(one.measure, *(f"{one.means[kind]:.4f}" for kind in kinds))
    yield table
    title = f"rank correlation (Spearman) of the ViT score, {images.images} images of {images.scenes} scenes"
    table = Listing("measure", "all images", "within a scene", title=title)
    for one in images.measures:
        table.add_row(one.measure, f"{one.correlation:+.3f}", f"{one.within:+.3f}")
    yield table


def _floor_tables(floors: "Floors") -> Iterator[Listing]:
    if floors.constants:
        table = Listing("answer", "tasks", "BERT", "right", "text", title="best constant answer")
        for one in floors.constants:
            right = "" if one.right is None else f"{one.right:.1%}"
            table.add_row(one.kind, str(one.tasks), f"{one.score:.4f}", right, one.text)
        table.add_row("all", str(sum(one.tasks for one in floors.constants)), f"{floors.constant_score:.4f}", "", "")
        yield table
    if floors.untouched:
        table = Listing("degradations", "tasks", "ViT", title="images handed back untouched")
        for row in floors.untouched:
            table.add_row(str(row.degradations), str(row.tasks), f"{row.score:.4f}")
        yield table


def _tables(report: "ValidityReport") -> Iterator[Listing]:
    if report.ranking:
        table = Listing(
            "plan",
            "mean ViT score (trained on degradations)",
            "95 % interval",
            title=f"{report.samples} samples per task",
        )
        for kind, interval in report.ranking.items():
            table.add_row(kind, f"{interval.mean:.4f}", interval.in_words())
        yield table
        table = Listing("difference", "mean", "95 % interval")
        for pair, interval in report.steps.items():
            table.add_row(pair, f"{interval.mean:+.4f}", interval.in_words(form="+.4f"))
        yield table
    table = Listing("metric", "tasks", "gold wins", "gold minus others", "95 % interval")
    for row in report.metrics:
        interval = row.margin
        won = f"{row.won} ({row.won / row.tasks:.1%})" if row.tasks else "0"
        table.add_row(row.metric, str(row.tasks), won, f"{interval.mean:+.4f}", interval.in_words(form="+.4f"))
    yield table
