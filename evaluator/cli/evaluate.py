"""The command `planarena evaluate`: an evaluation without a server."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic_core import to_json

from evaluator.cli.chosen_planner import chosen_planner
from evaluator.cli.kept_reports import keep_report, reports_folder
from evaluator.cli.progress_view import ProgressView
from evaluator.core.canonical_json import JsonValue
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag, OutputFile, VerboseOption
from evaluator.core.commands.usage import chosen_suite, log, out, plans_of, usage_error, write_bytes, write_json
from evaluator.core.records import Outcome
from evaluator.core.suites.base import IntervalMethod, Suite, shown_columns
from evaluator.core.transcripts import EpisodeFigures, figures_of, summary_of
from evaluator.episodes.base import Evaluator, SettingError, episode_of
from evaluator.episodes.kept_artefacts import RememberedStore, folder_beside, keep_artefacts
from evaluator.episodes.options import ExecutionSettings, selected_tasks, setting_of
from evaluator.interop.imports.planner import ImportedPlans, read_imported
from evaluator.interop.imports.run import LABEL, RunError
from evaluator.planners.driving import StrategyPlanner
from evaluator.reliability.further_runs import SHARE, Claim, RunsReport, report_of, scores_of_runs
from evaluator.scoring.arbiters.options import (
    DEFAULT_KEY_ENV,
    DEFAULT_THRESHOLD,
    ArbiterOption,
    KeyEnvOption,
    ThresholdOption,
    key_in,
)
from evaluator.scoring.causes.command import causes_document, print_causes
from evaluator.scoring.metrics.statistics import ends_in_words
from evaluator.scoring.metrics.undecided import decider_lines, range_text, ranged, undecided_words
from evaluator.scoring.rating import KEY_VARIABLE as RATER_KEY
from evaluator.scoring.rating import with_ratings
from evaluator.scoring.readability import Reading, keys_of

if TYPE_CHECKING:
    from evaluator.cli.comparison import ComparedReport
    from evaluator.core.planner import Planner
    from evaluator.core.records import ResultRecord
    from evaluator.execution.engine.store import Store
    from evaluator.scoring.metrics.aggregate import TaskScore
    from evaluator.scoring.uncertainty import Uncertainty

_PLANS = "plans:"
_IMPORTED = "imported:"


# Long: one line for each option.
def evaluate(
    suite: Annotated[
        str, typer.Option(help="Slug of the suite; default: the first one that executes plans.", show_default=False)
    ] = "",
    planner: Annotated[
        str,
        typer.Option(
            help="A bundled planner's name, STRATEGY[:MODEL] (see `planners list`), plans:FILE for plans of a file, "
            "imported:RUN for a run of another harness, the URL of a planner/1 endpoint, or a2a:URL of an A2A agent."
        ),
    ] = "gold",
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Compare with this report of another planner; may be repeated."),
    ] = None,
    profile: Annotated[str, typer.Option(help="Profile of the experts: lilliput or paper.")] = "lilliput",
    split: Annotated[str, typer.Option(help="Split of the data: public, validation or hidden.")] = "public",
    data: Annotated[str, typer.Option(help="The papers' data, for the profile paper: folder:PATH or hub[:PATH].")] = "",
    inputs: Annotated[
        str, typer.Option(help="Folder with the files that requests name, where a suite has none of its own.")
    ] = "",
    samples: Annotated[int, typer.Option(min=1, help="Data points per task; intervals need ten.")] = 32,
    tasks: Annotated[str, typer.Option(help="Only these tasks: ids and ranges, such as 0-14,16,19.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, help="Timeout of one answer of an endpoint, in seconds.")] = 30.0,
    store: Annotated[
        str, typer.Option(help="Store of artefacts, kept between runs: a folder, or s3://bucket/prefix.")
    ] = "",
    store_limit: Annotated[str, typer.Option(help="Limit of the store's size, such as 20GB; none if empty.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    memory_budget: Annotated[
        str,
        typer.Option(help="Memory for loaded experts, such as 6GB; default: 70 % of a CUDA card's free memory."),
    ] = "",
    arbiter: ArbiterOption = "",
    arbiter_threshold: ThresholdOption = DEFAULT_THRESHOLD,
    arbiter_key_env: KeyEnvOption = DEFAULT_KEY_ENV,
    is_reliability: Annotated[
        bool,
        typer.Option(
            "--reliability",
            help="Also run it again and on perturbed requests (docs/validity.md#reliability-of-a-planner).",
        ),
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Ask the planner this often for a random part of the tasks, which shows how much it varies; with "
            "--reliability, for all tasks (default: 5).",
            show_default=False,
        ),
    ] = None,
    runs_share: Annotated[
        float, typer.Option(min=0.01, max=1, help="With --runs: share of the tasks that are asked again.")
    ] = SHARE,
    is_deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic",
            help="With --runs: the planner answers the same request alike, which a few tasks check.",
        ),
    ] = False,
    keeps_artefacts: Annotated[
        bool,
        typer.Option(
            "--artefacts", help="With --output: also keep inputs, outputs and answers beside it, in FILE.artefacts."
        ),
    ] = False,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    verbose: VerboseOption = False,  # noqa: ARG001 - read by `evaluator.cli.main.main`
) -> None:
    """Evaluate a planner without a server.

    Ends with the score in a sentence, the costliest causes, and the path of the report. With --against: who is best,
    and whether that is real.

    Exit code 0 if all tasks that can run were measured, 2 for bad usage, 3 if none of the planner's answers was
    usable, 4 if some tasks failed because of the infrastructure.
    """
    chosen = chosen_suite(suite)
    if keeps_artefacts and output is None:
        raise usage_error("--artefacts keeps them beside the file of --output; name that file, too")
    keys = selected_tasks(suite=chosen, text=tasks)
    others = _compared(against or (), suite=chosen)
    view = ProgressView(title=f"{planner} on {chosen.slug}", tasks=len(keys), console=log)
    settings = ExecutionSettings(
        profile=profile, split=split, data=data, inputs=inputs, samples=samples, device=device,
        store=store, store_limit=store_limit, memory_budget=memory_budget,
        arbiter=arbiter, arbiter_threshold=arbiter_threshold, arbiter_key_env=arbiter_key_env,
    )  # fmt: skip
    setting = setting_of(settings, listener=view.executed)
    opening = RememberedStore(setting.open_store)
    setting = replace(setting, open_store=opening)
    try:
        # Planners that know the gold plans need the requests in the form that planners get.
        as_asked = setting.suite_asked(chosen)
    except ValueError as error:
        raise usage_error(error) from None
    planner_of_run = _planner(name=planner, suite=as_asked, timeout=timeout)
    imported = planner_of_run if isinstance(planner_of_run, ImportedPlans) else None
    try:
        evaluator = episode_of(chosen.slug).evaluator(suite=chosen, setting=setting)
    except SettingError as error:
        raise usage_error(error) from None
    if gaps := getattr(evaluator, "gaps", ""):
        log.print(gaps, markup=False, highlight=False, soft_wrap=True)
    if origin := getattr(evaluator, "origin", ""):
        log.print(origin, markup=False, highlight=False, soft_wrap=True)
    try:
        document = _document(
            evaluator=evaluator,
            planner=planner_of_run,
            keys=keys,
            view=view,
            samples=samples,
            store=store,
            file=output,
            imported=imported,
        )
        reliability = None
        if runs is not None and not is_reliability:
            document |= _asked_again(
                document, evaluator=evaluator, planner=planner_of_run, name=planner, runs=runs, share=runs_share,
                is_declared=is_deterministic, samples=samples,
            )  # fmt: skip
        if is_reliability:
            from evaluator.core.records import ResultRecord
            from evaluator.reliability.command import measured
            from evaluator.reliability.study import RUNS

            records = [ResultRecord.model_validate(record) for record in document["results"]]
            try:
                reliability = measured(
                    evaluator=evaluator, profile=profile, planner=planner_of_run,
                    tasks=[record.task for record in records], records=records, runs=runs or RUNS,
                )  # fmt: skip
            except KeyboardInterrupt:
                write_json(document, printed=as_json, file=output)
                kept = f"{output} has the evaluation without it" if output else "the evaluation itself was measured"
                log.print(f"planarena: interrupted while measuring the reliability; {kept}.", markup=False)
                raise typer.Exit(ExitCode.INTERRUPTED) from None
            document["reliability"] = reliability.to_json()
    finally:
        if isinstance(planner_of_run, StrategyPlanner):
            planner_of_run.close()
    write_json(document, printed=as_json, file=output)
    if output is not None:
        _part_of(output).unlink(missing_ok=True)
        if keeps_artefacts:
            _keep_artefacts(document, store=opening.opened, report=output)
    if not as_json:
        _print_summary(suite=chosen, document=document)
        if reliability is not None:
            from evaluator.reliability.command import print_profile

            print_profile(reliability)
        out.print()
        _print_closing(suite=chosen, document=document, others=others, samples=samples)
        print_causes(document["causes"])
        _print_path(output or _kept(document))
    outcomes = document["summary"]["outcomes"]
    if outcomes.get(Outcome.INFRA_FAULT):
        raise typer.Exit(ExitCode.INFRASTRUCTURE)
    if outcomes.get(Outcome.PLANNER_FAULT) and not outcomes.get(Outcome.SCORED):
        log.print("planarena: no plan of the planner could be used", style="red", highlight=False)
        raise typer.Exit(ExitCode.PLANNER_FAULT)


def _document(
    *,
    evaluator: Evaluator,
    planner: "Planner",
    keys: Sequence[str],
    view: ProgressView,
    samples: int,
    store: str,
    file: Path | None,
    imported: ImportedPlans | None = None,
) -> dict[str, Any]:
    """Run the evaluation with a progress view. Returns summary, provenance and records as one JSON object.

    Raises:
        typer.Exit: Ctrl-C. The records of completed tasks are written to a file next to the results.
    """
    from evaluator.core.records import ResultRecord

    records = list[ResultRecord]() if imported is None else imported.missing(suite=evaluator.suite, keys=keys)
    left_out = {record.task for record in records}
    try:
        with view:
            for _ in records:
                view.task_completed()
            measured = evaluator.run(planner=planner, tasks=[key for key in keys if key not in left_out])
            for record in with_ratings(measured, suite=evaluator.suite, api_key=key_in(RATER_KEY)):
                records.append(record)
                view.task_completed()
    except KeyboardInterrupt:
        _keep(records, of=len(keys), store=store, file=file)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    identity = planner.identity() if isinstance(planner, StrategyPlanner) else {}
    records.sort(key=lambda record: keys.index(record.task))
    document = evaluation_document(
        evaluator=evaluator, planner=planner.name, identity=identity, keys=keys, records=records, samples=samples
    )
    facts = {} if imported is None else {"imported": {"label": LABEL, **imported.source}}
    return {**document, **facts, "causes": causes_document(suite=evaluator.suite, records=records, samples=samples)}


def _asked_again(
    document: Mapping[str, Any],
    *,
    evaluator: Evaluator,
    planner: "Planner",
    name: str,
    runs: int,
    share: float,
    is_declared: bool,
    samples: int,
) -> dict[str, Any]:
    """Ask the planner again. Returns the further runs with their report, and the summary over all runs."""
    from evaluator.core.records import ResultRecord
    from evaluator.reliability.asking_again import further_runs, known_claim
    from evaluator.scoring.metrics.aggregate import summarise

    is_fixed = name.startswith((_PLANS, _IMPORTED))
    claim = Claim.FIXED if is_fixed else Claim.DECLARED if is_declared else known_claim(name)
    first = {record.task: record for record in map(ResultRecord.model_validate, document["results"])}

    def say(message: str) -> None:
        log.print(message, markup=False, highlight=False)

    further = further_runs(
        evaluator=evaluator, planner=planner, claim=claim, first=first, runs=runs, share=share, say=say
    )
    report = report_of(claim=claim, runs=[first, *further])
    scores = scores_of_runs([first, *further])
    scored = summarise(suite=evaluator.suite, results=scores, samples=samples, is_deterministic=report.is_deterministic)
    margins = _margins(suite=evaluator.suite, scores=scores, samples=samples, is_deterministic=report.is_deterministic)
    return {
        "summary": {**document["summary"], **scored},
        "runs": {
            "report": report.to_json(),
            "uncertainty": None if margins is None else margins.to_json(),
            "further": [[record.model_dump(mode="json") for record in run.values()] for run in further],
        },
    }


def _margins(
    *, suite: Suite, scores: "Sequence[TaskScore]", samples: int, is_deterministic: bool
) -> "Uncertainty | None":
    """The margins of the primary metric, as rows of boards have them."""
    from evaluator.scoring.metrics.aggregate import repeated_scores, table_of
    from evaluator.scoring.uncertainty import uncertainty_of

    column = next(column for column in suite.metrics if column.primary)
    table = table_of(column=column, results=scores, samples=samples)
    if table is None:
        return None
    return uncertainty_of(
        column=column,
        table=table,
        strata=[score.metric for score in scores],
        repeated=repeated_scores(column=column, results=scores, is_deterministic=is_deterministic),
        upper=table_of(column=column, results=scores, samples=samples, upper=True) if column.undecided else None,
    )


def _keep(records: "Sequence[ResultRecord]", *, of: int, store: str, file: Path | None) -> None:
    """Write the records of an interrupted evaluation, and print where they are."""
    sentences = [f"interrupted after {len(records)} of {of} tasks"]
    if file is not None and records:
        part = _part_of(file)
        write_bytes(b"".join(to_json(record) + b"\n" for record in records), file=part)
        sentences.append(f"their records are in {part}, a line for each, and {file} was not written")
    elif file is not None:
        sentences.append(f"{file} was not written")
    if store:
        sentences.append(f"{store} keeps the executed steps, so that the same command continues from there")
    log.print(f"planarena: {'; '.join(sentences)}.", markup=False, highlight=False, soft_wrap=True)


def _keep_artefacts(document: Mapping[str, Any], *, store: "Store | None", report: Path) -> None:
    from evaluator.core.records import ResultRecord

    if store is None:
        log.print("planarena: nothing was executed, so that there are no artefacts to keep.", markup=False)
        return
    records = map(ResultRecord.model_validate, document["results"])
    try:
        lost = keep_artefacts(records, store=store, folder=folder_beside(report))
    except OSError as error:
        raise usage_error(f"{folder_beside(report)} cannot be written: {error.strerror}") from None
    if lost:
        log.print(f"planarena: {lost} artefacts are not in the store any more and were not kept.", markup=False)


def _part_of(file: Path) -> Path:
    """The file for the records of an interrupted evaluation."""
    return file.with_name(f"{file.name}.part.jsonl")


def evaluation_document(
    *,
    evaluator: Evaluator,
    planner: str,
    identity: Mapping[str, JsonValue],
    keys: Sequence[str],
    records: "Sequence[ResultRecord]",
    samples: int,
) -> dict[str, Any]:
    """Summary, provenance and records of an evaluation as one JSON object, with the records in the order of `keys`."""
    from evaluator.scoring.metrics.aggregate import TaskScore, summarise

    suite = evaluator.suite
    reading = Reading.of((record, keys_of(record.tolerated)) for record in records)
    order = {key: position for position, key in enumerate(keys)}
    ordered = sorted(records, key=lambda record: order[record.task])
    episodes = figures_of(found for record in ordered if (found := summary_of(record.transcripts)) is not None)
    summary = summarise(suite=suite, results=map(TaskScore.of, ordered), samples=samples)
    summary = {**summary, "reading": reading.to_json()}
    return {
        "version": "evaluation/1",
        "suite": {"slug": suite.slug, "version": suite.version, "digest": suite.digest},
        "planner": planner,
        "planner_identity": dict(identity),
        "summary": summary if episodes is None else {**summary, "episodes": episodes.to_json()},
        **evaluator.facts(),
        "results": [record.model_dump(mode="json") for record in ordered],
    }


def _print_summary(*, suite: Suite, document: dict[str, Any]) -> None:
    table = Listing("metric", "mean", "95 % interval", "tasks", title=f"{document['planner']} on {suite.title}")
    for column in shown_columns(suite.metrics):
        found = ranged(metrics=document["summary"]["metrics"], column=column)
        if found is None:
            table.add_row(column.label, "not measured", "", "0")
        else:
            interval = ends_in_words(low=found["low"], high=found["high"])
            words = undecided_words(found, form=".4f")
            mean = range_text(found, form=".4f") + (f" ({words})" if words else "")
            table.add_row(column.label, mean, interval, str(found["tasks"]))
    table.show(out)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in document["summary"]["outcomes"].items())
    out.print(f"{len(document['results'])} tasks: {outcomes}")
    for line in decider_lines(columns=suite.metrics, metrics=document["summary"]["metrics"]):
        out.print(line, highlight=False)
    reading = Reading.from_json(document["summary"]["reading"])
    if reading is not None and reading.sentences:
        out.print(" ".join(reading.sentences), markup=False, highlight=False, soft_wrap=True)
    if again := document.get("runs"):
        out.print(RunsReport.from_json(again["report"]).in_words(), markup=False, highlight=False, soft_wrap=True)
        from evaluator.scoring.uncertainty import in_sentences

        primary = next(column for column in suite.metrics if column.primary)
        is_fixed = primary.interval is IntervalMethod.FIXED_TASKS
        value = ranged(metrics=document["summary"]["metrics"], column=primary) or {}
        by_network = value.get("decided_by", {}).get("network", 0.0)
        margins = again["uncertainty"]
        for sentence in in_sentences(margins, is_fixed=is_fixed, by_network=by_network) if margins else ():
            out.print(sentence, markup=False, highlight=False, soft_wrap=True)
    _print_faults(document["results"])
    if episodes := document["summary"].get("episodes"):
        for sentence in EpisodeFigures.from_json(episodes).sentences():
            out.print(sentence, markup=False, highlight=False, soft_wrap=True)


def _compared(files: Sequence[Path], *, suite: Suite) -> "dict[str, ComparedReport]":
    """The reports of `--against` by file.

    Raises:
        typer.Exit: one cannot be compared; standard error says why.
    """
    if not files:
        return {}
    from evaluator.cli.comparison import ReportError, read_report

    try:
        return {str(file): read_report(file, suite=suite) for file in files}
    except ReportError as error:
        raise usage_error(f"--against: {error}") from None


def _print_closing(
    *, suite: Suite, document: dict[str, Any], others: "Mapping[str, ComparedReport]", samples: int
) -> None:
    """Print the score in a sentence, or who is best."""
    from evaluator.cli.comparison import ComparedReport, ReportError, check_conditions, closing_sentences

    try:
        check_conditions(document, others)
    except ReportError as error:
        log.print(f"planarena: --against: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        others = {}
    reports = [ComparedReport.of(document), *others.values()]
    for sentence in closing_sentences(suite=suite, reports=reports, samples=samples):
        out.print(sentence, markup=False, highlight=False, soft_wrap=True)


def _kept(document: dict[str, Any]) -> Path | None:
    """The file in which a report without `--output` is kept; None if it cannot be written."""
    try:
        return keep_report(
            to_json(document, indent=1) + b"\n", suite=document["suite"]["slug"], planner=document["planner"],
            folder=reports_folder(),
        )  # fmt: skip
    except OSError as error:
        log.print(f"planarena: the report was not kept: {error}", markup=False, highlight=False, soft_wrap=True)
        return None


def _print_path(file: Path | None) -> None:
    if file is None:
        return
    out.print(f"Report: {file}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"Open it with: planarena view {shlex.quote(str(file))}", markup=False, highlight=False, soft_wrap=True)


def _print_faults(records: Sequence[Mapping[str, Any]]) -> None:
    """Print why tasks could not be measured: each reason once, with its tasks."""
    tasks: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if record["outcome"] == "infra_fault":
            tasks.setdefault((record["reason"], record["reason_text"]), []).append(record["task"])
    if not tasks:
        return
    table = Listing("reason", "tasks", "first", "what happened", prose="what happened", title="Why infra_fault")
    for (reason, text), keys in sorted(tasks.items(), key=lambda item: -len(item[1])):
        table.add_row(reason, str(len(keys)), ", ".join(keys[:3]), text)
    table.show(out)


def _planner(*, name: str, suite: Suite, timeout: float) -> "Planner":
    if name.startswith(_PLANS):
        from evaluator.core.plans_file import GivenPlans

        file = Path(name.removeprefix(_PLANS))
        return GivenPlans(plans_of(file, suite=suite).plans, name=file.name)
    if name.startswith(_IMPORTED):
        try:
            return read_imported(Path(name.removeprefix(_IMPORTED)), suite=suite)
        except RunError as error:
            raise usage_error(error) from None
    return chosen_planner(name=name, suite=suite, timeout=timeout)
