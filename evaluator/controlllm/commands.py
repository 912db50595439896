"""The commands of ControlLLM's suites: scores of plans and decompositions, search benchmark, fetching."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.controlllm.toolbench.plan_scores import Report, ScoredPlan, report_to_json, score_given
from evaluator.controlllm.toolbench.released import source
from evaluator.controlllm.toolbench.released.executed import TOOL2K, TOOL100
from evaluator.controlllm.toolbench.suite import is_tool_suite
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.controlllm.toolbench.terms import describe, interpret
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing, show_all
from evaluator.core.commands.options import JsonFlag, OutputFile
from evaluator.core.commands.usage import (
    LinesArgument,
    PlansArgument,
    chosen_suite,
    lines_text,
    log,
    out,
    plans_of,
    print_json,
    usage_error,
    write_json,
)
from evaluator.core.naming import did_you_mean
from evaluator.core.suites.base import Suite, shown_columns
from evaluator.network.released_files import FetchError
from evaluator.scoring.arbiters.options import (
    DEFAULT_KEY_ENV,
    DEFAULT_THRESHOLD,
    ArbiterOption,
    KeyEnvOption,
    ThresholdOption,
    arbiter_opened,
)
from evaluator.scoring.metrics.decomposition import Verdict, deacc, judge_decomposition
from evaluator.scoring.metrics.statistics import ends_in_words
from evaluator.scoring.metrics.undecided import range_text, ranged, undecided_words

if TYPE_CHECKING:
    from evaluator.controlllm.benchmarks import SearchReport


SuiteOption = Annotated[str, typer.Option(help="tool100, tool2k, toolmini or toolmini-abstain.")]


def score_plans(
    plans: PlansArgument,
    suite: SuiteOption,
    as_json: JsonFlag = False,
    active: Annotated[bool, typer.Option("--active", help="Omit tasks with known defects.")] = False,
    explain: Annotated[str, typer.Option(help="Explain the scores of the plans of this task.")] = "",
    arbiter: ArbiterOption = "",
    arbiter_threshold: ThresholdOption = DEFAULT_THRESHOLD,
    arbiter_key_env: KeyEnvOption = DEFAULT_KEY_ENV,
) -> None:
    """Score plans by ControlLLM's metrics: IR, NR, HR, CR, SE. Tasks without a plan count against the planner."""
    chosen = _tool_suite(suite)
    asked = arbiter_opened(arbiter, threshold=arbiter_threshold, key_env=arbiter_key_env)
    read = plans_of(plans, suite=chosen)
    report = score_given(suite=chosen, plans=read.plans, active_only=active, arbiter=asked)
    if explain:
        _explain(suite=chosen, report=report, key=explain)
    elif as_json:
        identity = {} if asked is None else {"arbiter": dict(asked.identity())}
        print_json({**identity, **report_to_json(report)})
    else:
        _print_tables(suite=chosen, report=report)
    judgeable = [row for row in report.rows if row.task.goal is not None]
    if judgeable and all(row.judged is None for row in judgeable):
        log.print("planarena: none of the plans could be read", style="red", highlight=False)
        raise typer.Exit(ExitCode.PLANNER_FAULT)


def _print_tables(*, suite: Suite, report: Report) -> None:
    table = Listing("metric", "mean", "95 % interval", "note", title=f"{len(report.rows)} plans for {suite.title}")
    for column in shown_columns(suite.metrics):
        found = ranged(metrics=report.summary["metrics"], column=column)
        if found is not None:
            note = "" if column.higher_is_better else "lower is better"
            interval = ends_in_words(low=found["low"], high=found["high"])
            note = undecided_words(found, form=".4f") or note
            table.add_row(column.label, range_text(found, form=".4f"), interval, note)
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
        shares = [f"{row[key]:.2f}" for key in ("IR", "NR", "HR", "CR")]
        upper = {"upper": row["SE"] + row["undecided"]} if row["undecided"] else {}
        table.add_row(name, str(row["count"]), *shares, range_text({"mean": row["SE"], **upper}, form=".2f"))
    return table


def _explain(*, suite: Suite, report: Report, key: str) -> None:
    tasks = {task.key: task for task in suite.tasks if isinstance(task, ToolTask)}
    if key not in tasks:
        raise usage_error(f"{suite.slug} has no task {key!r}.{did_you_mean(key, tasks)}")
    task = tasks[key]
    rows = [row for row in report.rows if row.task.key == key]
    for row in rows:
        _explain_row(suite=suite, row=row)
    if not rows:
        out.print(f"{suite.slug} {task.key}: there is no plan for it", highlight=False)
        out.print("\n".join(_goal_lines(task)), markup=False, highlight=False)


