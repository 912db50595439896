"""The command `planarena validity`: do the scores distinguish gold plans from degraded ones?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.execution_settings import ExecutionSettings, prepare, selected_tasks
from evaluator.cli.listing import Listing, show_all
from evaluator.cli.usage import ExecutedSuiteOption, JsonFile, chosen_suite, is_stdout, log, out, write_json

if TYPE_CHECKING:
    from evaluator.validity import ValidityReport


def validity(
    suite: ExecutedSuiteOption = "",
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    split: Annotated[str, typer.Option(help="Split of the data: public or validation.")] = "public",
    data: Annotated[str, typer.Option(help="The papers' data, for the profile paper: folder:PATH or hub[:PATH].")] = "",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task.")] = 20,
    tasks: Annotated[str, typer.Option(help="Only these tasks: ids and ranges, such as 0-14,16,19.")] = "",
    store: Annotated[str, typer.Option(help="Store of artefacts: a folder, or s3://bucket/prefix.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    json_out: JsonFile = None,
) -> None:
    """Compare gold plans with plans that lack a step, reorder the restorations, or have no step.

    Exit code 0 if the image score ranks them correctly and the gold plan wins in 19 of 20 tasks with a text score.
    """
    chosen = chosen_suite(suite)
    settings = ExecutionSettings(profile=profile, split=split, data=data, samples=samples, device=device, store=store)
    evaluator = prepare(suite=chosen, settings=settings).evaluator()
    from evaluator.validity import measure_validity

    report = measure_validity(
        suite=chosen,
        evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
        tasks=selected_tasks(suite=chosen, text=tasks),
        samples=samples,
    )
    if not is_stdout(json_out):
        _print(report)
    write_json(report.to_json(), file=json_out)
    if not is_valid(report):
        log.print("planarena: the scores do not distinguish the gold plans from degraded ones")
        raise typer.Exit(1)


TEXT_TASKS_WON = 0.95
"""Share of the tasks with a text score in which the gold plan must beat every plan that lacks a step."""


def is_valid(report: "ValidityReport") -> bool:
    """Whether the means are in the expected order and gold plans win often enough."""
    texts = [row for row in report.metrics if row.metric == "BERT"]
    images = [row for row in report.metrics if row.metric != "BERT"]
    return (
        all(interval.mean > 0 for interval in report.steps.values())
        and all(row.won >= TEXT_TASKS_WON * row.tasks for row in texts)
        and all(row.margin.mean > 0 for row in images)
    )


def _print(report: "ValidityReport") -> None:
    show_all(_tables(report), console=out)
    for row in report.metrics:
        for loss in row.losses:
            out.print(f"task {loss.task} ({row.metric}): {loss.variant} scores {loss.other:.4f}, gold {loss.gold:.4f}")


def _tables(report: "ValidityReport") -> Iterator[Listing]:
    if report.ranking:
        table = Listing("plan", "mean ViT score", "95 % interval", title=f"{report.samples} samples per task")
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
