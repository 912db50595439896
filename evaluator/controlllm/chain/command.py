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
    request: Annotated[str, typer.Argument(help="The request; empty with --task.")] = "",
    file: Annotated[
        list[str] | None,
        typer.Option(help="A file of the request: PATH, NAME=PATH or NAME:TYPE=PATH; may be repeated."),
    ] = None,
    suite: Annotated[str, typer.Option(help="Suite of --task; must be one that executes plans.")] = "",
    task: Annotated[str, typer.Option(help="Id of a task of the suite, instead of a request.")] = "",
    sample: Annotated[int, typer.Option(min=0, help="Index of the task's data point.")] = 0,
    split: Annotated[str, typer.Option(help="Split of the task's data.")] = "public",
    planner: Annotated[
        str, typer.Option(help="controlllm/greedy, beam, adaptive or exhaustive, with :MODEL for a language model.")
    ] = "controlllm/adaptive",
    then: Annotated[
        list[str] | None,
        typer.Option(help="A further request on the results of earlier ones, by name or as it; may be repeated."),
    ] = None,
    correct: Annotated[
        bool, typer.Option("--correct/--as-planned", help="Correct arguments at run time, or run the plan unchanged.")
    ] = True,
    results: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for the result files; default: a subfolder of the data folder.",
            show_default=False,
            callback=writable_folder,
        ),
    ] = None,
    profile: Annotated[str, typer.Option(help="Profile of the experts.")] = "lilliput",
    store: Annotated[str, typer.Option(help="Persistent store of artefacts; empty: in memory.")] = "",
    device: Annotated[str, typer.Option(help="Torch device of the experts.")] = "cpu",
    as_json: JsonFlag = False,
    output: OutputFile = None,
    verbose: VerboseOption = False,  # noqa: ARG001 - read by `evaluator.cli.main.main`
) -> None:
    """Serve a request with ControlLLM's whole chain: decompose, search, choose, execute, correct, respond.

    Independent steps run in batches. If a step fails because of its arguments, they are corrected from the available
    results; then the next solution of the subtask is tried. Evaluations score a planner's plan without corrections.

    Complete means that every part of the request has a result of the wanted kind, from a tool that does it; what no
    tool does is declined, and the response says which tool is missing.

    With --then: a dialogue, which ends with the first request that is not complete. Results of its first request are
    called result-1-1.png, result-1-2.txt and so on.

    Exit code 0 if the request is complete, 1 if a part was declined or failed, 2 for bad usage, 4 if the language
    model failed.
    """
    from evaluator.controlllm.chain.requests import request_of_task, write_results
    from evaluator.core.language_model import LanguageModelError

    settings = ExecutionSettings(profile=profile, split=split, samples=sample + 1, device=device, store=store)
    if then:
        if suite or task:
            raise usage_error("--then goes with a request, not with --task")
        texts = [request, *then]
        _hold_dialogue(
            texts, files=file or (), planner=planner, settings=settings, correct=correct, results=results,
            printed=as_json, output=output,
        )  # fmt: skip
        return
    if not task:
        if suite:
            raise usage_error("--suite needs --task")
        chain_request = _plain_request(request=request, files=file or (), profile=profile)
    elif request or file:
        raise usage_error("give a request with its files, or --suite and --task, not both")
    else:
        prepared = prepare(suite=chosen_suite(suite), settings=settings)
        try:
            chain_request = request_of_task(prepared=prepared, key=task, sample=sample)
        except LookupError as error:
            raise usage_error(error) from None
    runner, engine = _runner(planner=planner, suite=chain_request.request.suite, settings=settings)
    try:
        finished = runner.run(chain_request, correcting=correct)
    except LanguageModelError as error:
        log.print(f"planarena: {error.failure.message}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(ExitCode.INFRASTRUCTURE) from None
    key = digest([chain_request.request.task.request, chain_request.sample])
    target = results or Path(os.environ.get("PLANARENA_DATA", ".data")) / "chain" / key[:12]
    try:
        paths = write_results(results=finished.results, engine=engine, folder=target)
    except OSError as error:
        raise usage_error(f"{target} cannot be written: {error.strerror}") from None
    document = transcript(request=chain_request.request, planner=planner, finished=finished)
    document["files_written"] = [str(path) for path in paths]
    write_json(document, printed=as_json, file=output)
    if not as_json:
        _print(document)
    if not finished.is_complete:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _hold_dialogue(
    texts: Sequence[str],
    *,
    files: Sequence[str],
    planner: str,
    settings: ExecutionSettings,
    correct: bool,
    results: Path | None,
    printed: bool,
    output: Path | None,
) -> None:
    from evaluator.controlllm.chain.dialogue import Dialogue
    from evaluator.controlllm.chain.requests import read_file, write_results
    from evaluator.core.language_model import LanguageModelError
    from evaluator.execution.experts.profile import ProfileError, load_profile

    runner, engine = _runner(planner=planner, suite="", settings=settings)
    target = results or Path(os.environ.get("PLANARENA_DATA", ".data")) / "chain" / digest(list(texts))[:12]
    turns: list[dict[str, Any]] = []
    try:
        given = list(map(read_file, files))
        dialogue = Dialogue(runner=runner, engine=engine, profile=load_profile(settings.profile), files=given)
        for text in texts:
            asked, finished = dialogue.say(text, correcting=correct)
            document = transcript(request=asked.request, planner=planner, finished=finished)
            paths = write_results(results=finished.results, engine=engine, folder=target)
            turns.append({**document, "files_written": [str(path) for path in paths]})
            if not finished.is_complete:
                break
    except LanguageModelError as error:
        log.print(f"planarena: {error.failure.message}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(ExitCode.INFRASTRUCTURE) from None
    except (ProfileError, ValueError) as error:
        raise usage_error(error) from None
    except OSError as error:
        raise usage_error(f"{target} cannot be written: {error.strerror}") from None
    write_json({"version": DIALOGUE_VERSION, "turns": turns}, printed=printed, file=output)
    if not printed:
        for document in turns:
            _print(document)
    if len(turns) < len(texts) or not turns[-1]["complete"]:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _plain_request(*, request: str, files: Sequence[str], profile: str) -> "ChainRequest":
    from evaluator.controlllm.chain.requests import plain_request, read_file
    from evaluator.execution.experts.profile import ProfileError, load_profile

    try:
        return plain_request(text=request, files=list(map(read_file, files)), profile=load_profile(profile))
    except (ProfileError, ValueError) as error:
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


def _print(document: dict[str, Any]) -> None:
    subtasks = Listing("subtask", "description", "outcome", "tools", prose="description", title=document["request"])
    for subtask in document["subtasks"]:
        tools = ", ".join(action["tool_name"] for action in subtask["actions"])
        subtasks.add_row(str(subtask["id"]), subtask["description"], subtask["outcome"], tools or subtask["why"])
    subtasks.show(out)
    if document["corrections"]:
        corrections = Listing("problem", "correction", "outcome", prose="problem", title="Corrections at run time")
        for row in document["corrections"]:
            corrections.add_row(row["message"], f"{row['what']} ({row['why']})", row["outcome"])
        corrections.show(out)
    state = Listing("reference", "type", "made by", "value", prose="value", title="State")
    for entry in document["state"]:
        state.add_row(entry["reference"], entry["type"], entry["made_by"], entry["value"])
    state.show(out)
    out.print(document["response"], highlight=False, markup=False, soft_wrap=True)
    for problems in document["response_scores"]["why"].values():
        out.print(f"About this response: {'; '.join(problems)}.", highlight=False, markup=False, soft_wrap=True)
    for path in document["files_written"]:
        out.print(path, highlight=False, markup=False, soft_wrap=True)


VERSION, DIALOGUE_VERSION = "chain/1", "chain-dialogue/1"


def transcript(*, request: "PlannerRequest", planner: str, finished: "Finished") -> dict[str, Any]:
    """The stages of one request, in order. Artefacts are named by their SHA-256."""
    return {
        "version": VERSION,
        "request": request.task.request,
        "files": dict(request.task.resources),
        "planner": planner,
        **finished.staged.notes(),
        "rounds": [[_step(step) for step in steps] for steps in finished.rounds],
        "corrections": [correction.to_json() for correction in finished.corrections],
        "subtasks": [subtask.to_json() for subtask in finished.progress],
        "plan": finished.plan,
        "state": [entry.to_json() for entry in finished.state.entries()],
        "results": {name: entry.to_json() for name, entry in finished.results.items()},
        "complete": finished.is_complete,
        "outcome": str(finished.outcome),
        "undone": list(finished.undone),
        "response": finished.response,
        "response_scores": finished.response_scores(request).to_json(),
    }


def _step(step: "StepRun") -> Mapping[str, JsonValue]:
    return {
        "step": step.step,
        "tool": step.tool,
        "expert": step.expert,
        "inputs": {name: artefact.digest for name, artefact in step.inputs.items()},
        "outputs": {name: artefact.digest for name, artefact in step.outputs.items()},
        "seconds": step.seconds,
        "cached": step.cached,
        "error": step.error,
    }
