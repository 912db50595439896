"""`planarena validity` on suites whose plans are executed and judged: does the judgement predict the result?"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evaluator.cli.judged_validity import as_markdown
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.usage import log, out, usage_error, write_json
from evaluator.core.suites.base import Panel, Suite

if TYPE_CHECKING:
    from evaluator.episodes.executed import Prepared
    from evaluator.studies.validity.executed_plans import AgreementReport

_MOST_LISTED = 40


def is_judged_too(suite: Suite) -> bool:
    """Whether the plans of a suite that executes plans are judged besides."""
    return Panel.INDICATORS in suite.panels


def compare_with_execution(
    *, prepared: "Prepared", tasks: Sequence[str], seed: str, markdown: bool, as_json: bool, output: Path | None
) -> None:
    """Measure, and print tables, Markdown or JSON.

    Raises:
        typer.Exit: plans that are judged to solve a request do not produce good results more often than others.
    """
    evaluator = prepared.evaluator()
    from evaluator.studies.validity.execution_agreement import measure_agreement

    try:
        report = measure_agreement(
            suite=evaluator.suite,
            evaluate=lambda planner, keys: evaluator.run(planner=planner, tasks=keys),
            tasks=tasks,
            seed=seed,
        )
    except ValueError as error:
        raise usage_error(error) from None
    write_json(report.to_json(), printed=as_json, file=output)
    if markdown and not as_json:
        sys.stdout.write(f"{as_markdown(tables(report))}\n")
    elif not as_json:
        show_all([*tables(report), _disagreements(report)], console=out)
    if report.good_if_solved.mean <= report.good_if_not.mean:
        log.print("planarena: plans with SE = 1 are not better than the others", highlight=False)
        raise typer.Exit(ExitCode.CHECK_FAILED)


def tables(report: "AgreementReport") -> Iterator[Listing]:
    """How often SE and execution agree, and the same for each kind of plan."""
    table = Listing(
        "figure", "value", "95 % interval", title=f"SE and execution on {report.suite}, {report.plans} plans"
    )
    for name, found in report.figures():
        table.add_row(name, f"{found.mean:.3f}", found.in_words(form=".3f"))
    yield table
    makers = Listing("plans", "executed", "mean SE", "share of gold's score", title="By kind of plan")
    for maker, (count, solved, relative) in report.by_maker.items():
        makers.add_row(maker, str(count), f"{solved:.3f}", f"{relative:.3f}")
    yield makers


def _disagreements(report: "AgreementReport") -> Listing:
    table = Listing("request", "plan", "SE", "share of gold's score", title="Where SE and execution disagree")
    for one in report.disagreements[:_MOST_LISTED]:
        table.add_row(one.task, one.maker, str(int(one.solves)), f"{one.relative:.3f}")
    return table
