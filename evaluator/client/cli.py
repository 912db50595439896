"""The commands that follow a submission: `planarena status|results|cancel|visibility|try-endpoint`."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from evaluator.client.api import Client
from evaluator.client.options import (
    CALLS,
    EmbargoOption,
    HeaderOption,
    HeaderVariableOption,
    IdArgument,
    JunitFile,
    PatienceOption,
    ResultsFile,
    SummaryFile,
    TaskThreshold,
    UrlOption,
    called_planner,
    chosen_visibility,
    client_of,
    entry_of,
    header_of_options,
)
from evaluator.client.output import Reports, exit_codes, only_one, say, table_form, write_file
from evaluator.client.reports import episode_figures
from evaluator.client.shapes import Causes, Evaluation, PlannerEntry, TaskRow
from evaluator.client.tables import Suites, outcomes, scores, states, tasks
from evaluator.client.verdict import verdict_of
from evaluator.client.waiting import progress
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import show_all
from evaluator.core.commands.options import JsonFlag, OutputFile

_CHAT = "With a chat API"


def cause_lines(causes: Causes, *, suite: str) -> Sequence[str]:
    """Why an evaluation is below the gold score: the site's headline, and a line for each cause, the costliest first.

    Args:
        causes: of an evaluation.
        suite: its suite.
    """
    return tuple(f"{suite}: {line}" for line in causes.explanation)


def status(
    any_id: IdArgument,
    url: UrlOption = "",
    as_json: JsonFlag = False,
    output: OutputFile = None,
    patience: PatienceOption = 30.0,
) -> None:
    """Print state, score and reason of evaluations.

    Exit code 0 if they have completed or are running, 3 if the planner failed, 4 if the infrastructure failed.
    """
    with exit_codes(), client_of(url=url, patience=patience) as client:
        found = client.find(any_id)
        if not as_json:
            states(found, suites=_suites(client)).show(Console())
            for evaluation in found:
                sys.stdout.write(f"{progress(evaluation)}\n{evaluation.url}\n")
        Reports(as_json=as_json, output=output).write(submission=found[0].submission, evaluations=found)
        code = _code_of(found)
    raise typer.Exit(code)


def cancel(any_id: IdArgument, url: UrlOption = "", patience: PatienceOption = 30.0) -> None:
    """Cancel evaluations. Finished ones do not change."""
    with exit_codes(), client_of(url=url, patience=patience, needs_token=True) as client:
        for evaluation in client.find(any_id):
            after = evaluation if evaluation.final else client.cancel(evaluation.id)
            sys.stdout.write(progress(after) + "\n")


# Long: one line for each option.
def results(
    any_id: IdArgument,
    url: UrlOption = "",
    as_json: JsonFlag = False,
    output: ResultsFile = None,
    junit_out: JunitFile = None,
    task_threshold: TaskThreshold = None,
    summary: SummaryFile = None,
    patience: PatienceOption = 30.0,
) -> None:
    """Print scores of evaluations, and outcome, score and reason of every task.

    Also prints causes of tasks below the gold score and, for suites in turns, figures of the episodes: endings, turns
    and errors of actions.

    Exit codes as for `status`.
    """
    with exit_codes(), client_of(url=url, patience=patience) as client:
        form = table_form(output)
        reports = Reports(
            as_json=as_json, output=None if form else output, junit=junit_out, summary=summary,
            task_threshold=task_threshold,
        )  # fmt: skip
        found = client.find(any_id)
        table = client.results_file(only_one(found).id, form=form) if form else None
        rows = {evaluation.id: list(client.results(evaluation.id)) for evaluation in found}
        suites = {} if as_json and summary is None else _suites(client)
        for evaluation in () if as_json else found:
            _print_results(evaluation, rows=rows[evaluation.id], suites=suites)
        wants_causes = not as_json or summary is not None
        causes = {evaluation.id: client.causes(evaluation.id) for evaluation in found if wants_causes}
        for evaluation in () if as_json else found:
            for line in cause_lines(causes[evaluation.id], suite=evaluation.suite):
                say(line)
        reports.write(submission=found[0].submission, evaluations=found, results=rows, causes=causes, suites=suites)
        if table is not None and output is not None:
            write_file(output, table)
        code = _code_of(found)
    raise typer.Exit(code)


def _print_results(evaluation: Evaluation, *, rows: Sequence[TaskRow], suites: Suites) -> None:
    console = Console()
    show_all((scores(evaluation, suites=suites), tasks(rows)), console=console)
    sys.stdout.write(f"\n{outcomes(rows)}\n{progress(evaluation)}\n{evaluation.url}\n")
    if figures := episode_figures(rows):
        say("\n".join(f"{evaluation.suite}: {sentence}" for sentence in figures.sentences()))


def _suites(client: Client) -> Suites:
    return {suite.slug: suite for suite in client.suites()}


def _code_of(evaluations: Sequence[Evaluation]) -> ExitCode:
    """The exit code of the evaluations that have ended or wait for their owner."""
    resting = [evaluation for evaluation in evaluations if evaluation.rests]
    return verdict_of(evaluations=resting, thresholds=[], metrics={}).code


def _field(name: str) -> str | None:
    """Help of an option that is a field of `PlannerEntry`."""
    return PlannerEntry.model_fields[name].description


def try_endpoint(
    endpoint: Annotated[
        str,
        typer.Argument(metavar="URL", help="URL of an endpoint, a2a:URL of an A2A agent, or the base of a chat API."),
    ],
    url: UrlOption = "",
    suite: Annotated[
        str,
        typer.Option(
            help="Slug of the suite whose request is sent.",
            rich_help_panel=CALLS,
        ),
    ] = "",
    timeout: Annotated[
        int,
        typer.Option(
            min=1,
            max=300,
            help="Time limit in seconds; the site waits at most 15.",
            rich_help_panel=CALLS,
        ),
    ] = 30,
    chat_model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Model in requests to the chat API.",
            rich_help_panel=_CHAT,
        ),
    ] = "",
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Strategy that calls the chat API.",
            rich_help_panel=_CHAT,
        ),
    ] = "",
    api: Annotated[str, typer.Option(metavar="NAME", help=_field("api"), rich_help_panel=_CHAT)] = "auto",
    reasoning_effort: Annotated[
        str, typer.Option(metavar="EFFORT", help=_field("reasoning_effort"), rich_help_panel=_CHAT)
    ] = "",
    answer_tokens: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", min=16, max=1_000_000, help=_field("answer_tokens"), rich_help_panel=_CHAT),
    ] = None,
    streamed: Annotated[bool, typer.Option("--stream", help=_field("streamed"), rich_help_panel=_CHAT)] = False,
    header: HeaderOption = "",
    header_value_env: HeaderVariableOption = "",
    patience: PatienceOption = 30.0,
) -> None:
    """Have the site call an endpoint or a chat endpoint once, as its workers would, and print the verdict.

    Submits nothing.

    Exit code 0 if its answer has a plan with steps that would be executed or judged, 3 if not.
    """
    with exit_codes(), client_of(url=url, patience=patience, needs_token=True) as client:
        entry = entry_of(
            {
                "name": "test",
                "timeout_seconds": timeout,
                "api": api,
                "reasoning_effort": reasoning_effort,
                "answer_tokens": answer_tokens,
                "streamed": streamed,
            }
            | called_planner(url=endpoint, chat_model=chat_model, strategy=strategy)
            | header_of_options(name=header, variable=header_value_env)
        )
        found = client.try_endpoint(entry, suite=suite)
        answered = "no answer" if found.status is None else f"HTTP {found.status}"
        sys.stdout.write(f"{found.suite} {found.task}\t{answered}\t{found.seconds:.2f} s\n{found.answer}\n")
        tolerated = [f"tolerated: {note}" for note in found.tolerated]
        for sentence in (found.summary or found.problem, *found.problems, *tolerated, *found.adapted):
            if sentence:
                say(sentence)
        if found.example is not None:
            say(f"a plan looks like this, which does not answer the request: {json.dumps(found.example)}")
    raise typer.Exit(ExitCode.PASSED if found.passed else ExitCode.PLANNER_FAULT)


def visibility(
    any_id: IdArgument,
    visibility: Annotated[str, typer.Argument(metavar="public|embargo|private", help="New visibility.")] = "",
    embargo_until: EmbargoOption = None,
    url: UrlOption = "",
    patience: PatienceOption = 30.0,
) -> None:
    """Set who can see a submission. Published snapshots of boards stay public."""
    with exit_codes(), client_of(url=url, patience=patience, needs_token=True) as client:
        chosen = chosen_visibility(visibility=visibility, embargo_until=embargo_until, unless="")
        after = client.set_visibility(client.find(any_id)[0].submission, **chosen)
        until = "" if after.embargo_until is None else f" until {after.embargo_until:%Y-%m-%d %H:%M} UTC"
        sys.stdout.write(f"{after.id}\t{after.visibility}{until}\n")
