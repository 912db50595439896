"""`planarena submit`: submits a planner, or goes on with what the same command submitted before."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from evaluator.client.api import Client
from evaluator.client.choices import (
    chosen_planner,
    chosen_visibility,
    client_of,
    entry_of,
    parse_priority,
    parse_thresholds,
)
from evaluator.client.entering import header_of_options
from evaluator.client.errors import RefusedError, UsageError
from evaluator.client.field_options import with_options
from evaluator.client.options import (
    EmbargoOption,
    HeaderOption,
    HeaderVariableOption,
    JunitFile,
    PatienceOption,
    SummaryFile,
    TaskThreshold,
    UrlOption,
    VisibilityOption,
)
from evaluator.client.output import Reports, exit_codes, say
from evaluator.client.remembered import Remembered, state_file
from evaluator.client.shapes import NewSubmission, PlannerEntry, Submission, SuiteInfo
from evaluator.client.tables import scores
from evaluator.client.verdict import Threshold, Verdict, unknown_thresholds, verdict_of
from evaluator.client.waiting import wait
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import show_all
from evaluator.core.commands.options import JsonFlag, OutputFile

_ENTERED_OTHERWISE = frozenset({
    "name", "kind", "bundled_name", "endpoint_url", "model_id", "revision", "checkpoint_digest", "plans",
    "header_name", "header_value",
})  # fmt: skip
"""The fields of a planner without an option that is only theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _AfterSubmit:
    """What `submit` was asked for, besides the submission."""

    wait: bool
    timeout: float | None
    thresholds: Sequence[Threshold]
    reports: Reports


# Long: one line for each option.
@with_options(
    PlannerEntry,
    apart_from=_ENTERED_OTHERWISE,
    spelled={"timeout_seconds": "--timeout", "open_weights": "--open-weights/--closed-weights"},
)
def submit(
    entered: dict[str, Any],
    name: Annotated[str, typer.Option(help="What the planner is called on the boards.")],
    suites: Annotated[list[str], typer.Option("--suite", help="Slug of a suite; may be given several times.")],
    planner: Annotated[str, typer.Option(help="A bundled planner's name, or the URL of a planner/1 endpoint.")] = "",
    model: Annotated[
        str, typer.Option(metavar="ORG/NAME[@REVISION]", help="A Hugging Face model, for a --strategy.")
    ] = "",
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE.zip", help="A zip of safetensors, config and tokenizer, for a --strategy."),
    ] = None,
    chat: Annotated[
        str, typer.Option(metavar="URL", help="Base of an OpenAI-compatible chat API, for a --strategy.")
    ] = "",
    chat_model: Annotated[str, typer.Option(metavar="NAME", help="The model that --chat is asked for.")] = "",
    plans: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plans of a suite that judges plans, as JSON or JSON lines.")
    ] = None,
    agent: Annotated[
        bool, typer.Option("--agent", help="An agent that takes its tasks at the site's /mcp/, in suites in turns.")
    ] = False,
    header: HeaderOption = "",
    header_value_env: HeaderVariableOption = "",
    priority: Annotated[str, typer.Option(help="Among your own evaluations: low, normal or high.")] = "normal",
    url: UrlOption = "",
    team: Annotated[str, typer.Option(help="Slug of a team of yours that it is for.")] = "",
    planner_version: Annotated[str, typer.Option(help="Version of the planner, such as a commit.")] = "",
    season: Annotated[str, typer.Option(help="An open season, or rehearsal for the public data.")] = "",
    own_worker: Annotated[
        bool, typer.Option("--own-worker", help="Only your own workers evaluate it; it is not ranked.")
    ] = False,
    visibility: VisibilityOption = "",
    embargo_until: EmbargoOption = None,
    wait_for_end: Annotated[bool, typer.Option("--wait", help="Wait until all evaluations have ended.")] = False,
    wait_timeout: Annotated[
        float | None, typer.Option(min=1, help="With --wait: seconds to wait at most; then exit code 4.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=NUMBER", help="With --wait: exit code 1 if it is below; also SUITE:METRIC=NUMBER. Several."
        ),
    ] = None,
    junit_out: JunitFile = None,
    task_threshold: TaskThreshold = None,
    summary: SummaryFile = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    idempotency_key: Annotated[
        str, typer.Option(help="Your own name of this submission, such as the build's number. Default: made once.")
    ] = "",
    patience: PatienceOption = 600.0,
) -> None:
    """Submit a planner, and with --wait follow it to its end.

    Run the same command again after a lost connection: it continues with the same submission. The token is in
    PLANARENA_TOKEN. Exit codes: 0 passed, 1 below a threshold, 2 bad usage, 3 fault of the planner, 4 infrastructure.
    """
    with exit_codes():
        ask = _AfterSubmit(
            wait=wait_for_end, timeout=wait_timeout, thresholds=parse_thresholds(fail_under or []),
            reports=Reports(
                as_json=as_json, output=output, junit=junit_out, summary=summary, task_threshold=task_threshold
            ),
        )  # fmt: skip
        _check_usage(ask)
        new = NewSubmission(
            planner=entry_of(
                {"name": name}
                | entered
                | chosen_planner(
                    planner=planner, model=model, checkpoint=checkpoint, chat=chat, chat_model=chat_model,
                    strategy=entered["strategy"], plans=plans, agent=agent,
                )
                | header_of_options(name=header, variable=header_value_env, remove=entered["remove_header"])
            ),
            suites=suites, team=team, version=planner_version, season=season, own_worker=own_worker,
            priority=parse_priority(priority),
            **chosen_visibility(visibility=visibility, embargo_until=embargo_until, unless="public"),
        )  # fmt: skip
        with client_of(url=url, patience=patience, needs_token=True) as client:
            remembered = Remembered(file=state_file(), url=url, new=new, key=idempotency_key)
            if checkpoint is not None and not remembered.submission:
                _upload(client=client, file=checkpoint)
            code = _submit_and_report(client=client, new=new, remembered=remembered, ask=ask)
    raise typer.Exit(code)


