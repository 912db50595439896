"""The commands `planarena submit|status|cancel|results`: a site from a pipeline. Exit codes: `verdict.ExitCode`."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast, get_args

import typer

from evaluator.client.api import TOKEN_VARIABLE, URL_VARIABLE, Client
from evaluator.client.entering import header_of_options, plans_of_file
from evaluator.client.errors import RefusedError, UnreachableError, UsageError
from evaluator.client.remembered import Remembered, state_file
from evaluator.client.reports import document, junit
from evaluator.client.shapes import Evaluation, NewSubmission, PlannerEntry, Submission, SuiteInfo, TaskRow, Visibility
from evaluator.client.verdict import ExitCode, Threshold, Verdict, unknown_thresholds, verdict_of
from evaluator.client.verify.command import verify
from evaluator.client.waiting import progress, wait

_NOT_FOUND, _TOO_MANY_REQUESTS = 404, 429
_STDOUT = Path("-")
_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]

UrlOption = Annotated[str, typer.Option("--url", envvar=URL_VARIABLE, help="The site's address.")]
PatienceOption = Annotated[
    float, typer.Option(min=0, help="Seconds for which a site that cannot be reached is tried again.")
]
HeaderOption = Annotated[
    str, typer.Option(metavar="NAME", help="A header that the endpoint asks for, such as Authorization.")
]
HeaderVariableOption = Annotated[
    str, typer.Option(metavar="VAR", help="The variable that has its value; the site keeps it encrypted.")
]
_Priority = Literal["low", "normal", "high"]
VisibilityOption = Annotated[
    str, typer.Option(metavar="public|embargo|private", help="Who sees it; default: public, or embargo with a date.")
]
EmbargoOption = Annotated[
    datetime | None, typer.Option(formats=_MOMENTS, help="When the embargo ends, in UTC: it is then public and ranked.")
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write everything to FILE as JSON; - prints it instead.")
]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Of a submission or of one evaluation.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """What `submit` was asked for, besides the submission."""

    wait: bool
    timeout: float | None
    thresholds: Sequence[Threshold]
    junit: Path | None
    json: Path | None


def submit(
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
    strategy: Annotated[
        str, typer.Option(help="What asks the language model of --model, --checkpoint or --chat.")
    ] = "",
    plans: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plans of a suite that judges plans, as JSON or JSON lines.")
    ] = None,
    header: HeaderOption = "",
    header_value_env: HeaderVariableOption = "",
    remove_header: Annotated[
        bool, typer.Option("--remove-header", help="Forget the secret header that the site keeps for this planner.")
    ] = False,
    priority: Annotated[str, typer.Option(help="Among your own evaluations: low, normal or high.")] = "normal",
    url: UrlOption = "",
    team: Annotated[str, typer.Option(help="Slug of a team of yours that it is for.")] = "",
    own_worker: Annotated[
        bool, typer.Option("--own-worker", help="Only your own workers evaluate it; it is not ranked.")
    ] = False,
    visibility: VisibilityOption = "",
    embargo_until: EmbargoOption = None,
    timeout: Annotated[int, typer.Option(min=1, max=300, help="Seconds an endpoint has for one answer.")] = 30,
    description: Annotated[str, typer.Option(help="Stands on the planner's pages.")] = "",
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
    junit_out: Annotated[Path | None, typer.Option("--junit", help="With --wait: write a JUnit report here.")] = None,
    json_out: JsonOption = None,
    idempotency_key: Annotated[
        str, typer.Option(help="Your own name of this submission, such as the build's number. Default: made once.")
    ] = "",
    patience: PatienceOption = 600.0,
) -> None:
    """Submit a planner, and with --wait follow it to its end.

    The same command, run again after a lost connection, goes on with the same submission. The token stands in
    PLANARENA_TOKEN. Exit codes: 0 passed, 1 below a threshold, 2 bad usage, 3 fault of the planner, 4 infrastructure.
    """
    with _exit_codes():
        ask = _Ask(
            wait=wait_for_end, timeout=wait_timeout, thresholds=_thresholds(fail_under or []), junit=junit_out,
            json=json_out,
        )  # fmt: skip
        _check_usage(ask)
        new = NewSubmission(
            planner=PlannerEntry.model_validate(
                {"name": name, "timeout_seconds": timeout, "description": description}
                | _chosen(
                    planner=planner, model=model, checkpoint=checkpoint, chat=chat, chat_model=chat_model,
                    strategy=strategy, plans=plans,
                )
                | header_of_options(name=header, variable=header_value_env, remove=remove_header)
            ),
            suites=suites, team=team, own_worker=own_worker, priority=_priority(priority),
            **_seen(visibility=visibility, embargo_until=embargo_until, unless="public"),
        )  # fmt: skip
        with _client(url=url, patience=patience, needs_token=True) as client:
            remembered = Remembered(file=state_file(), url=url, new=new, key=idempotency_key)
            if checkpoint is not None and not remembered.submission:
                _upload(client=client, file=checkpoint)
            code = _submitted(client=client, new=new, remembered=remembered, ask=ask)
    raise typer.Exit(code)


def _submitted(*, client: Client, new: NewSubmission, remembered: Remembered, ask: _Ask) -> ExitCode:
    """Submit or go on, wait if that is wanted, report, and say how it ended."""
    suites = _suites(client=client, new=new, thresholds=ask.thresholds)
    made = _enter(client=client, new=new, remembered=remembered)
    if not ask.wait:
        _write_json(ask.json, submission=made.id, evaluations=made.evaluations)
        remembered.forget()
        return ExitCode.PASSED
    ended = wait(client=client, submission_id=made.id, timeout=ask.timeout, tell=_say)
    results = {evaluation.id: list(client.results(evaluation.id)) for evaluation in ended.evaluations}
    keys = {suite.slug: suite.metric_keys for suite in suites}
    verdict = verdict_of(evaluations=ended.evaluations, thresholds=ask.thresholds, metrics=keys)
    _write_json(ask.json, submission=ended.id, evaluations=ended.evaluations, results=results, verdict=verdict)
    if ask.junit is not None:
        _write(ask.junit, junit(evaluations=ended.evaluations, results=results, checks=verdict.checks))
    _tell_verdict(verdict=verdict, evaluations=[] if ask.json == _STDOUT else ended.evaluations)
    if all(evaluation.final for evaluation in ended.evaluations):
        remembered.forget()
    return verdict.code


def _enter(*, client: Client, new: NewSubmission, remembered: Remembered) -> Submission:
    if remembered.submission and (found := _found(client=client, submission_id=remembered.submission)):
        _say(f"going on with submission {found.id}")
        return found
    remembered.keep()
    _say(f"idempotency key {remembered.key}")
    try:
        made = client.submit(new, key=remembered.key)
    except RefusedError:
        # Nothing was submitted, so there is nothing to go on with.
        remembered.forget()
        raise
    remembered.keep(submission=made.id)
    _say(f"{'going on with' if made.replayed else 'made'} submission {made.id}")
    for evaluation in made.evaluations:
        _say(f"{evaluation.suite}: {evaluation.url}")
    return made


def _found(*, client: Client, submission_id: str) -> Submission | None:
    """A submission; None if the site does not know it any more, as after it was set up anew."""
    try:
        return client.submission(submission_id)
    except RefusedError as error:
        if error.problem.status != _NOT_FOUND:
            raise
    return None


def status(
    any_id: IdArgument, url: UrlOption = "", json_out: JsonOption = None, patience: PatienceOption = 30.0
) -> None:
    """Print the state of evaluations.

    Exit code 0 if they have completed or are under way, 3 if one failed by the planner's fault, 4 if by another.
    """
    with _exit_codes(), _client(url=url, patience=patience) as client:
        found = client.find(any_id)
        for evaluation in found if json_out != _STDOUT else ():
            sys.stdout.write(progress(evaluation) + "\n")
        _write_json(json_out, submission=found[0].submission, evaluations=found)
        resting = [evaluation for evaluation in found if evaluation.rests]
        code = verdict_of(evaluations=resting, thresholds=[], metrics={}).code
    raise typer.Exit(code)


def cancel(any_id: IdArgument, url: UrlOption = "", patience: PatienceOption = 30.0) -> None:
    """Cancel evaluations. Finished ones do not change."""
    with _exit_codes(), _client(url=url, patience=patience, needs_token=True) as client:
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
    """Print suite, key, outcome and score of every task, separated by tabs."""
    with _exit_codes(), _client(url=url, patience=patience) as client:
        found = client.find(any_id)
        rows = {evaluation.id: list(client.results(evaluation.id)) for evaluation in found}
        for evaluation in found if json_out != _STDOUT else ():
            for row in rows[evaluation.id]:
                score = "" if row.score is None else f"{row.score:.4f}"
                sys.stdout.write(f"{evaluation.suite}\t{row.task}\t{row.outcome}\t{score}\n")
        _write_json(json_out, submission=found[0].submission, evaluations=found, results=rows)
        if junit_out is not None:
            _write(junit_out, junit(evaluations=found, results=rows, checks=[]))


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
    with _exit_codes(), _client(url=url, patience=patience, needs_token=True) as client:
        entry = PlannerEntry.model_validate(
            {"name": "test", "kind": "endpoint", "endpoint_url": endpoint, "timeout_seconds": timeout}
            | header_of_options(name=header, variable=header_value_env)
        )
        found = client.try_endpoint(entry, suite=suite)
        status_told = "no answer" if found.status is None else f"HTTP {found.status}"
        sys.stdout.write(f"{found.suite} {found.task}\t{status_told}\t{found.seconds:.2f} s\n{found.answer}\n")
        for sentence in (found.problem, *found.problems):
            if sentence:
                _say(sentence)
        if found.example is not None:
            _say(f"a plan looks like this, which does not answer the request: {json.dumps(found.example)}")
        _say("the answer is good" if found.passed else "the answer would not count as a good plan")
    raise typer.Exit(ExitCode.PASSED if found.passed else ExitCode.PLANNER_FAULT)


def visibility(
    submission_id: Annotated[str, typer.Argument(metavar="ID", help="Of a submission.")],
    visibility: Annotated[str, typer.Argument(metavar="public|embargo|private", help="Who sees it from now on.")] = "",
    embargo_until: EmbargoOption = None,
    url: UrlOption = "",
    patience: PatienceOption = 30.0,
) -> None:
    """Set who can see a submission. Published snapshots of boards stay public."""
    with _exit_codes(), _client(url=url, patience=patience, needs_token=True) as client:
        chosen = _seen(visibility=visibility, embargo_until=embargo_until, unless="")
        after = client.set_visibility(submission_id, **chosen)
        until = "" if after.embargo_until is None else f" until {after.embargo_until:%Y-%m-%d %H:%M} UTC"
        sys.stdout.write(f"{after.id}\t{after.visibility}{until}\n")


COMMANDS: Sequence[Callable[..., None]] = (submit, status, cancel, results, visibility, try_endpoint, verify)


class _Seen(TypedDict):
    visibility: Visibility
    embargo_until: datetime | None


def _seen(*, visibility: str, embargo_until: datetime | None, unless: str) -> _Seen:
    """Who is to see a submission; `unless` another choice or a date is given."""
    chosen = visibility or ("embargo" if embargo_until else unless)
    known = get_args(Visibility)
    if chosen not in known:
        raise UsageError(f"who sees it is one of {', '.join(known)}, not {chosen!r}")
    until = None if embargo_until is None else embargo_until.replace(tzinfo=UTC)
    return _Seen(visibility=cast("Visibility", chosen), embargo_until=until)


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Every way in which a call fails, as a sentence and an exit code."""
    try:
        yield
    except UsageError as error:
        raise _failed(str(error), code=ExitCode.BAD_USAGE) from None
    except UnreachableError as error:
        text = f"{error}. Run the same command again to go on."
        raise _failed(text, code=ExitCode.INFRASTRUCTURE) from None
    except RefusedError as error:
        busy = error.problem.status == _TOO_MANY_REQUESTS
        code = ExitCode.INFRASTRUCTURE if busy else ExitCode.BAD_USAGE
        raise _failed(f"{error} (HTTP {error.problem.status})", code=code) from None
    except KeyboardInterrupt:
        text = "interrupted; the evaluations go on. Run the same command again to follow them."
        raise _failed(text, code=ExitCode.INFRASTRUCTURE) from None


