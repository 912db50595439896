"""The commands `planarena bench ...`: speed as ratios against a baseline in the same process."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag, OutputFile, VerboseOption
from evaluator.core.commands.usage import (
    ExecutedSuiteOption,
    chosen_suite,
    log,
    out,
    print_json,
    usage_error,
    write_json,
)
from evaluator.core.suites.base import Suite
from evaluator.episodes.options import ExecutionSettings, prepare, selected_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evaluator.core.planner import Planner
    from evaluator.studies.benchmarks.chain import ChainReport
    from evaluator.studies.benchmarks.execution import ExecutionReport, Phase
    from evaluator.studies.benchmarks.on_device import CardReport, DeviceReport

app = typer.Typer(no_args_is_help=True)
_PHASES = ("cold", "second", "process", "again", "released")
_FIGURES: "Mapping[str, Callable[[Phase], str]]" = {
    "tasks": lambda phase: str(phase.tasks),
    "wall time": lambda phase: f"{phase.wall:.1f}",
    "CPU time": lambda phase: f"{phase.cpu:.1f}",
    "loading": lambda phase: f"{phase.loading:.1f}",
    "experts": lambda phase: f"{phase.experts:.1f}",
    "scoring": lambda phase: f"{phase.scoring:.1f}",
    "overhead": lambda phase: f"{100 * phase.overhead_share:.1f}%",
    "overhead by CPU time": lambda phase: f"{100 * phase.overhead_cpu_share:.1f}%",
    "start of the process": lambda phase: f"{phase.start:.1f}",
    "overhead with it": lambda phase: f"{100 * phase.whole_overhead_share:.1f}%",
    "overhead with it by CPU time": lambda phase: f"{100 * phase.whole_overhead_cpu_share:.1f}%",
    "loads": lambda phase: str(phase.loads),
    "calls": lambda phase: str(sum(phase.calls.values())),
    "peak memory in GB": lambda phase: f"{phase.peak_rss_bytes / 1e9:.2f}",
}
"""Rows of the table of phases."""


# Long: one line for each option.
@app.command()
def execution(
    suite: ExecutedSuiteOption = "",
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task.")] = 20,
    tasks: Annotated[str, typer.Option(help="Only these tasks: ids and ranges, such as 0-14,16; all if empty.")] = "",
    limit_tasks: Annotated[int, typer.Option(min=0, help="Limit of the number of tasks, evenly spread; 0: all.")] = 0,
    baseline_tasks: Annotated[
        int, typer.Option(min=0, help="Tasks on which the baseline is measured, evenly spread; 0: all.")
    ] = 0,
    only: Annotated[str, typer.Option(help="Phases: cold, second, process, again, released.")] = ",".join(_PHASES),
    second: Annotated[
        str, typer.Option(help="The second planner: a bundled one or a strategy; default: gold with mistakes.")
    ] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    random_weights: Annotated[
        bool, typer.Option("--random-weights", help="Measure the device: random weights of the released sizes.")
    ] = False,
    small: Annotated[
        bool, typer.Option("--small", help="With --random-weights: of a few thousand parameters.")
    ] = False,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    verbose: VerboseOption = False,  # noqa: ARG001 - read by `evaluator.cli.main.main`
) -> None:
    """Measure the execution of the gold plans.

    `released` has the structure of the code that was released with the tools: OpenAGI's runs task by task, loads
    experts for each and shares nothing; ControlLLM's runs call by call and keeps models. `cold` is this engine with an
    empty store; `second` another planner after it, by default one that shares nine of ten plans; `process` the same
    plans in a new process, from start to end; `again` the first planner in a new evaluator with the same store.

    With `--random-weights` the gold plans run once on made-up data, with the experts and scorers of a profile of
    released checkpoints, such as `paper`; the report has the time, throughput and utilisation of each.

    Exit code 0 if all measured claims hold and, with random weights, all tasks were scored; 1 if not; 2 for bad usage.
    """
    phases = _phases(only)
    chosen = chosen_suite(suite)
    if small and not random_weights:
        raise usage_error("--small needs --random-weights")
    if random_weights:
        from evaluator.studies.benchmarks.execution import evenly

        if second or baseline_tasks or len(phases) < len(_PHASES):
            raise usage_error("--random-weights measures one run: leave out --only, --second and --baseline-tasks")
        keys = evenly(selected_tasks(suite=chosen, text=tasks), count=limit_tasks)
        _on_device(
            suite=chosen, profile=profile, keys=keys, samples=samples, device=device, small=small, as_json=as_json,
            output=output,
        )  # fmt: skip
        return
    prepared = prepare(
        suite=chosen, settings=ExecutionSettings(profile=profile, split="public", samples=samples, device=device)
    )
    keys = selected_tasks(suite=chosen, text=tasks)
    other = _second(second, suite=prepared.suite)
    from evaluator.studies.benchmarks.execution import evenly, measure_execution

    def save(report: "ExecutionReport") -> None:
        write_json(report.to_json(), printed=False, file=output)

    keys = evenly(keys, count=limit_tasks)
    report = measure_execution(
        prepared=prepared, tasks=keys, only=phases, baseline_tasks=baseline_tasks, second=other, say=log.print,
        save=save,
    )  # fmt: skip
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)
    check_claims(report.claims, console=log if as_json else out)


def _on_device(
    *,
    suite: Suite,
    profile: str,
    keys: list[str],
    samples: int,
    device: str,
    small: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """Measure experts with random weights, and print the report."""
    import tempfile
    from time import perf_counter

    from evaluator.core.suites.samples import MADE_UP
    from evaluator.execution.experts.profile import ProfileError, load_profile
    from evaluator.execution.random_weights.building import Size, random_profile
    from evaluator.studies.benchmarks.on_device import measure_on_device, tools_of_gold

    try:
        if not load_profile(profile).checkpoints:
            raise usage_error(f"--random-weights: the weights of {profile} are shipped")
    except ProfileError as error:
        raise usage_error(error) from None
    settings = ExecutionSettings(profile=profile, split="public", samples=samples, device=device, data=MADE_UP)
    prepared = prepare(suite=suite, settings=settings)
    with tempfile.TemporaryDirectory(prefix="planarena-weights-") as folder:
        started = perf_counter()
        built = random_profile(
            profile, folder=Path(folder), tools=tools_of_gold(suite, keys=keys), device=device,
            size=Size.SMALL if small else Size.RELEASED, report=lambda name: log.print(f"building {name}"),
        )  # fmt: skip
        conditions = {"weights": f"random-{'small' if small else 'released'}", "building": perf_counter() - started}
        report = measure_on_device(prepared=replace(prepared, profile=built), tasks=keys, conditions=conditions)
    write_json(report.to_json(), printed=False, file=output)
    if as_json:
        print_json(report.to_json())
    else:
        _print_device(report)
    if report.outcomes != {"scored": len(keys)}:
        log.print(f"planarena: not all tasks were scored: {report.outcomes}", style="red", highlight=False)
        raise typer.Exit(ExitCode.CHECK_FAILED)


# Long: one line for each option.
@app.command("device")
def measure_device(
    profile: Annotated[str, typer.Option(help="A profile of released checkpoints.")] = "paper",
    suite: ExecutedSuiteOption = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cuda",
    seconds: Annotated[int, typer.Option(min=1, help="Begin no expert after this time; the rest is executed.")] = 270,
    samples: Annotated[int, typer.Option(min=1, help="Data points per executed task.")] = 4,
    limit_tasks: Annotated[int, typer.Option(min=1, help="Tasks that are executed, evenly spread.")] = 24,
    compiles: Annotated[bool, typer.Option("--compile", help="Also measure compiled networks.")] = False,
    small: Annotated[bool, typer.Option("--small", help="Networks of a few thousand parameters, to try it.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Build random weights in this folder, and delete them.", show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Measure all that a new card needs, with random weights: doctor, batch sizes, execution.

    Experts of the suite's gold plans come first, the smallest at first. Each is examined as by `planarena doctor`, and
    run in batches of doubled sizes; the report has the `batch_sizes` to enter into the profile. Then gold plans are
    executed as by `bench execution --random-weights`. With --output the report is written after every part.

    Exit code 0 if everything holds and all tasks were scored, 1 if not or not all was examined, 2 for bad usage.
    """
    import tempfile

    from evaluator.core.suites.samples import MADE_UP
    from evaluator.execution.doctor.command import print_examinations
    from evaluator.execution.doctor.profiles import RandomWeights, tools_with_weights
    from evaluator.execution.experts.profile import ProfileError, load_profile
    from evaluator.execution.random_weights.building import Size
    from evaluator.studies.benchmarks.execution import evenly
    from evaluator.studies.benchmarks.on_device import measure_card, tools_of_gold

    chosen = chosen_suite(suite)
    try:
        found = load_profile(profile)
    except ProfileError as error:
        raise usage_error(error) from None
    if not found.checkpoints:
        raise usage_error(
            f"the weights of {profile} are shipped; `planarena doctor` and `bench execution` measure them"
        )
    keys = evenly(selected_tasks(suite=chosen, text=""), count=limit_tasks)
    first = tools_of_gold(chosen, keys=keys)
    settings = ExecutionSettings(profile=profile, split="public", samples=samples, device=device, data=MADE_UP)
    prepared = prepare(suite=chosen, settings=settings)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="planarena-weights-", dir=folder) as scratch:
        weights = RandomWeights(
            profile=found, folder=Path(scratch), device=device, size=Size.SMALL if small else Size.RELEASED,
            report=lambda name: log.print(f"building {name}"), keeps=first,
        )  # fmt: skip
        report = measure_card(
            prepared=prepared, tasks=keys, weights=weights, seconds=seconds, compiles=compiles,
            tools=[*first, *(tool for tool in tools_with_weights(found) if tool not in first)],
            say=lambda line: log.print(line, highlight=False),
            save=lambda made: write_json(made.to_json(), printed=False, file=output),
        )  # fmt: skip
    if as_json:
        print_json(report.to_json())
    else:
        print_examinations(report.experts, title=f"profile {profile} on {device}")
        _print_sizes(report)
        _print_device(report.execution)
    whole = {"scored": len(keys)}
    claims = {
        "every expert is as the profile declares": all(one.is_right for one in report.experts),
        "all tasks were scored": report.execution.outcomes == whole,
    }
    check_claims(claims, console=log if as_json else out)


