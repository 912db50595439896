"""Commands of ControlLLM: scoring plans and decompositions, the search benchmark, fetching, tuning a given model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from evaluator.core.records import TextPair
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
from evaluator.scoring.metrics.decomposition import deacc, judge_decomposition
from evaluator.scoring.metrics.statistics import ends_in_words
from evaluator.scoring.metrics.undecided import decider_lines, range_text, ranged, undecided_words
from evaluator.training.options import Purpose, TuningOptions, tune_by_options, with_tuning_options

if TYPE_CHECKING:
    from evaluator.controlllm.benchmarks import SearchReport
    from evaluator.controlllm.toolbench.released.pack import PackInputs


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
    opened = arbiter_opened(arbiter, threshold=arbiter_threshold, key_env=arbiter_key_env)
    file = plans_of(plans, suite=chosen)
    report = score_given(suite=chosen, plans=file.plans, active_only=active, arbiter=opened)
    if explain:
        _explain(suite=chosen, report=report, key=explain)
    elif as_json:
        identity = {} if opened is None else {"arbiter": dict(opened.identity())}
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
        value = ranged(metrics=report.summary["metrics"], column=column)
        if value is not None:
            interval = ends_in_words(low=value["low"], high=value["high"])
            note = undecided_words(value, form=".4f") or ("" if column.higher_is_better else "lower is better")
            table.add_row(column.label, range_text(value, form=".4f"), interval, note)
    tables = [table]
    for title, rows in (("level", report.by_level), ("group", report.by_group)):
        if rows and (title == "level" or len(rows) <= 20):
            tables.append(Listing(title, "n", "IR", "NR", "HR", "CR", "SE"))
            for name, row in rows.items():
                shares = [f"{row[key]:.2f}" for key in ("IR", "NR", "HR", "CR")]
                upper = {"upper": row["SE"] + row["undecided"]} if row["undecided"] else {}
                solved = range_text({"mean": row["SE"], **upper}, form=".2f")
                tables[-1].add_row(name, str(row["count"]), *shares, solved)
    show_all(tables, console=out)
    for line in decider_lines(columns=suite.metrics, metrics=report.summary["metrics"]):
        out.print(line, highlight=False)
    out.print(
        f"{len(report.missing)} tasks without a plan count against the planner; {report.not_covered} have no goal.",
        highlight=False,
    )


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
        lines += [_pair_line(pair) for pair in row.judged.pairs]
    for name, reason in row.why.items():
        value = row.indicators.get(name)
        lines.append(f"{name}: {reason}" if value is None else f"{name} = {value:g}: {reason}")
    out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def _pair_line(pair: TextPair) -> str:
    by = f"decided by the {pair.by}" if pair.by else "by neither network nor arbiter"
    answers = f" ({', '.join(pair.answers)})" if pair.answers else ""
    return f"  undecided by the rules, {by}{answers}: {pair.given!r} against {pair.wanted!r} is {pair.verdict}"


def _goal_lines(task: ToolTask) -> list[str]:
    parts = task.attributes["parts"]
    assert isinstance(parts, list)
    return [f"  {number}. {sentence}" for number, sentence in enumerate(parts, start=1)] or ["  none"]


def score_decompositions(file: LinesArgument, suite: SuiteOption, as_json: JsonFlag = False) -> None:
    """DeAcc: share of correct decompositions in {"task": ..., "decomposition": ...} lines; missing ones are wrong."""
    chosen = _tool_suite(suite)
    predictions = _predictions(file=file, suite=chosen)
    tasks = [task for task in chosen.tasks if isinstance(task, ToolTask)]
    gold = {task.key: task.decomposition for task in tasks if task.decomposition is not None}
    if predictions.keys().isdisjoint(gold):
        raise usage_error(f"no line of {file} names a task of {suite} that has a gold decomposition")
    verdicts = {}
    for key, decomposition in gold.items():
        predicted = predictions.get(key)
        if predicted is not None and not isinstance(predicted, str):
            predicted = f"<Solution>{json.dumps(predicted)}</Solution>"
        verdicts[key] = judge_decomposition(predicted=predicted, gold=decomposition)
    share = deacc(verdicts.values())
    if as_json:
        rows = [{"task": key, "right": verdict.right, "why": list(verdict.why)} for key, verdict in verdicts.items()]
        print_json({"DeAcc": share.mean, "interval": [share.low, share.high], "count": share.count, "tasks": rows})
        return
    out.print(f"DeAcc {share.mean:.4f}, 95 % interval {share.in_words()}, {share.count} requests")
    out.print(f"{len(gold.keys() - predictions)} requests without a decomposition count as wrong", highlight=False)


def _predictions(*, file: Path, suite: Suite) -> dict[str, object]:
    """Decompositions by task key.

    Raises:
        typer.Exit: the file cannot be read, a line is invalid, or two lines have the same task.
    """
    tasks = {task.key for task in suite.tasks}
    predictions: dict[str, object] = {}
    for number, line in enumerate(lines_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise usage_error(f"{file}: line {number} is not valid JSON") from None
        if not isinstance(row, dict) or not isinstance(row.get("task"), str) or "decomposition" not in row:
            raise usage_error(f'{file}: line {number} must be an object with "task" and "decomposition"')
        key = row["task"]
        if key not in tasks:
            raise usage_error(f"{file}: line {number}: {suite.slug} has no task {key!r}.{did_you_mean(key, tasks)}")
        if key in predictions:
            raise usage_error(f"{file}: line {number} has a second decomposition for {key!r}")
        predictions[key] = row["decomposition"]
    if not predictions:
        raise usage_error(f"{file} is empty")
    return predictions


def _tool_suite(slug: str) -> Suite:
    suite = chosen_suite(slug)
    if not is_tool_suite(suite):
        raise usage_error(f"{slug} executes plans; this command is for tool100, tool2k, toolmini and toolmini-abstain")
    return suite


def search(
    suite: Annotated[str, typer.Option(help="Slug of a suite that judges plans.")] = "toolmini",
    gold_decompositions: Annotated[
        bool,
        typer.Option("--gold-decompositions", help="Use the gold decompositions, as in Table 5."),
    ] = False,
    without_prior_knowledge: Annotated[
        bool, typer.Option("--without-prior-knowledge", help="Describe each subtask by the request, as in Table 4.")
    ] = False,
    thresholds: Annotated[
        str, typer.Option(help="Thresholds of the adaptive strategy, one row for each, such as 2,2.5,3.")
    ] = "3",
    per_step: Annotated[
        bool, typer.Option("--per-step", help="Make a tool's score depend on the step of the search.")
    ] = False,
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """Compare the search strategies of ControlLLM without a language model: solution rates and times.

    Times are per subtask, in one process on one core. Planners never see the gold decompositions.
    """
    from evaluator.controlllm.benchmarks import measure_search
    from evaluator.controlllm.strategies.strategy import AdaptiveControlLLM

    chosen = _tool_suite(suite)
    try:
        least = [AdaptiveControlLLM(option=part).threshold for part in thresholds.split(",")]
    except ValueError as error:
        raise usage_error(f"--thresholds: {error}") from None
    report = measure_search(
        suite=chosen, gold=gold_decompositions, prior_knowledge=not without_prior_knowledge, thresholds=least,
        per_step=per_step,
    )  # fmt: skip
    write_json(report.to_json(), printed=as_json, file=output)
    if not as_json:
        _print_search(report)


def _print_search(report: "SearchReport") -> None:
    levels = ("easy", "medium", "hard")
    names = ("IR", "NR", "HR", "CR", "SE")
    title = f"{report.suite}, decompositions: {report.decompositions}, scores {report.scores}. SE also by level"
    quality = Listing("strategy", "threshold", *names, *levels, title=title)
    title = "SE of the best of 5 plans; milliseconds per subtask: search (median, p95, max), stage 2 (median, p95)"
    times = Listing("strategy", "best of 5", "wall", "CPU", "p95", "max", "stage 2", "p95", title=title)
    tasks = subtasks = 0
    for name, row in report.figures.items():
        tasks, subtasks = row.tasks, row.subtasks
        shares = [row.indicators[key] for key in names]
        by_level = [f"{row.se_by_level[level]:.3f}" if level in row.se_by_level else "-" for level in levels]
        threshold = "-" if row.threshold is None else f"{row.threshold:g}"
        quality.add_row(name, threshold, *(f"{share:.3f}" for share in shares), *by_level)
        cpu, planning = row.search_cpu, row.planning_cpu
        figures = (row.search_wall.median, cpu.median, cpu.p95, cpu.most, planning.median, planning.p95)
        times.add_row(name, f"{row.indicators['SE_best']:.3f}", *(f"{figure:.2f}" for figure in figures))
    show_all((quality, times), console=out)
    out.print(f"{tasks} tasks with {subtasks} subtasks; {len(report.left_out)} tasks omitted", highlight=False)


def decompositions(
    suite: Annotated[str, typer.Option(help="Slug of a suite that judges plans.")] = "toolmini",
    as_json: JsonFlag = False,
    output: OutputFile = None,
) -> None:
    """DeAcc, in total and by field, of the decomposers without a language model: rules and trained network."""
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
    write_json([report.to_json() for report in reports], printed=as_json, file=output)
    if not as_json:
        fields = tuple(reports[0].fields)
        table = Listing("decomposer", "n", "DeAcc", "95 % interval", "but description", *fields, title=chosen.title)
        for report in reports:
            shares = (f"{share.mean:.3f}" for share in (report.but_description, *report.fields.values()))
            ends = report.deacc.in_words(form=".3f")
            table.add_row(report.decomposer, str(report.deacc.count), f"{report.deacc.mean:.3f}", ends, *shares)
        show_all((table,), console=out)


def fetch_released(folder: Path | None) -> Mapping[Path, str]:
    """Copy the released files from a folder into the data folder, or download them if the folder is None.

    Returns:
        SHA-256 of each file.

    Raises:
        typer.Exit: the download failed, or a file is not the released one; nothing was written.
    """
    # Imported here: no other command of this module needs a network client.
    from evaluator.network.downloads import download_released

    target = source.suite_folder()
    try:
        if folder is None:
            digests = source.fetch(download=download_released, target=target)
        else:
            digests = source.take(folder=folder, target=target)
    except FetchError as error:
        raise usage_error(error) from None
    return {target / name: digest for name, digest in digests.items()}


RELEASED = {"controlllm": fetch_released}


def inputs(
    suite: Annotated[str, typer.Argument(help=f"{TOOL100} or {TOOL2K}.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--inputs", help="Folder with the files; default: PLANARENA_TOOL_INPUTS, else PlanArena's own pack."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the files of the requests with their problems, or what the pack's files show.

    Exit code 1 if some cannot be used.
    """
    if suite not in {TOOL100, TOOL2K}:
        raise usage_error(f"the requests of {suite} name no files of an operator; {TOOL100} and {TOOL2K} do")
    chosen = chosen_suite(suite)
    # Imported here: it loads numpy.
    from evaluator.controlllm.toolbench.released.inputs import released_inputs
    from evaluator.controlllm.toolbench.released.pack import PROFILE, PackInputs

    try:
        source = released_inputs(
            folder=None if folder is None else str(folder), tasks=chosen.tasks, slug=suite, profile=PROFILE
        )
    except LookupError as error:
        raise usage_error(error) from None
    if isinstance(source, PackInputs):
        _list_pack(source, as_json=as_json)
        return
    if as_json:
        print_json([{"name": name, "type": str(kind), "problem": problem} for name, kind, problem in source.listed()])
    else:
        for name, kind, problem in source.listed():
            out.print(f"{name} ({kind}) {problem or 'can be used'}", markup=False, highlight=False, soft_wrap=True)
        out.print(source.gaps or "All files can be used.", markup=False, highlight=False, soft_wrap=True)
    if source.problems:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _list_pack(source: "PackInputs", *, as_json: bool) -> None:
    rows = [
        {"request": key, "name": name, "type": str(kind), "shows": list(names)}
        for key, name, kind, names in source.listed()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        shown = ", ".join(row["shows"]) or "anything"
        out.print(
            f"{row['request']} {row['name']} ({row['type']}) shows {shown}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    out.print(source.origin, markup=False, highlight=False, soft_wrap=True)


_DATA, _TUNED = Path(".data/controlllm"), Path(".data/planners/controlllm/tuned")


def convert(
    folder: Annotated[Path, typer.Option("--out", help="Folder of the file.")] = _DATA,
    requests: Annotated[int, typer.Option(min=1, help="Number of requests.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the requests.")] = 0,
) -> None:
    """Write conversations of the decomposition stage: requests of a grammar with their decompositions."""
    from evaluator.controlllm.training.conversations import FILE, write_conversations

    try:
        count = write_conversations(folder=folder, count=requests, seed=seed)
    except OSError as error:
        raise usage_error(f"--out: {folder} cannot be written: {error}") from None
    out.print(f"{folder / FILE}: {count} conversations", markup=False, highlight=False, soft_wrap=True)


@with_tuning_options
def train(
    tuning: TuningOptions,
    data: Annotated[Path, typer.Option(help="Folder written by `controlllm convert`, or a file of conversations.")] = (
        _DATA
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the adapters and of the batches.")] = 0,
    steps: Annotated[int | None, typer.Option(min=1, help="Number of steps; default: two passes.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    stop_after: Annotated[int | None, typer.Option(help="Stop after this step; --resume continues.")] = None,
) -> None:
    """Tune a model of yours for ControlLLM: to decompose requests, or for the stage of the data that you give."""
    from evaluator.controlllm.training.conversations import FILE
    from evaluator.training.lessons import chat_lessons

    if not tuning.model:
        raise usage_error("--model must name the model to tune: a folder, hf:ORG/NAME@REVISION, or one that ships")
    purpose = Purpose(title="ControlLLM, decomposition", strategy="controlllm/adaptive", read=chat_lessons)
    tune_by_options(
        tuning, purpose=purpose, data=data / FILE if data.is_dir() else data, out=_TUNED, seed=seed, steps=steps,
        resume=resume, stop_after=stop_after,
    )  # fmt: skip
