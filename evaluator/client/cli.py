"""The commands `planarena submit|status|cancel|results`: a site from a pipeline. Exit codes: `verdict.ExitCode`."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from evaluator.client.choices import chosen_visibility, client_of, entry_of
from evaluator.client.entering import header_of_options
from evaluator.client.options import (
    EmbargoOption,
    HeaderOption,
    HeaderVariableOption,
    IdArgument,
    JsonOption,
    PatienceOption,
    UrlOption,
)
from evaluator.client.output import STDOUT, exit_codes, say, write_json, write_text
from evaluator.client.reliability import reliability
from evaluator.client.reports import episode_figures, junit
from evaluator.client.submitting import submit
from evaluator.client.verdict import ExitCode, verdict_of
from evaluator.client.verify.command import verify
from evaluator.client.waiting import progress


def status(
    any_id: IdArgument, url: UrlOption = "", json_out: JsonOption = None, patience: PatienceOption = 30.0
) -> None:
    """Print the state of evaluations.

    Exit code 0 if they have completed or are under way, 3 if one failed by the planner's fault, 4 if by another.
    """
    with exit_codes(), client_of(url=url, patience=patience) as client:
        found = client.find(any_id)
        for evaluation in found if json_out != STDOUT else ():
            sys.stdout.write(progress(evaluation) + "\n")
        write_json(json_out, submission=found[0].submission, evaluations=found)
        resting = [evaluation for evaluation in found if evaluation.rests]
        code = verdict_of(evaluations=resting, thresholds=[], metrics={}).code
    raise typer.Exit(code)


def cancel(any_id: IdArgument, url: UrlOption = "", patience: PatienceOption = 30.0) -> None:
    """Cancel evaluations. Finished ones do not change."""
    with exit_codes(), client_of(url=url, patience=patience, needs_token=True) as client:
        for evaluation in client.find(any_id):
            after = evaluation if evaluation.final else client.cancel(evaluation.id)
            sys.stdout.write(progress(after) + "\n")


def results(
    any_id: IdArgument,
    url: UrlOption = "",
    json_out: JsonOption = None,
    junit_out: Annotated[Path | None, typer.Option("--junit", help="Write a JUnit report here.")] = None,
    patience: PatienceOption = 30.0,
) -> None:
    """Print suite, key, outcome and score of every task, separated by tabs.

    Of suites in turns, standard error says how the episodes ended, in how many turns, and which errors actions had.
    """
    with exit_codes(), client_of(url=url, patience=patience) as client:
        found = client.find(any_id)
        rows = {evaluation.id: list(client.results(evaluation.id)) for evaluation in found}
        for evaluation in found if json_out != STDOUT else ():
            for row in rows[evaluation.id]:
                score = "" if row.score is None else f"{row.score:.4f}"
                sys.stdout.write(f"{evaluation.suite}\t{row.task}\t{row.outcome}\t{score}\n")
            if figures := episode_figures(rows[evaluation.id]):
                say("\n".join(f"{evaluation.suite}: {sentence}" for sentence in figures.sentences()))
        write_json(json_out, submission=found[0].submission, evaluations=found, results=rows)
        if junit_out is not None:
            write_text(junit_out, junit(evaluations=found, results=rows, checks=[]))


def try_endpoint(
    endpoint: Annotated[str, typer.Argument(metavar="URL", help="Of a planner/1 endpoint.")],
    url: UrlOption = "",
    suite: Annotated[str, typer.Option(help="Slug of the suite whose request is sent.")] = "",
    timeout: Annotated[int, typer.Option(min=1, max=300, help="Seconds that it has; at most 15 are waited.")] = 30,
    header: HeaderOption = "",
    header_value_env: HeaderVariableOption = "",
    patience: PatienceOption = 30.0,
) -> None:
    """Have the site call an endpoint once, as its workers would, and print the result. Submits nothing.

    Exit code 0 if its answer has a plan with steps that would be executed or judged, 3 if not.
    """
    with exit_codes(), client_of(url=url, patience=patience, needs_token=True) as client:
        entry = entry_of(
            {"name": "test", "kind": "endpoint", "endpoint_url": endpoint, "timeout_seconds": timeout}
            | header_of_options(name=header, variable=header_value_env)
        )
        found = client.try_endpoint(entry, suite=suite)
        status_told = "no answer" if found.status is None else f"HTTP {found.status}"
        sys.stdout.write(f"{found.suite} {found.task}\t{status_told}\t{found.seconds:.2f} s\n{found.answer}\n")
        for sentence in (found.problem, *found.problems):
            if sentence:
                say(sentence)
        if found.example is not None:
            say(f"a plan looks like this, which does not answer the request: {json.dumps(found.example)}")
        say("the answer is good" if found.passed else "the answer would not count as a good plan")
    raise typer.Exit(ExitCode.PASSED if found.passed else ExitCode.PLANNER_FAULT)


def visibility(
    submission_id: Annotated[str, typer.Argument(metavar="ID", help="Of a submission.")],
    visibility: Annotated[str, typer.Argument(metavar="public|embargo|private", help="Who sees it from now on.")] = "",
    embargo_until: EmbargoOption = None,
    url: UrlOption = "",
    patience: PatienceOption = 30.0,
) -> None:
    """Set who can see a submission. Published snapshots of boards stay public."""
    with exit_codes(), client_of(url=url, patience=patience, needs_token=True) as client:
        chosen = chosen_visibility(visibility=visibility, embargo_until=embargo_until, unless="")
        after = client.set_visibility(submission_id, **chosen)
        until = "" if after.embargo_until is None else f" until {after.embargo_until:%Y-%m-%d %H:%M} UTC"
        sys.stdout.write(f"{after.id}\t{after.visibility}{until}\n")


COMMANDS: Sequence[Callable[..., None]] = (
    submit, status, cancel, results, reliability, visibility, try_endpoint, verify
)  # fmt: skip
