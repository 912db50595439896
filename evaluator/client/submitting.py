"""`planarena submit`: submits a planner, or continues with the submission of an earlier run of the same command."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from evaluator.client.api import Client
from evaluator.client.errors import RefusedError, UsageError
from evaluator.client.options import (
    CALLS,
    EmbargoOption,
    HeaderOption,
    HeaderVariableOption,
    JunitFile,
    PatienceOption,
    SummaryFile,
    TaskThreshold,
    UrlOption,
    VisibilityOption,
    chosen_planner,
    chosen_visibility,
    client_of,
    entry_of,
    facts_of_import,
    given_options,
    given_roles,
    header_of_options,
    parse_priority,
    parse_share,
    parse_thresholds,
)
from evaluator.client.output import Reports, exit_codes, say
from evaluator.client.remembered import Remembered, state_file
from evaluator.client.shapes import NewSubmission, PlannerEntry, Submission, SuiteInfo
from evaluator.client.tables import Suites, scores
from evaluator.client.verdict import Threshold, unknown_thresholds, verdict_of
from evaluator.client.waiting import wait
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import show_all
from evaluator.core.commands.options import JsonFlag, OutputFile

SUBMISSION = "Submission"
AGAIN = "Asking again"
PLANNER = "Planner, one of"
STRATEGY = "With --model, --checkpoint or --chat, or a --role for each role"
CHAT = "With --chat"
MODEL = "What boards show of the language model"
WAITING = "Waiting"

FIELD_OPTIONS: Mapping[str, tuple[str, str]] = {
    "timeout_seconds": ("--timeout", CALLS),
    "remove_header": ("--remove-header", CALLS),
    "api": ("--api", CHAT),
    "reasoning_effort": ("--reasoning-effort", CHAT),
    "answer_tokens": ("--answer-tokens", CHAT),
    "streamed": ("--stream", CHAT),
    "strategy": ("--strategy", STRATEGY),
    "description": ("--description", SUBMISSION),
    "model_name": ("--model-name", MODEL),
    "parameters": ("--parameters", MODEL),
    "open_weights": ("--open-weights/--closed-weights", MODEL),
    "prompt_price": ("--prompt-price", MODEL),
    "completion_price": ("--completion-price", MODEL),
    "cached_price": ("--cached-price", MODEL),
}
"""Fields of `PlannerEntry` that are options, with the option and its section of the help."""
_METAVARS = {"strategy": "NAME", "description": "TEXT", "model_name": "NAME", "timeout_seconds": "SECONDS",
             "api": "NAME", "reasoning_effort": "EFFORT", "answer_tokens": "TOKENS",
             "parameters": "COUNT", "prompt_price": "USD", "completion_price": "USD",
             "cached_price": "USD"}  # fmt: skip


def _with_field_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `entered` by `FIELD_OPTIONS`, with type, default, limits and help of the fields."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        command(entered={name: arguments.pop(name) for name in FIELD_OPTIONS}, **arguments)

    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for own in signature.parameters.values():
        parameters += [own] if own.name != "entered" else map(_field_parameter, FIELD_OPTIONS)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    # Typer reads the types here.
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _field_parameter(name: str) -> inspect.Parameter:
    field = PlannerEntry.model_fields[name]
    option, panel = FIELD_OPTIONS[name]
    least: Any = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None)
    most: Any = next((limit.le for limit in field.metadata if hasattr(limit, "le")), None)
    declared = typer.Option(
        option, min=least, max=most, metavar=_METAVARS.get(name), help=field.description, rich_help_panel=panel
    )
    kind: Any = field.annotation
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=Annotated[kind, declared]
    )


@_with_field_options
def submit(
    *,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the planner on the boards.", rich_help_panel=SUBMISSION)
    ],
    suites: Annotated[
        list[str],
        typer.Option("--suite", metavar="SLUG", help="Suite to run; may be repeated.", rich_help_panel=SUBMISSION),
    ],
    planner: Annotated[
        str,
        typer.Option(metavar="NAME|URL", help="A bundled planner, or a planner/1 endpoint.", rich_help_panel=PLANNER),
    ] = "",
    model: Annotated[
        str,
        typer.Option(metavar="ORG/NAME[@REV]", help="A Hugging Face model.", rich_help_panel=PLANNER),
    ] = "",
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE.zip", help="A zip of safetensors, config and tokenizer.", rich_help_panel=PLANNER),
    ] = None,
    chat: Annotated[
        str, typer.Option(metavar="URL", help="Base of an OpenAI-compatible chat API.", rich_help_panel=PLANNER)
    ] = "",
    plans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Plans for a suite that judges plans, as JSON or JSON lines.", rich_help_panel=PLANNER
        ),
    ] = None,
    agent: Annotated[
        bool,
        typer.Option(
            "--agent",
            help="An agent that takes its tasks at the site's /mcp/, in suites in turns.",
            rich_help_panel=PLANNER,
        ),
    ] = False,
    entered: dict[str, Any],
    chat_model: Annotated[
        str, typer.Option(metavar="NAME", help="Model that --chat is asked for.", rich_help_panel=STRATEGY)
    ] = "",
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the strategy; may be repeated.",
            rich_help_panel=STRATEGY,
        ),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=MODEL",
            help="Model of a role: chat:URL#MODEL, endpoint:URL, hf:ORG/NAME[@REV], FILE.zip or a bundled one.",
            rich_help_panel=STRATEGY,
        ),
    ] = None,
    role_header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=NAME:VAR",
            help="Header that a role's endpoint requires, with its value in a variable.",
            rich_help_panel=STRATEGY,
        ),
    ] = None,
    header: HeaderOption = "",
    header_value_env: HeaderVariableOption = "",
    planner_version: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Version of the planner, such as a commit.", rich_help_panel=SUBMISSION),
    ] = "",
    team: Annotated[
        str, typer.Option(metavar="SLUG", help="One of your teams, to submit for it.", rich_help_panel=SUBMISSION)
    ] = "",
    season: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="An open season, or rehearsal for the public data.", rich_help_panel=SUBMISSION
        ),
    ] = "",
    own_worker: Annotated[
        bool,
        typer.Option(
            "--own-worker", help="Evaluate it on your own workers only; it is not ranked.", rich_help_panel=SUBMISSION
        ),
    ] = False,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic",
            help="Declare that the planner answers the same request alike in every run: it is asked again for fewer "
            "tasks, and a different answer contradicts the claim.",
            rich_help_panel=AGAIN,
        ),
    ] = False,
    asked_again: Annotated[
        str,
        typer.Option(
            metavar="tenth|half|all",
            help="For how many tasks it is asked again: half of them count as one more evaluation, all as two more.",
            rich_help_panel=AGAIN,
        ),
    ] = "tenth",
    priority: Annotated[
        str,
        typer.Option(
            metavar="low|normal|high", help="Priority among your own evaluations.", rich_help_panel=SUBMISSION
        ),
    ] = "normal",
    visibility: VisibilityOption = "",
    embargo_until: EmbargoOption = None,
    idempotency_key: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Your own key of this submission, such as the build's number; default: a random one.",
            rich_help_panel=SUBMISSION,
        ),
    ] = "",
    wait_for_end: Annotated[
        bool, typer.Option("--wait", help="Wait until all evaluations have ended.", rich_help_panel=WAITING)
    ] = False,
    wait_timeout: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="With --wait: time limit, after which the exit code is 4.",
            rich_help_panel=WAITING,
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SUITE:]METRIC=NUMBER",
            help="With --wait: exit code 1 if the metric is below; may be repeated.",
            rich_help_panel=WAITING,
        ),
    ] = None,
    junit_out: JunitFile = None,
    task_threshold: TaskThreshold = None,
    summary: SummaryFile = None,
    as_json: JsonFlag = False,
    output: OutputFile = None,
    url: UrlOption = "",
    patience: PatienceOption = 600.0,
) -> None:
    """Submit a planner, and with --wait follow its evaluations until they end.

    After a lost connection, run the same command again: it continues with the same submission. The token is in
    PLANARENA_TOKEN. Exit codes: 0 passed, 1 below a threshold, 2 bad usage, 3 fault of the planner, 4 infrastructure.
    """
    with exit_codes():
        thresholds = parse_thresholds(fail_under or [])
        reports = Reports(
            as_json=as_json, output=output, junit=junit_out, summary=summary, task_threshold=task_threshold
        )
        results_options = {"--fail-under": thresholds, "--junit": junit_out, "--summary": summary}
        if not wait_for_end and (needing := [option for option, value in results_options.items() if value]):
            raise UsageError(f"{' and '.join(needing)} need --wait, without which there is no result")
        roles = given_roles(role or [], headers=role_header or [])
        entry = entry_of(
            {"name": name, "options": given_options(option or []), "roles": roles.fields}
            | {**entered, **{name: value for name, value in facts_of_import(plans).items() if not entered[name]}}
            | chosen_planner(
                planner=planner, model=model, checkpoint=checkpoint, chat=chat, chat_model=chat_model,
                strategy=entered["strategy"], plans=plans, agent=agent, roles=roles.fields or (),
            )
            | header_of_options(name=header, variable=header_value_env, remove=entered["remove_header"])
        )  # fmt: skip
        new = NewSubmission(
            planner=entry, suites=suites, team=team, version=planner_version, season=season, own_worker=own_worker,
            deterministic=deterministic, asked_again=parse_share(asked_again), priority=parse_priority(priority),
            **chosen_visibility(visibility=visibility, embargo_until=embargo_until, unless="public"),
        )  # fmt: skip
        with client_of(url=url, patience=patience, needs_token=True) as client:
            remembered = Remembered(file=state_file(), url=url, new=new, key=idempotency_key)
            for file in [checkpoint, *roles.checkpoints] if not remembered.submission else []:
                if file is not None:
                    say(f"uploading {file}")
                    client.upload_checkpoint(file)
            suites_of_site = _suites(client=client, new=new, thresholds=thresholds) if wait_for_end else {}
            submission = _enter(client=client, new=new, remembered=remembered)
            if wait_for_end:
                code = _follow(
                    client=client, submission=submission.id, suites=suites_of_site, timeout=wait_timeout,
                    thresholds=thresholds, reports=reports, remembered=remembered,
                )  # fmt: skip
            else:
                reports.write(submission=submission.id, evaluations=submission.evaluations)
                remembered.forget()
                code = ExitCode.PASSED
    raise typer.Exit(code)


def _suites(*, client: Client, new: NewSubmission, thresholds: Sequence[Threshold]) -> dict[str, SuiteInfo]:
    """The suites of the submission by slug.

    Raises:
        UsageError: a threshold names a metric that none of them has.
    """
    suites = {suite.slug: suite for suite in client.suites() if suite.slug in new.suites}
    wrong = unknown_thresholds(thresholds=thresholds, suites=list(suites.values()))
    if wrong and len(suites) == len(set(new.suites)):
        raise UsageError("; ".join(wrong))
    return suites


def _enter(*, client: Client, new: NewSubmission, remembered: Remembered) -> Submission:
    """The submission of an earlier run of this command, or a new one."""
    if remembered.submission:
        try:
            submission = client.submission(remembered.submission)
        except RefusedError as error:
            # The site no longer has it, for example after a new installation.
            if error.problem.status != HTTPStatus.NOT_FOUND:
                raise
        else:
            say(f"continuing with submission {submission.id}")
            return submission
    remembered.keep()
    say(f"idempotency key {remembered.key}")
    try:
        submission = client.submit(new, key=remembered.key)
    except RefusedError:
        # Nothing was submitted, so there is nothing to continue.
        remembered.forget()
        raise
    remembered.keep(submission=submission.id)
    say(f"{'continuing with' if submission.replayed else 'made'} submission {submission.id}")
    for evaluation in submission.evaluations:
        say(f"{evaluation.suite}: {evaluation.url}")
    return submission


def _follow(
    *,
    client: Client,
    submission: str,
    suites: Suites,
    timeout: float | None,
    thresholds: Sequence[Threshold],
    reports: Reports,
    remembered: Remembered,
) -> ExitCode:
    ended = wait(client=client, submission_id=submission, timeout=timeout, tell=say)
    results = {evaluation.id: list(client.results(evaluation.id)) for evaluation in ended.evaluations}
    keys = {slug: suite.metric_keys for slug, suite in suites.items()}
    verdict = verdict_of(evaluations=ended.evaluations, thresholds=thresholds, metrics=keys)
    causes = {}
    if reports.summary is not None:
        causes = {one.id: client.causes(one.id) for one in ended.evaluations}
    reports.write(
        submission=ended.id, evaluations=ended.evaluations, results=results, verdict=verdict, causes=causes,
        suites=suites,
    )  # fmt: skip
    if not reports.as_json:
        show_all((scores(evaluation, suites=suites) for evaluation in ended.evaluations), console=Console())
    for sentence in verdict.sentences:
        say(sentence)
    say(f"{verdict.code.name.lower().replace('_', ' ')} (exit code {int(verdict.code)})")
    if all(evaluation.final for evaluation in ended.evaluations):
        remembered.forget()
    return verdict.code