def _failed(text: str, *, code: ExitCode) -> typer.Exit:
    _say(text)
    return typer.Exit(code)


def _say(text: str) -> None:
    for line in text.splitlines():
        sys.stderr.write(f"planarena: {line}\n")
    sys.stderr.flush()


def _client(*, url: str, patience: float, needs_token: bool = False) -> Client:
    client = Client.from_environment({**os.environ, URL_VARIABLE: url}, patience=patience)
    if needs_token and not os.environ.get(TOKEN_VARIABLE, "").strip():
        raise UsageError(f"set {TOKEN_VARIABLE} to a token of yours; make one on the site under API tokens")
    return client


def _thresholds(texts: Sequence[str]) -> list[Threshold]:
    try:
        return [Threshold.parse(text) for text in texts]
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check_usage(ask: _Ask) -> None:
    needing = [name for name, given in (("--fail-under", ask.thresholds), ("--junit", ask.junit)) if given]
    if needing and not ask.wait:
        raise UsageError(f"{' and '.join(needing)} need --wait: without it there is no result yet")


def _priority(text: str) -> _Priority:
    if text not in get_args(_Priority):
        raise UsageError(f"--priority is low, normal or high, not {text!r}")
    return cast(_Priority, text)


def _chosen(
    *,
    planner: str,
    model: str,
    checkpoint: Path | None,
    chat: str,
    chat_model: str,
    strategy: str,
    plans: Path | None,
) -> dict[str, Any]:
    """The fields of the one kind of planner that was asked for.

    Raises:
        UsageError: none was, or several, or a strategy is missing or too much.
    """
    options = {"--planner": planner, "--model": model, "--checkpoint": checkpoint, "--chat": chat, "--plans": plans}
    given = [option for option, value in options.items() if value]
    if len(given) != 1:
        chosen = " and ".join(given) or "none"
        raise UsageError(f"give one of --planner, --model, --checkpoint, --chat and --plans, not {chosen}")
    if bool(chat_model) != bool(chat):
        raise UsageError(
            "--chat-model goes with --chat only" if chat_model else "--chat-model is missing beside --chat"
        )
    if plans is not None:
        return {"kind": "plans", "plans": plans_of_file(plans)}
    if bool(strategy) != bool(model or checkpoint or chat):
        wrong = "goes with --model, --checkpoint or --chat only" if strategy else f"is missing beside {given[0]}"
        raise UsageError(f"--strategy {wrong}")
    if checkpoint is not None:
        return {"kind": "checkpoint", "checkpoint_digest": _digest(checkpoint), "strategy": strategy}
    if chat:
        return {"kind": "chat", "endpoint_url": chat, "model_id": chat_model, "strategy": strategy}
    if model:
        model_id, _, revision = model.partition("@")
        return {"kind": "hub", "model_id": model_id, "revision": revision, "strategy": strategy}
    if planner.startswith(("http://", "https://")):
        return {"kind": "endpoint", "endpoint_url": planner}
    return {"kind": "bundled", "bundled_name": planner}


