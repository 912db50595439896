"""The command `planarena regret`: what plans score less than the best order of the same tools."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.validity import AnySuiteOption
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_json
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Suite
from evaluator.episodes.base import episode_of
from evaluator.episodes.options import ExecutionSettings, prepare, selected_tasks

if TYPE_CHECKING:
    from evaluator.studies.validity.orders import RegretReport


def regret(
    suite: AnySuiteOption = "",
    report: Annotated[
        Path | None, typer.Option(help="Take the plans of this report of evaluate instead of gold plans.")
    ] = None,
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    split: Annotated[str, typer.Option(help="Split of the data: public or validation.")] = "public",
    samples: Annotated[int, typer.Option(min=2, help="Data points per task.")] = 8,
    tasks: Annotated[str, typer.Option(help="Only these tasks: ids and ranges, such as 0-14,16,19.")] = "",
    store: Annotated[str, typer.Option(help="Store of artefacts: a folder, or s3://bucket/prefix.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Execute every order of each plan's restorations, and print what the plan scores less than the best one.

    Only steps in a row that return the type that they take are reordered, up to 24 orders of a plan. The best order is
    chosen on half of the samples and compared on the other half, so that luck is no regret.
    """
    chosen = chosen_suite(suite)
    if not episode_of(chosen.slug).executes or episode_of(chosen.slug).in_turns:
        raise usage_error(f"{chosen.slug} does not execute whole plans, so that orders of steps have no scores")
    plans = _plans(suite=chosen, keys=selected_tasks(suite=chosen, text=tasks), report=report)
    settings = ExecutionSettings(profile=profile, split=split, samples=samples, device=device, store=store)
    evaluator = prepare(suite=chosen, settings=settings).evaluator()
    from evaluator.studies.validity.orders import measure_regret

    found = measure_regret(
        suite=chosen, plans=plans, samples=samples,
        evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
        on_order=lambda done, of: log.print(f"planarena regret: {done} of {of} orders"),
    )  # fmt: skip
    write_json(found.to_json(), printed=as_json, file=output)
    if not as_json:
        show_all(_tables(found), console=out)


def _plans(*, suite: Suite, keys: list[str], report: Path | None) -> Mapping[str, Plan]:
    if report is None:
        return {key: gold for key in keys if (gold := suite.task(key).gold) is not None}
    from evaluator.cli.comparison import ReportError, read_report
    from evaluator.reliability.renaming import plan_of

    try:
        records = read_report(report, suite=suite).records
    except ReportError as error:
        raise usage_error(error) from None
    found = {record.task: plan_of(record.plan) for record in records if record.score is not None}
    return {task: plan for task, plan in found.items() if task in keys and plan is not None}


def _tables(found: "RegretReport") -> Iterator[Listing]:
    title = f"Orders of the same tools on {found.suite}, {found.samples} samples"
    table = Listing("figure", "mean", "95 % interval", "tasks", title=title)
    for name, value in (("Regret", found.regret), ("Best order less worst", found.spread)):
        if value is not None:
            table.add_row(name, f"{value.mean:.4f}", value.in_words(), str(value.count))
    table.add_row("No order scores higher", str(found.already_best), "", str(len(found.tasks)))
    for reason, count in found.left_out.items():
        table.add_row(f"Left out: {reason}", "", "", str(count))
    yield table
    best = Counter((task.tools, task.best_tools) for task in found.tasks)
    orders = Listing("tools of the plan, in order", "best order", "tasks", title="Best orders")
    for (tools, better), count in sorted(best.items()):
        orders.add_row(", ".join(tools), "its own" if tools == better else ", ".join(better), str(count))
    yield orders
