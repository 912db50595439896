"""The commands `planarena bench ...`: speed as ratios against a baseline in the same process."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluator.cli.execution_settings import ExecutionSettings, prepare, selected_tasks
from evaluator.cli.listing import Listing
from evaluator.cli.usage import VerboseOption, chosen_suite, log, out, usage_error
from evaluator.suites.toolbench.suite import is_tool_suite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluator.benchmarks import ExecutionReport
    from evaluator.benchmarks.search import SearchReport

app = typer.Typer(help="How fast it is, against a baseline in the same run.", no_args_is_help=True)
EXIT_CLAIM_FAILED = 1
_PHASES = ("cold", "second", "again", "released")


@app.callback()
def bench() -> None:
    """How fast it is, against a baseline in the same run."""


@app.command()
def execution(
    suite: Annotated[str, typer.Option(help="Slug of a suite whose plans are executed.")] = "openagi",
    profile: Annotated[str, typer.Option(help="Which experts.")] = "lilliput",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task.")] = 20,
    tasks: Annotated[str, typer.Option(help="Only these tasks, as in 0-14,16; all if empty.")] = "",
    limit_tasks: Annotated[int, typer.Option(min=0, help="Only so many of them, evenly spread; 0: all.")] = 0,
    baseline_tasks: Annotated[
        int, typer.Option(min=0, help="Measure the baseline on so many of the tasks only, evenly spread; 0: all.")
    ] = 0,
    only: Annotated[str, typer.Option(help="Phases: cold, second, again, released.")] = ",".join(_PHASES),
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    json_out: Annotated[Path | None, typer.Option("--out", help="Write the report as JSON here.")] = None,
    verbose: VerboseOption = False,  # noqa: ARG001 - read by `evaluator.cli.main.main`
) -> None:
    """Measure the execution of the gold plans.

    `released` is the structure of OpenAGI's released code: task by task, experts loaded anew for each, nothing shared,
    nothing kept. `cold` is this engine with nothing in its store; `second` another planner after it, which shares nine
    of ten plans; `again` the first planner in a fresh evaluator on the same store.

    Exit code 0 if every claim that was measured holds, 1 if one does not, 2 for bad usage.
    """
    phases = [part.strip() for part in only.split(",") if part.strip()]
    unknown = [part for part in phases if part not in _PHASES]
    if unknown or ({"second", "again"} & set(phases) and "cold" not in phases):
        raise usage_error(f"--only: the phases are {', '.join(_PHASES)}; second and again need cold")
    chosen = chosen_suite(suite)
    prepared = prepare(
        suite=chosen, settings=ExecutionSettings(profile=profile, split="public", samples=samples, device=device)
    )
    keys = selected_tasks(suite=chosen, text=tasks)
    from evaluator.benchmarks.execution import evenly, measure_execution

    def save(report: "ExecutionReport") -> None:
        if json_out is not None:
            json_out.parent.mkdir(parents=True, exist_ok=True)
            json_out.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")

    keys = evenly(keys, count=limit_tasks)
    report = measure_execution(
        prepared=prepared, tasks=keys, only=phases, baseline_tasks=baseline_tasks, say=log.print, save=save
    )
    _print(report)
    settle(report.claims)


@app.command()
def search(
    suite: Annotated[str, typer.Option(help="Slug of a suite whose plans are judged.")] = "toolmini",
    gold_decompositions: Annotated[
        bool, typer.Option("--gold-decompositions", help="Search from the gold decompositions, as the paper's Table 5.")
    ] = False,
    without_prior_knowledge: Annotated[
        bool, typer.Option("--without-prior-knowledge", help="Describe each subtask by the request, as Table 4 does.")
    ] = False,
    json_out: Annotated[Path | None, typer.Option("--out", help="Write the report as JSON here.")] = None,
) -> None:
    """Compare the search strategies of ControlLLM, without a language model: what they reach and how long they take.

    Times are of one process on one core, for each subtask. Gold decompositions are for this comparison only; no planner
    gets them.
    """
    chosen = chosen_suite(suite)
    if not is_tool_suite(chosen):
        raise usage_error(f"{suite} executes plans; this command is for tool100, tool2k and toolmini")
    from evaluator.benchmarks.search import measure_search

    report = measure_search(suite=chosen, gold=gold_decompositions, prior_knowledge=not without_prior_knowledge)
    if json_out is not None:
        json_out.parent.mkdir(parents=True, exist_ok=True)
        json_out.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    _print_search(report)


def _print_search(report: "SearchReport") -> None:
    levels = ("easy", "medium", "hard")
    names = ("IR", "NR", "HR", "CR", "SE")
    title = f"{report.suite}, decompositions: {report.decompositions}. SE also by level"
    quality = Listing("strategy", *names, *levels, title=title)
    title = "SE of the best of 5 plans; milliseconds for a subtask: search (median), all of stage two"
    times = Listing("strategy", "best of 5", "wall", "CPU", "p95", "most", "all", "p95", title=title)
    for name, found in report.figures.items():
        shares = [found.indicators[one] for one in names]
        by_level = [f"{found.se_by_level[level]:.3f}" if level in found.se_by_level else "-" for level in levels]
        quality.add_row(name, *(f"{share:.3f}" for share in shares), *by_level)
        cpu, planning = found.search_cpu, found.planning_cpu
        figures = (found.search_wall.median, cpu.median, cpu.p95, cpu.most, planning.median, planning.p95)
        times.add_row(name, f"{found.indicators['SE_best']:.3f}", *(f"{figure:.2f}" for figure in figures))
    quality.show(out)
    times.show(out)
    tasks = next((found.tasks for found in report.figures.values()), 0)
    subtasks = next((found.subtasks for found in report.figures.values()), 0)
    out.print(f"{tasks} tasks with {subtasks} subtasks, {len(report.left_out)} tasks left out", highlight=False)


@app.command()
def chat(
    count: Annotated[int, typer.Option("--requests", min=1, help="How many plans are asked for.")] = 2500,
    latency: Annotated[float, typer.Option(min=0.001, help="Seconds that the endpoint takes for a call.")] = 0.2,
    bears: Annotated[int, typer.Option(min=1, help="Calls that it bears at once; one more is answered 429.")] = 64,
    highest: Annotated[int, typer.Option(min=1, help="Calls at once that the client allows itself.")] = 64,
    retry_after: Annotated[float, typer.Option(min=0, help="Seconds that a 429 asks to wait; 0: it asks nothing.")] = 0,
    json_out: Annotated[Path | None, typer.Option("--out", help="Write the report as JSON here.")] = None,
) -> None:
    """Measure how close many calls of a chat endpoint on this machine come to the shortest time they could take."""
    from evaluator.benchmarks.chat import measure_chat
    from evaluator.planners.language_models.trial_server import ServerSettings

    server = ServerSettings(latency_seconds=latency, bears=bears, retry_after=retry_after or None)
    report = measure_chat(count=count, server=server, highest=highest)
    if json_out is not None:
        json_out.parent.mkdir(parents=True, exist_ok=True)
        json_out.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    out.print(
        f"{report.count} requests in {report.seconds:.2f} s; ideal {report.ideal_seconds:.2f} s; ratio "
        f"{report.ratio:.3f}; CPU of this process {report.cpu_seconds:.2f} s; {report.failed} failed, "
        f"{report.progress['retried']} tried again; at most {report.progress['highest_limit']} at once"
    )
    settle({"every request gets its plan": report.failed == 0})


def settle(claims: "Mapping[str, bool | None]") -> None:
    """Print whether each claim held.

    Raises:
        typer.Exit: one did not; standard error names it.
    """
    words = {True: "yes", False: "NO", None: "not measured"}
    for claim, held in claims.items():
        out.print(f"{claim}: {words[held]}", highlight=False, markup=False, soft_wrap=True)
    failed = [claim for claim, held in claims.items() if held is False]
    if failed:
        message = f"planarena: this does not hold: {'; '.join(failed)}"
        log.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(EXIT_CLAIM_FAILED)


def _print(report: "ExecutionReport") -> None:
    ratios = Listing(
        "faster than the released structure", "by wall time", "by CPU time", title="Execution, ratios per task"
    )
    for name in ("cold", "second", "again"):
        wall, cpu = report.ratio(name), report.ratio(name, clock="cpu")
        if wall is not None and cpu is not None:
            ratios.add_row(report.phases[name].what, f"{wall:.1f}x", f"{cpu:.1f}x")
    ratios.show(out)
    columns = ("wall s", "CPU s", "loading", "experts", "scoring", "overhead", "by CPU", "loads", "calls", "GB")
    title = f"{report.conditions['tasks']} tasks: seconds, share of overhead, peak memory"
    seconds = Listing("phase", "tasks", *columns, title=title)
    for name, phase in report.phases.items():
        seconds.add_row(
            name,
            str(phase.tasks),
            *(f"{value:.1f}" for value in (phase.wall, phase.cpu, phase.loading, phase.experts, phase.scoring)),
            f"{100 * phase.overhead_share:.1f}%",
            f"{100 * phase.overhead_cpu_share:.1f}%",
            str(phase.loads),
            str(sum(phase.calls.values())),
            f"{phase.peak_rss_bytes / 1e9:.2f}",
        )
    seconds.show(out)
    calls = Listing("tool", "distinct nodes", *report.phases, title="Expert calls")
    for tool in sorted({tool for phase in report.phases.values() for tool in phase.calls}):
        made = (str(phase.calls.get(tool, 0)) for phase in report.phases.values())
        calls.add_row(tool, str(report.distinct.get(tool, 0)), *made)
    calls.show(out)
