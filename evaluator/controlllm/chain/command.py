"""The command `planarena chain`: ControlLLM's whole chain for one request."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag, OutputFile, VerboseOption, writable_folder
from evaluator.core.commands.usage import chosen_suite, log, out, usage_error, write_json
from evaluator.episodes.options import ExecutionSettings, prepare, setting_of

if TYPE_CHECKING:
    from evaluator.controlllm.chain.conversation import Finished
    from evaluator.controlllm.chain.running import ChainRequest, ChainRunner
    from evaluator.core.planner import PlannerRequest
    from evaluator.core.records import StepRun
    from evaluator.execution.engine.run import Engine


# Long: one line for each option.
def chain(
    request: Annotated[str, typer.Argument(help="What is asked; empty with --task.")] = "",
    file: Annotated[
        list[str] | None,
        typer.Option(help="A file of the request: PATH, NAME=PATH or NAME:TYPE=PATH; may be repeated."),
    ] = None,
    suite: Annotated[str, typer.Option(help="Suite of --task, whose plans are executed.")] = "",
    task: Annotated[str, typer.Option(help="Id of a task of the suite, instead of a request of your own.")] = "",
    sample: Annotated[int, typer.Option(min=0, help="Which data point of the task.")] = 0,
    split: Annotated[str, typer.Option(help="Split of the task's data.")] = "public",
    planner: Annotated[
        str, typer.Option(help="controlllm/greedy, beam, adaptive or exhaustive, with :MODEL for a language model.")
    ] = "controlllm/adaptive",
    correct: Annotated[
        bool, typer.Option("--correct/--as-planned", help="Correct arguments at run time, or run the plan as it is.")
    ] = True,
    results: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of the result files; default: one in the data folder.",
            show_default=False,
            callback=writable_folder,
        ),
    ] = None,
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    store: Annotated[str, typer.Option(help="Store of artefacts, kept between runs; in memory if empty.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    as_json: JsonFlag = False,
    output: OutputFile = None,
    verbose: VerboseOption = False,  # noqa: ARG001 - read by `evaluator.cli.main.main`
) -> None:
    """Serve a request with ControlLLM's whole chain: decompose, search, choose, execute, correct, respond.

    Independent steps run together, in batches. Where a step fails because of its arguments, they are corrected from
    the results that are there; then the next solution of the subtask is tried. Evaluations score a planner's plan as it
    is, without corrections.

    Exit code 0 if every subtask made its result, 1 if one did not, 2 for bad usage, 4 if the language model failed.
    """
    settings = ExecutionSettings(profile=profile, split=split, samples=sample + 1, device=device, store=store)
    asked = _of_task(suite=suite, task=task, sample=sample, settings=settings, also=request or file)
    if asked is None:
        asked = _of_words(request=request, files=file or (), profile=profile)
    runner, engine = _runner(planner=planner, suite=asked.request.suite, settings=settings)
    finished = _finished(runner=runner, asked=asked, correct=correct)
    _report(
        asked=asked, planner=planner, finished=finished, engine=engine, folder=results, as_json=as_json, output=output
    )
    if not finished.is_complete:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _of_task(*, suite: str, task: str, sample: int, settings: ExecutionSettings, also: object) -> "ChainRequest | None":
    """The task that is named; None if none is.

    Raises:
        typer.Exit: the options do not go together, or there is no such task.
    """
    if not task:
        if suite:
            raise usage_error("--suite needs --task")
        return None
    if also:
        raise usage_error("give a request with its files, or --suite and --task, not both")
    from evaluator.controlllm.chain.requests import request_of_task

    prepared = prepare(suite=chosen_suite(suite), settings=settings)
    try:
        return request_of_task(prepared=prepared, key=task, sample=sample)
    except LookupError as error:
        raise usage_error(error) from None


def _of_words(*, request: str, files: Sequence[str], profile: str) -> "ChainRequest":
    from evaluator.controlllm.chain.requests import FileError, read_given, request_in_words
    from evaluator.execution.experts.profile import ProfileError, load_profile

    try:
        given = [read_given(text) for text in files]
        return request_in_words(text=request, files=given, profile=load_profile(profile))
    except (FileError, ProfileError, ValueError) as error:
        raise usage_error(error) from None


def _runner(*, planner: str, suite: str, settings: ExecutionSettings) -> "tuple[ChainRunner, Engine]":
    from evaluator.controlllm.chain.running import ChainRunner, chain_planner
    from evaluator.execution.engine.pool import ExpertPool
    from evaluator.execution.engine.run import Engine
    from evaluator.execution.engine.store import MemoryStore
    from evaluator.execution.experts.profile import load_profile
    from evaluator.planners.strategies.registry import PlannerNameError

    try:
        strategy, model = chain_planner(planner)
    except PlannerNameError as error:
        raise usage_error(error) from None
    opened = setting_of(settings).open_store
    assert opened is not None
    pool = ExpertPool(profile=load_profile(settings.profile), device=settings.device)
    engine = Engine(pool=pool, store=opened() if settings.store else MemoryStore(), salt=suite)
    return ChainRunner(strategy=strategy, engine=engine, model=model), engine


def _finished(*, runner: "ChainRunner", asked: "ChainRequest", correct: bool) -> "Finished":
    from evaluator.core.language_model import LanguageModelError

    try:
        return runner.run(asked, correcting=correct)
    except LanguageModelError as error:
        log.print(f"planarena: {error.failure.message}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(ExitCode.INFRASTRUCTURE) from None


def _report(
    *,
    asked: "ChainRequest",
    planner: str,
    finished: "Finished",
    engine: "Engine",
    folder: Path | None,
    as_json: bool,
    output: Path | None,
) -> None:
    from evaluator.controlllm.chain.requests import write_results

    target = folder or _default_folder(asked)
    try:
        paths = write_results(results=finished.results, engine=engine, folder=target)
    except OSError as error:
        raise usage_error(f"{target} cannot be written: {error.strerror}") from None
    document = transcript(request=asked.request, planner=planner, finished=finished)
    document["files_written"] = [str(path) for path in paths]
    write_json(document, printed=as_json, file=output)
    if not as_json:
        _print(document)


def _default_folder(asked: "ChainRequest") -> Path:
    """A subfolder of the data folder, distinct for each request."""
    request = digest([asked.request.task.request, asked.sample])
    return Path(os.environ.get("PLANARENA_DATA", ".data")) / "chain" / request[:12]


def _print(document: dict[str, Any]) -> None:
    subtasks = Listing("subtask", "description", "outcome", "tools", prose="description", title=document["request"])
    for one in document["subtasks"]:
        tools = ", ".join(action["tool_name"] for action in one["actions"])
        subtasks.add_row(str(one["id"]), one["description"], one["outcome"], tools or one["why"])
    subtasks.show(out)
    if document["corrections"]:
        corrections = Listing("problem", "correction", "outcome", prose="problem", title="Corrections at run time")
        for one in document["corrections"]:
            corrections.add_row(one["message"], f"{one['what']} ({one['why']})", one["outcome"])
        corrections.show(out)
    state = Listing("reference", "type", "made by", "value", prose="value", title="State")
    for one in document["state"]:
        state.add_row(one["reference"], one["type"], one["made_by"], one["value"])
    state.show(out)
    out.print(document["response"], highlight=False, markup=False, soft_wrap=True)
    for path in document["files_written"]:
        out.print(path, highlight=False, markup=False, soft_wrap=True)


VERSION = "chain/1"


def transcript(*, request: "PlannerRequest", planner: str, finished: "Finished") -> dict[str, Any]:
    """Everything about one request, in order. Objects are named by the SHA-256 of their bytes."""
    return {
        "version": VERSION,
        "request": request.task.request,
        "files": dict(request.task.resources),
        "planner": planner,
        **finished.staged.notes(),
        "rounds": [[_step(step) for step in steps] for steps in finished.rounds],
        "corrections": [one.to_json() for one in finished.corrections],
        "subtasks": [one.to_json() for one in finished.progress],
        "plan": finished.plan,
        "state": [entry.to_json() for entry in finished.state.entries()],
        "results": {name: entry.to_json() for name, entry in finished.results.items()},
        "complete": finished.is_complete,
        "response": finished.response,
    }


def _step(step: "StepRun") -> Mapping[str, JsonValue]:
    return {
        "step": step.step,
        "tool": step.tool,
        "expert": step.expert,
        "inputs": {name: one.digest for name, one in step.inputs.items()},
        "outputs": {name: one.digest for name, one in step.outputs.items()},
        "seconds": step.seconds,
        "cached": step.cached,
        "error": step.error,
    }