def _explain_row(*, suite: Suite, row: ScoredPlan) -> None:
    lines = [f"{suite.slug} {row.task.key}", f"Request: {row.task.text}", "Goal:"]
    lines += _goal_lines(row.task)
    if row.judged is not None:
        lines.append("Plan, with the result of each step:")
        calls = interpret(
            plan=row.judged.plan,
            catalogue=suite.catalogue,
            files=row.task.files,
            as_executed=suite.conditions.experts,
        )
        lines += [f"  step {call.number}: {describe(call.outputs[0])}" for call in calls]
        lines += [f"  tolerated: {note}" for note in row.judged.tolerated]
    for name, reason in row.why.items():
        value = row.indicators.get(name)
        lines.append(f"{name}: {reason}" if value is None else f"{name} = {value:g}: {reason}")
    out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def _goal_lines(task: ToolTask) -> list[str]:
    parts = task.attributes["parts"]
    assert isinstance(parts, list)
    return [f"  {number}. {sentence}" for number, sentence in enumerate(parts, start=1)] or ["  none"]


def score_decompositions(
    file: LinesArgument,
    suite: SuiteOption,
    as_json: JsonFlag = False,
) -> None:
    """DeAcc: share of correct decompositions in {"task": ..., "decomposition": ...} lines; missing ones are wrong."""
    chosen = _tool_suite(suite)
    predictions = _predictions(file=file, suite=chosen)
    tasks = {task.key: task for task in chosen.tasks if isinstance(task, ToolTask) and task.decomposition is not None}
    if not set(predictions) & set(tasks):
        raise usage_error(f"no line of {file} names a task of {suite} that has a gold decomposition")
    verdicts = {key: _verdict(task=task, predicted=predictions.get(key)) for key, task in tasks.items()}
    share = deacc(verdicts.values())
    if as_json:
        rows = [{"task": key, "right": verdict.right, "why": list(verdict.why)} for key, verdict in verdicts.items()]
        print_json({"DeAcc": share.mean, "interval": [share.low, share.high], "count": share.count, "tasks": rows})
        return
    out.print(f"DeAcc {share.mean:.4f}, 95 % interval {share.in_words()}, {share.count} requests")
    out.print(f"{len(set(tasks) - set(predictions))} requests without a decomposition count as wrong", highlight=False)


def _predictions(*, file: Path, suite: Suite) -> dict[str, object]:
    """Decompositions by task key.

    Raises:
        typer.Exit: the file cannot be read, or a line of it is no decomposition of a task that has none yet.
    """
    tasks = {task.key for task in suite.tasks}
    found: dict[str, object] = {}
    for number, row in _objects(file):
        key = row["task"]
        if key not in tasks:
            raise usage_error(
                f"{file}: line {number}: {suite.slug} has no task {key!r}.{did_you_mean(str(key), tasks)}"
            )
        if key in found:
            raise usage_error(f"{file}: line {number} has a second decomposition for {key!r}")
        found[key] = row["decomposition"]
    if not found:
        raise usage_error(f"{file} is empty")
    return found


def _verdict(*, task: ToolTask, predicted: object) -> Verdict:
    assert task.decomposition is not None
    if predicted is not None and not isinstance(predicted, str):
        predicted = f"<Solution>{json.dumps(predicted)}</Solution>"
    return judge_decomposition(predicted=predicted, gold=task.decomposition)


def _tool_suite(slug: str) -> Suite:
    suite = chosen_suite(slug)
    if not is_tool_suite(suite):
        raise usage_error(f"{slug} executes plans; this command is for tool100, tool2k, toolmini and toolmini-abstain")
    return suite


def _objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise usage_error(f"{file}: line {number} is not valid JSON") from None
        if not isinstance(row, dict) or not isinstance(row.get("task"), str) or "decomposition" not in row:
            raise usage_error(f'{file}: line {number} must be an object with "task" and "decomposition"')
        yield number, row