def _print_sizes(report: "CardReport") -> None:
    table = Listing("tool", "size: items per second (GB beside the weights)", "batch_sizes", title="Batch sizes")
    for one in report.experts:
        if one.sizes:
            measured = ", ".join(
                f"{size.size}: {size.rate:.1f}"
                + ("" if size.working_bytes is None else f" ({size.working_bytes / 1e9:.1f})")
                + ("" if size.equal else " other bytes")
                for size in one.sizes
            )
            proposed = ", ".join(f"{card} = {size}" for card, size in one.proposed.items())
            table.add_row(one.tool, measured, f"{{ {proposed} }}" if proposed else "")
    table.show(out)
    if any(one.compiled for one in report.experts):
        compared = Listing("tool", "plain s", "first s", "later s", "pays after", "bytes", "problem", title="Compiled")
        for one in report.experts:
            if (found := one.compiled) is not None:
                pays = "-" if found.batches_to_pay is None else f"{found.batches_to_pay:.0f} batches"
                compared.add_row(
                    one.tool, f"{found.plain:.2f}", f"{found.first:.2f}", f"{found.later:.2f}", pays,
                    "equal" if found.equal else "other", found.problem,
                )  # fmt: skip
        compared.show(out)


def _print_device(report: "DeviceReport") -> None:
    def share(value: float | None) -> str:
        return "" if value is None else f"{100 * value:.0f}%"

    columns = ("model", "batch", "items", "batches", "seconds", "items/s", "loading", "GPU busy")
    tables = []
    for title, lines in (("Experts", report.tools), ("Scorers", report.scorers)):
        table = Listing("tool" if lines is report.tools else "score", *columns, title=title)
        for line in lines:
            table.add_row(
                line.name, line.model, str(line.batch_size), str(line.items), str(line.batches), f"{line.seconds:.1f}",
                f"{line.rate:.1f}", f"{line.loading:.1f}", share(line.utilisation),
            )  # fmt: skip
        tables.append(table)
    show_all(tables, console=out)
    peak = report.peak_device_bytes
    tasks, samples = report.conditions["tasks"], report.conditions["samples"]
    sentences = [
        f"{tasks} tasks with {samples} samples: {report.wall:.1f} s, of which loading {report.loading:.1f}, "
        f"experts {report.experts:.1f}, scoring {report.scoring:.1f}.",
        f"After loading, experts and scorers ran in {share(report.busy_share)} of the time.",
        "" if report.utilisation is None else f"The GPU was busy in {share(report.utilisation)} of all.",
        "" if peak is None else f"Memory of the device at peak: {peak / 1e9:.1f} GB.",
        f"Estimated with 100 samples: {report.estimated / 60:.1f} min.",
    ]
    out.print(" ".join(filter(None, sentences)), highlight=False, soft_wrap=True)


