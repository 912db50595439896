"""The command `planarena score-plans`: planning metrics of a file of plans, without a server."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.cli.listing import Listing, show_all
from evaluator.cli.usage import JsonFlag, chosen_suite, log, out, print_json, usage_error
from evaluator.metrics.statistics import ends_in_words
from evaluator.plan_scores import PlanFileError, Report, ScoredLine, read_lines, report_to_json, score_lines, task_at
from evaluator.suites import Suite
from evaluator.suites.toolbench.suite import is_tool_suite
from evaluator.suites.toolbench.terms import describe, interpret


def score_plans(
    plans: Annotated[Path, typer.Argument(help='A file of {"task": ..., "plan": ...} lines; - reads standard input.')],
    suite: Annotated[str, typer.Option(help="tool100, tool2k or toolmini.")],
    as_json: JsonFlag = False,
    active: Annotated[bool, typer.Option("--active", help="Omit tasks with known defects.")] = False,
    explain: Annotated[str, typer.Option(help="Explain the scores of the plans of this task.")] = "",
) -> None:
    """Score plans by ControlLLM's metrics: IR, NR, HR, CR, SE. Tasks without a plan count against the planner."""
    chosen = chosen_suite(suite)
    if not is_tool_suite(chosen):
        raise usage_error(f"{suite} executes plans; score-plans judges plans of tool100, tool2k and toolmini")
    try:
        text = sys.stdin.read() if str(plans) == "-" else plans.read_text(encoding="utf-8")
        report = score_lines(suite=chosen, lines=read_lines(text.split("\n")), active_only=active)
    except (PlanFileError, UnicodeDecodeError) as error:
        raise usage_error(f"{plans}: {error}") from None
    except OSError as error:
        raise usage_error(f"{plans} cannot be read: {error.strerror}") from None
    unknown = [row for row in report.rows if row.task is None]
    for row in unknown[:5]:
        log.print(f"planarena: line {row.line.number}: {row.why['error']}", markup=False, highlight=False)
    if report.rows and len(unknown) == len(report.rows):
        raise usage_error(f"no line of {plans} names a task of {suite}")
    if explain:
        _explain(suite=chosen, report=report, key=explain)
    elif as_json:
        print_json(report_to_json(report))
    else:
        _print_tables(suite=chosen, report=report)


def _print_tables(*, suite: Suite, report: Report) -> None:
    table = Listing("metric", "mean", "95 % interval", "note", title=f"{len(report.rows)} plans for {suite.title}")
    for column in suite.metrics:
        found = report.summary["metrics"].get(column.key)
        if found is not None:
            better = "" if column.higher_is_better else "lower is better"
            interval = ends_in_words(low=found["low"], high=found["high"], count=found["tasks"])
            table.add_row(column.label, f"{found['mean']:.4f}", interval, better)
    breakdowns = [
        _breakdown(title=title, rows=rows)
        for title, rows in (("level", report.by_level), ("group", report.by_group))
        if rows and (title == "level" or len(rows) <= 20)
    ]
    show_all((table, *breakdowns), console=out)
    out.print(
        f"{len(report.missing)} tasks without a plan count against the planner; {report.not_covered} have no goal.",
        highlight=False,
    )


def _breakdown(*, title: str, rows: Mapping[str, Mapping[str, Any]]) -> Listing:
    table = Listing(title, "n", "IR", "NR", "HR", "CR", "SE")
    for name, row in rows.items():
        table.add_row(name, str(row["count"]), *(f"{row[key]:.2f}" for key in ("IR", "NR", "HR", "CR", "SE")))
    return table


def _explain(*, suite: Suite, report: Report, key: str) -> None:
    task = task_at(suite=suite, key=key)
    if task is None:
        raise usage_error(f"{suite.slug} has no task {key!r}")
    rows = [row for row in report.rows if row.task is not None and row.task.key == task.key]
    for row in rows:
        _explain_row(suite=suite, row=row)
    if not rows:
        out.print(f"{suite.slug} {task.key}: no line has a plan for it", highlight=False)
        parts = task.goal.parts if task.goal is not None else ()
        out.print("\n".join(f"  {part.number + 1}. {part.sentence()}" for part in parts), markup=False, highlight=False)


def _explain_row(*, suite: Suite, row: ScoredLine) -> None:
    assert row.task is not None
    lines = [f"{suite.slug} {row.task.key}, line {row.line.number}", f"Request: {row.task.text}", "Goal:"]
    lines += (
        [f"  {part.number + 1}. {part.sentence()}" for part in row.task.goal.parts] if row.task.goal else ["  none"]
    )
    if row.judged is not None:
        lines.append("Plan, with the result of each step:")
        calls = interpret(plan=row.judged.plan, catalogue=suite.catalogue, files=row.task.files)
        lines += [f"  step {call.number}: {describe(call.outputs[0])}" for call in calls]
        lines += [f"  tolerated: {note}" for note in row.judged.tolerated]
    for name, reason in row.why.items():
        value = row.indicators.get(name)
        lines.append(f"{name}: {reason}" if value is None else f"{name} = {value:g}: {reason}")
    out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