def _digest(file: Path) -> str:
    """What the site will call the file: computed here, so that what was submitted is found again without sending it."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error}") from None


def _upload(*, client: Client, file: Path) -> None:
    _say(f"uploading {file}")
    client.upload_checkpoint(file)


def _suites(*, client: Client, new: NewSubmission, thresholds: Sequence[Threshold]) -> list[SuiteInfo]:
    """The suites of the submission, if every threshold can be checked on them."""
    if not thresholds:
        return []
    suites = [suite for suite in client.suites() if suite.slug in new.suites]
    if len(suites) == len(set(new.suites)) and (wrong := unknown_thresholds(thresholds=thresholds, suites=suites)):
        raise UsageError("; ".join(wrong))
    return suites


def _tell_verdict(*, verdict: Verdict, evaluations: Sequence[Evaluation]) -> None:
    for sentence in verdict.sentences:
        _say(sentence)
    for evaluation in evaluations:
        for key, measured in (evaluation.summary.metrics if evaluation.summary else {}).items():
            if measured is not None:
                sys.stdout.write(f"{evaluation.suite}\t{key}\t{measured.mean:.4f}\n")
    _say(f"{verdict.code.name.lower().replace('_', ' ')} (exit code {int(verdict.code)})")


def _write_json(
    path: Path | None,
    *,
    submission: str,
    evaluations: Sequence[Evaluation],
    results: dict[str, list[TaskRow]] | None = None,
    verdict: Verdict | None = None,
) -> None:
    if path is not None:
        found = document(submission=submission, evaluations=evaluations, results=results or {}, verdict=verdict)
        _write(path, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    if path == _STDOUT:
        sys.stdout.write(text)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}") from None