def _phases(only: str) -> list[str]:
    phases = [part.strip() for part in only.split(",") if part.strip()]
    unknown = [part for part in phases if part not in _PHASES]
    if unknown or ({"second", "again"} & set(phases) and "cold" not in phases):
        raise usage_error(f"--only: the phases are {', '.join(_PHASES)}; second and again need cold")
    if "process" in phases and "second" not in phases:
        raise usage_error("--only: process needs second")
    return phases


def _second(name: str, *, suite: Suite) -> "Planner | None":
    return _named(name, suite=suite) if name else None


def _named(name: str, *, suite: Suite) -> "Planner":
    # Imported when needed: it loads every planner, which help texts do not use.
    from evaluator.planners.named import planner_named
    from evaluator.planners.strategies.registry import PlannerNameError

    try:
        return planner_named(name=name, suite=suite)
    except PlannerNameError as error:
        raise usage_error(error) from None


@app.command()
def rewards(
    suite: ExecutedSuiteOption = "",
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    samples: Annotated[int, typer.Option(min=1, help="Data points per plan.")] = 4,
    limit_tasks: Annotated[int, typer.Option(min=0, help="At most this many tasks, evenly spread; 0: all.")] = 0,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Measure how many plans per second are rewarded on a training split.

    The plans are the gold plans, also with one step left out. `cold` starts with an empty store; `stored` has every
    step in it; `warm` also has the scores of all outputs in memory; `repeated` also has the plans in memory.

    Exit code 0 if `warm` reaches 200 plans a second, 1 if not, 2 for bad usage.
    """
    from evaluator.rewards import SplitRefusedError, training_split
    from evaluator.studies.benchmarks.execution import evenly
    from evaluator.studies.benchmarks.rewards import measure_rewards

    chosen = chosen_suite(suite)
    try:
        split = training_split(suite=chosen)
    except SplitRefusedError as error:
        raise usage_error(error) from None
    prepared = prepare(suite=chosen, settings=ExecutionSettings(profile=profile, split=split, samples=samples))
    keys = evenly([task.key for task in chosen.tasks], count=limit_tasks)
    report = measure_rewards(prepared=prepared, tasks=keys)
    write_json(report.to_json(), printed=as_json, file=output)
    if not as_json:
        listing = Listing("", "plans per second", "per CPU second", title=f"{report.conditions['plans']} plans")
        for name, phase in report.phases.items():
            listing.add_row(f"{name}: {phase.what}", f"{phase.rate:,.1f}", f"{phase.cpu_rate:,.1f}")
        listing.show(out)
    check_claims(report.claims, console=log if as_json else out)


@app.command("reliability")
def measure_profile(
    suite: ExecutedSuiteOption = "",
    planner: Annotated[str, typer.Option(help="A bundled planner's name, or STRATEGY[:MODEL].")] = "rules",
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task.")] = 4,
    limit_tasks: Annotated[int, typer.Option(min=0, help="At most this many tasks, evenly spread; 0: all.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Runs on the unchanged requests.")] = 5,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Measure the cost of a reliability profile in evaluations, by CPU time without the planner's.

    Exit code 0 if it costs at most 2.5 evaluations, 1 if more, 2 for bad usage.
    """
    from evaluator.episodes.base import episode_of
    from evaluator.studies.benchmarks.execution import evenly
    from evaluator.studies.benchmarks.reliability import measure_reliability

    chosen = chosen_suite(suite)
    settings = ExecutionSettings(profile=profile, split="public", samples=samples)
    prepared = prepare(suite=chosen, settings=settings)
    asked = _named(planner, suite=prepared.suite)
    report = measure_reliability(
        prepared=prepared, episode=episode_of(chosen.slug), planner=asked, runs=runs,
        tasks=evenly([task.key for task in chosen.tasks], count=limit_tasks),
    )  # fmt: skip
    write_json(report.to_json(), printed=as_json, file=output)
    if not as_json:
        title = f"{planner} on {chosen.slug}: {report.conditions['tasks']} tasks, {samples} samples"
        listing = Listing("", "CPU seconds", "of the planner", "expert calls", title=title)
        for name, cost in (("evaluation", report.evaluation), ("profile", report.profile)):
            listing.add_row(name, f"{cost.cpu:.1f}", f"{cost.planner_cpu:.1f}", str(cost.calls))
        listing.show(out)
        out.print(f"ratio: {report.ratio:.2f}")
    check_claims(report.claims, console=log if as_json else out)


@app.command("chain")
def measure_corrections(
    suite: Annotated[str, typer.Option(help="Slug of a suite with ControlLLM's tools whose plans are executed.")],
    planner: Annotated[
        str, typer.Option(help="One of ControlLLM's strategies, with :MODEL for a language model.")
    ] = "controlllm/adaptive",
    split: Annotated[str, typer.Option(help="Split of the data: public or validation.")] = "validation",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task.")] = 2,
    limit_tasks: Annotated[int, typer.Option(min=0, help="At most this many tasks, evenly spread; 0: all.")] = 0,
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Measure corrections at run time: ControlLLM's plans without and with them (`planarena chain`).

    Both are scored as the suite scores plans. Boards score plans without corrections.
    """
    from evaluator.core.language_model import LanguageModelError
    from evaluator.execution.engine.store import MemoryStore
    from evaluator.studies.benchmarks.chain import measure_chain
    from evaluator.studies.benchmarks.execution import evenly

    chosen = chosen_suite(suite)
    settings = ExecutionSettings(profile=profile, split=split, samples=samples, device=device)
    prepared = replace(prepare(suite=chosen, settings=settings), store=MemoryStore())
    keys = evenly([task.key for task in chosen.tasks], count=limit_tasks)
    try:
        report = measure_chain(prepared=prepared, planner=planner, tasks=keys)
    except LookupError as error:
        raise usage_error(error) from None
    except LanguageModelError as error:
        raise usage_error(error.failure.message) from None
    write_json(report.to_json(), printed=as_json, file=output)
    if not as_json:
        _print_chain(report)


def _print_chain(report: "ChainReport") -> None:
    from evaluator.scoring.metrics.statistics import ends_in_words

    columns = ("every subtask made", "answers as expected", "score", "95 % interval", "seconds", "calls")
    table = Listing("way", *columns, title=f"{report.conditions['planner']} on {report.conditions['suite']}")
    for name, way in report.ways.items():
        shares = (f"{way.every_subtask_made:.3f}", f"{way.answers_as_expected:.3f}", f"{way.score:.4f}")
        interval = ends_in_words(low=way.low, high=way.high)
        table.add_row(name, *shares, interval, f"{way.seconds:.1f}", str(way.calls))
    corrections = Listing("correction", "count")
    for what, count in report.corrections.items():
        corrections.add_row(what, str(count))
    show_all((table, corrections), console=out)
    out.print(f"better: {', '.join(report.better) or 'none'}; worse: {', '.join(report.worse) or 'none'}")


@app.command()
def chat(
    count: Annotated[int, typer.Option("--requests", min=1, help="Number of requests.")] = 2500,
    latency: Annotated[float, typer.Option(min=0.001, help="Seconds that the endpoint takes per call.")] = 0.2,
    capacity: Annotated[int, typer.Option(min=1, help="Concurrent calls that the endpoint accepts.")] = 64,
    highest: Annotated[int, typer.Option(min=1, help="Limit of concurrent calls of the client.")] = 64,
    retry_after: Annotated[float, typer.Option(min=0, help="Retry-After of a 429, in seconds; 0: no such header.")] = 0,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Measure many concurrent calls of a chat endpoint on this machine against the shortest possible time."""
    from evaluator.planners.language_models.chat.trial_server import ServerSettings
    from evaluator.studies.benchmarks.chat import measure_chat

    server = ServerSettings(latency_seconds=latency, capacity=capacity, retry_after=retry_after or None)
    report = measure_chat(count=count, server=server, highest=highest)
    write_json(report.to_json(), printed=as_json, file=output)
    if not as_json:
        out.print(
            f"{report.count} requests in {report.seconds:.2f} s; ideal {report.ideal_seconds:.2f} s; ratio "
            f"{report.ratio:.3f}; CPU of this process {report.cpu_seconds:.2f} s; {report.failed} failed, "
            f"{report.progress['retried']} retried; at most {report.progress['highest_limit']} at once"
        )
    check_claims({"every request gets its plan": report.failed == 0}, console=log if as_json else out)


def check_claims(claims: "Mapping[str, bool | None]", *, console: Console = out) -> None:
    """Print whether each claim holds; None means that it was not measured.

    Raises:
        typer.Exit: a claim does not hold; standard error names it.
    """
    words = {True: "yes", False: "NO", None: "not measured"}
    for claim, holds in claims.items():
        console.print(f"{claim}: {words[holds]}", highlight=False, markup=False, soft_wrap=True)
    failed = [claim for claim, holds in claims.items() if holds is False]
    if failed:
        message = f"planarena: this does not hold: {'; '.join(failed)}"
        log.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print(report: "ExecutionReport") -> None:
    ratios = Listing(
        "faster than the released structure", "by wall time", "by CPU time", title="Execution, ratios per task"
    )
    for name in _PHASES[:-1]:
        wall, cpu = report.ratio(name), report.ratio(name, clock="cpu")
        if wall is not None and cpu is not None:
            ratios.add_row(report.phases[name].what, f"{wall:.1f}x", f"{cpu:.1f}x")
    phases = Listing("", *report.phases, title=f"{report.conditions['tasks']} tasks: seconds, overhead, peak memory")
    for label, figure in _FIGURES.items():
        phases.add_row(label, *map(figure, report.phases.values()))
    calls = Listing("tool", "distinct nodes", *report.phases, title="Expert calls")
    for tool in sorted({tool for phase in report.phases.values() for tool in phase.calls}):
        made = (str(phase.calls.get(tool, 0)) for phase in report.phases.values())
        calls.add_row(tool, str(report.distinct.get(tool, 0)), *made)
    show_all((ratios, phases, calls), console=out)