def _submit_and_report(*, client: Client, new: NewSubmission, remembered: Remembered, ask: _AfterSubmit) -> ExitCode:
    """Submit or go on, wait if that is wanted, report, and say how it ended."""
    suites = _checked_suites(client=client, new=new, thresholds=ask.thresholds) if ask.wait else []
    made = _enter(client=client, new=new, remembered=remembered)
    if not ask.wait:
        ask.reports.write(submission=made.id, evaluations=made.evaluations)
        remembered.forget()
        return ExitCode.PASSED
    ended = wait(client=client, submission_id=made.id, timeout=ask.timeout, tell=say)
    results = {evaluation.id: list(client.results(evaluation.id)) for evaluation in ended.evaluations}
    keys = {suite.slug: suite.metric_keys for suite in suites}
    verdict = verdict_of(evaluations=ended.evaluations, thresholds=ask.thresholds, metrics=keys)
    ask.reports.write(submission=ended.id, evaluations=ended.evaluations, results=results, verdict=verdict)
    if not ask.reports.as_json:
        known = {suite.slug: suite for suite in suites}
        show_all((scores(one, suites=known) for one in ended.evaluations), console=Console())
    _print_verdict(verdict)
    if all(evaluation.final for evaluation in ended.evaluations):
        remembered.forget()
    return verdict.code


def _enter(*, client: Client, new: NewSubmission, remembered: Remembered) -> Submission:
    if remembered.submission and (found := _found(client=client, submission_id=remembered.submission)):
        say(f"going on with submission {found.id}")
        return found
    remembered.keep()
    say(f"idempotency key {remembered.key}")
    try:
        made = client.submit(new, key=remembered.key)
    except RefusedError:
        # Nothing was submitted, so there is nothing to go on with.
        remembered.forget()
        raise
    remembered.keep(submission=made.id)
    say(f"{'going on with' if made.replayed else 'made'} submission {made.id}")
    for evaluation in made.evaluations:
        say(f"{evaluation.suite}: {evaluation.url}")
    return made


def _found(*, client: Client, submission_id: str) -> Submission | None:
    """A submission; None if the site no longer has it, for example after a new installation."""
    try:
        return client.submission(submission_id)
    except RefusedError as error:
        if error.problem.status != HTTPStatus.NOT_FOUND:
            raise
    return None


def _check_usage(ask: _AfterSubmit) -> None:
    options = {"--fail-under": ask.thresholds, "--junit": ask.reports.junit, "--summary": ask.reports.summary}
    needing = [name for name, given in options.items() if given]
    if needing and not ask.wait:
        raise UsageError(f"{' and '.join(needing)} need --wait: without it there is no result yet")


def _upload(*, client: Client, file: Path) -> None:
    say(f"uploading {file}")
    client.upload_checkpoint(file)


def _checked_suites(*, client: Client, new: NewSubmission, thresholds: Sequence[Threshold]) -> list[SuiteInfo]:
    """The suites of the submission, if every threshold can be checked on them."""
    suites = [suite for suite in client.suites() if suite.slug in new.suites]
    if len(suites) == len(set(new.suites)) and (wrong := unknown_thresholds(thresholds=thresholds, suites=suites)):
        raise UsageError("; ".join(wrong))
    return suites


def _print_verdict(verdict: Verdict) -> None:
    for sentence in verdict.sentences:
        say(sentence)
    say(f"{verdict.code.name.lower().replace('_', ' ')} (exit code {int(verdict.code)})")