def search(
    suite: Annotated[str, typer.Option(help="Slug of a suite whose plans are judged.")] = "toolmini",
    gold_decompositions: Annotated[
        bool,
        typer.Option("--gold-decompositions", help="Search from the gold decompositions, as in Table 5."),
    ] = False,
    without_prior_knowledge: Annotated[
        bool, typer.Option("--without-prior-knowledge", help="Describe each subtask by the request, as in Table 4.")
    ] = False,
    thresholds: Annotated[
        str, typer.Option(help="Least scores of a tool that adaptive enters, with a row each, such as 2,2.5,3.")
    ] = "3",
    per_step: Annotated[
        bool, typer.Option("--per-step", help="Let a tool's score depend on the step of the search.")
    ] = False,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Compare the search strategies of ControlLLM without a language model: solution rates and times.

    Times are per subtask, in one process on one core. Planners never see the gold decompositions.
    """
    from evaluator.controlllm.benchmarks import measure_search

    chosen = _tool_suite(suite)
    report = measure_search(
        suite=chosen, gold=gold_decompositions, prior_knowledge=not without_prior_knowledge,
        thresholds=_thresholds(thresholds), per_step=per_step,
    )  # fmt: skip
    write_json(report.to_json(), printed=as_json, file=output)
    if not as_json:
        _print_search(report)


def _thresholds(text: str) -> list[float]:
    from evaluator.controlllm.strategies.strategy import threshold_of

    try:
        return [threshold_of(part) for part in text.split(",")]
    except ValueError as error:
        raise usage_error(f"--thresholds: {error}") from None


def _print_search(report: "SearchReport") -> None:
    levels = ("easy", "medium", "hard")
    names = ("IR", "NR", "HR", "CR", "SE")
    title = f"{report.suite}, decompositions: {report.decompositions}, scores {report.scores}. SE also by level"
    quality = Listing("strategy", "threshold", *names, *levels, title=title)
    title = "SE of the best of 5 plans; milliseconds per subtask: search (median, p95, max), stage 2 (median, p95)"
    times = Listing("strategy", "best of 5", "wall", "CPU", "p95", "max", "stage 2", "p95", title=title)
    for name, found in report.figures.items():
        shares = [found.indicators[key] for key in names]
        by_level = [f"{found.se_by_level[level]:.3f}" if level in found.se_by_level else "-" for level in levels]
        threshold = "-" if found.threshold is None else f"{found.threshold:g}"
        quality.add_row(name, threshold, *(f"{share:.3f}" for share in shares), *by_level)
        cpu, planning = found.search_cpu, found.planning_cpu
        figures = (found.search_wall.median, cpu.median, cpu.p95, cpu.most, planning.median, planning.p95)
        times.add_row(name, f"{found.indicators['SE_best']:.3f}", *(f"{figure:.2f}" for figure in figures))
    show_all((quality, times), console=out)
    tasks = next((found.tasks for found in report.figures.values()), 0)
    subtasks = next((found.subtasks for found in report.figures.values()), 0)
    out.print(f"{tasks} tasks with {subtasks} subtasks; {len(report.left_out)} tasks omitted", highlight=False)


def decompositions(
    suite: Annotated[str, typer.Option(help="Slug of a suite whose plans are judged.")] = "toolmini",
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """DeAcc of the decomposers that need no language model: the rules and the trained network, also by field."""
    from evaluator.controlllm.benchmarks import decompose_by_rules, measure_decompositions
    from evaluator.controlllm.strategies.trained.strategy import trained_decomposition

    chosen = _tool_suite(suite)
    try:
        reports = [
            measure_decompositions(suite=chosen, name=name, decompose=decompose)
            for name, decompose in (("rules", decompose_by_rules), ("trained", trained_decomposition))
        ]
    except ValueError as error:
        raise usage_error(error) from None
    write_json([one.to_json() for one in reports], printed=as_json, file=output)
    if not as_json:
        fields = tuple(reports[0].fields)
        table = Listing("decomposer", "n", "DeAcc", "95 % interval", "but description", *fields, title=chosen.title)
        for one in reports:
            shares = (f"{share.mean:.3f}" for share in (one.but_description, *one.fields.values()))
            ends = one.deacc.in_words(form=".3f")
            table.add_row(one.decomposer, str(one.deacc.count), f"{one.deacc.mean:.3f}", ends, *shares)
        show_all((table,), console=out)


def fetch_released(folder: Path | None) -> Mapping[Path, str]:
    """Fetch the released files into the data folder: from another folder, or from the network if that is None.

    Returns:
        SHA-256 of each file.

    Raises:
        typer.Exit: there is a file that is not the released one; nothing was written.
    """
    target = source.suite_folder()
    try:
        digests = download_released(target) if folder is None else source.take(folder=folder, target=target)
    except FetchError as error:
        raise usage_error(error) from None
    return {target / name: digest for name, digest in digests.items()}


def download_released(target: Path) -> Mapping[str, str]:
    """Download the released files into a folder.

    Raises:
        FetchError: the download failed, or the digests differ from the released ones; nothing was written.
    """
    # Imported here: no other command of this module needs a network client.
    from evaluator.network.downloads import download_released as downloaded

    return source.fetch(download=downloaded, target=target)


RELEASED = {"controlllm": fetch_released}


def inputs(
    suite: Annotated[str, typer.Argument(help=f"{TOOL100} or {TOOL2K}.")],
    folder: Annotated[
        Path | None, typer.Option("--inputs", help="The folder with the files; default: PLANARENA_TOOL_INPUTS.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the files of the requests and what is wrong with them. Exit code 1 if some cannot be used."""
    if suite not in {TOOL100, TOOL2K}:
        raise usage_error(f"the requests of {suite} name no files of an operator; {TOOL100} and {TOOL2K} do")
    chosen = chosen_suite(suite)
    # Imported here: it loads numpy.
    from evaluator.controlllm.toolbench.released.inputs import released_inputs

    try:
        source = released_inputs(folder=None if folder is None else str(folder), tasks=chosen.tasks, slug=suite)
    except LookupError as error:
        raise usage_error(error) from None
    if as_json:
        print_json([{"name": name, "type": str(kind), "problem": problem} for name, kind, problem in source.listed()])
    else:
        for name, kind, problem in source.listed():
            out.print(f"{name} ({kind}) {problem or 'can be used'}", markup=False, highlight=False, soft_wrap=True)
        out.print(source.gaps or "All files can be used.", markup=False, highlight=False, soft_wrap=True)
    if source.problems:
        raise typer.Exit(ExitCode.CHECK_FAILED)
