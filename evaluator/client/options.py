"""Options of the client's commands, and their parsers."""

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast, get_args

import typer
from pydantic import ValidationError

from evaluator.client.api import TOKEN_VARIABLE, URL_VARIABLE, Client
from evaluator.client.errors import UsageError
from evaluator.client.shapes import PlannerEntry, Visibility
from evaluator.client.verdict import Threshold
from evaluator.core.commands.options import writable

A2A = "a2a:"
"""Before the address of an A2A agent, where commands take the URL of an endpoint."""
_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
CALLS = "With --chat or the URL of an endpoint"
_VISIBILITY = "Visibility"
_REPORTS = "Reports"

Priority = Literal["low", "normal", "high"]
Share = Literal["tenth", "half", "all"]

UrlOption = Annotated[str, typer.Option("--url", metavar="URL", envvar=URL_VARIABLE, help="The site's address.")]
PatienceOption = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="How long to retry a site that cannot be reached."),
]
HeaderOption = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="A header that the endpoint requires, such as Authorization.", rich_help_panel=CALLS
    ),
]
HeaderVariableOption = Annotated[
    str,
    typer.Option(
        metavar="VAR",
        help="Environment variable with its value; the site encrypts it.",
        rich_help_panel=CALLS,
    ),
]
VisibilityOption = Annotated[
    str,
    typer.Option(
        metavar="public|embargo|private", help="Visibility; default: public, or embargo with a date.",
        rich_help_panel=_VISIBILITY,
    ),
]  # fmt: skip
EmbargoOption = Annotated[
    datetime | None,
    typer.Option(
        metavar="DATE", formats=_MOMENTS, help="End of the embargo, in UTC; then it is public and ranked.",
        rich_help_panel=_VISIBILITY,
    ),
]  # fmt: skip
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a submission or an evaluation, or its first characters.")
]
JunitFile = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="Write a JUnit report to FILE.", callback=writable, rich_help_panel=_REPORTS
    ),
]
TaskThreshold = Annotated[
    float | None,
    typer.Option(
        "--task-threshold", metavar="NUMBER", help="With --junit: tasks below this score fail.",
        rich_help_panel=_REPORTS,
    ),
]  # fmt: skip
SummaryFile = Annotated[
    Path | None,
    typer.Option(
        "--summary", metavar="FILE", help="Append a summary in Markdown to FILE, such as $GITHUB_STEP_SUMMARY.",
        callback=writable, rich_help_panel=_REPORTS,
    ),
]  # fmt: skip
ResultsFile = Annotated[
    Path | None,
    typer.Option(
        "--output", metavar="FILE",
        help="Write the JSON to FILE; with the extension .csv or .parquet, a table of one evaluation's tasks.",
        callback=writable,
    ),
]  # fmt: skip


def plans_of_file(file: Path) -> dict[str, Any]:
    """The plans of a file, or the imported run that it is, as the API accepts them.

    Raises:
        UsageError: the file cannot be read, or is no plans file; the message names line and column.
    """
    # Imported when needed, since loading the parsers of plans takes longer than most commands.
    from evaluator.core.plans_file import PlansFileError, read_plans
    from evaluator.interop.imports.run import RunError, import_in

    try:
        data = file.read_bytes()
        if import_in(data) is not None:
            document: dict[str, Any] = json.loads(data)
            return {name: document[name] for name in ("version", "suite", "source", "plans", "usage")}
        plans = read_plans(data).plans
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    except (PlansFileError, RunError) as error:
        raise UsageError(f"{file}: {error}") from None
    # Always wrapped: a plan may itself be an object with the key "plan".
    return {task: {"plan": entry.plan, "alternatives": list(entry.alternatives)} for task, entry in plans.items()}


def facts_of_import(file: Path | None) -> dict[str, Any]:
    """Description and model of a planner whose plans are a document of `planarena import`; nothing for other files."""
    from evaluator.interop.imports.run import LABEL, RunError, import_in

    try:
        imported = None if file is None else import_in(file.read_bytes())
    except (OSError, RunError):
        # `plans_of_file` says what is wrong.
        return {}
    if imported is None:
        return {}
    source = imported.source
    said = ", ".join(str(source[name]) for name in ("format", "producer", "run") if source.get(name))
    return {"description": f"{LABEL[0].upper()}{LABEL[1:]} ({said}).", "model_name": str(source.get("model") or "")}


def header_of_options(
    *,
    name: str,
    variable: str,
    remove: bool = False,
    environment: Mapping[str, str] = os.environ,
    option: str = "--header-value-env",
) -> dict[str, Any]:
    """The fields of the secret header. Its value comes from a variable, since command lines are visible to other users
    and stored in the shell's history.

    Raises:
        UsageError: an option or the variable is missing.
    """
    if remove:
        if name or variable:
            raise UsageError("--remove-header cannot be combined with --header and --header-value-env")
        return {"remove_header": True}
    if variable and not name:
        raise UsageError("--header-value-env needs --header NAME")
    if variable and not environment.get(variable, ""):
        raise UsageError(f"{option}: the variable {variable} is not set")
    return {"header_name": name, "header_value": environment[variable] if variable else ""}


class VisibilityChoice(TypedDict):
    visibility: Visibility
    embargo_until: datetime | None


def chosen_visibility(*, visibility: str, embargo_until: datetime | None, unless: str) -> VisibilityChoice:
    """The visibility of a submission.

    Args:
        unless: the default without a date.

    Raises:
        UsageError: there is no such visibility.
    """
    chosen = visibility or ("embargo" if embargo_until else unless)
    known = get_args(Visibility)
    if chosen not in known:
        raise UsageError(f"--visibility is one of {', '.join(known)}, not {chosen!r}")
    until = None if embargo_until is None else embargo_until.replace(tzinfo=UTC)
    return VisibilityChoice(visibility=cast("Visibility", chosen), embargo_until=until)


def entry_of(fields: dict[str, Any]) -> PlannerEntry:
    """A planner with these fields.

    Raises:
        UsageError: a value is invalid.
    """
    try:
        return PlannerEntry.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        raise UsageError(f"{'.'.join(str(part) for part in wrong['loc'])}: {wrong['msg']}") from None


def client_of(*, url: str, patience: float, needs_token: bool = False) -> Client:
    client = Client.from_environment({**os.environ, URL_VARIABLE: url}, patience=patience)
    if needs_token and not os.environ.get(TOKEN_VARIABLE, "").strip():
        raise UsageError(f"set {TOKEN_VARIABLE} to one of your tokens; create one on the site under API tokens")
    return client


def parse_thresholds(texts: Sequence[str]) -> list[Threshold]:
    try:
        return [Threshold.parse(text) for text in texts]
    except ValueError as error:
        raise UsageError(str(error)) from None


def parse_priority(text: str) -> Priority:
    if text not in get_args(Priority):
        raise UsageError(f"--priority is low, normal or high, not {text!r}")
    return cast(Priority, text)


def parse_share(text: str) -> Share:
    if text not in get_args(Share):
        raise UsageError(f"--asked-again is tenth, half or all, not {text!r}")
    return cast(Share, text)


def called_planner(*, url: str, chat_model: str, strategy: str) -> dict[str, Any]:
    """The fields of an endpoint, or of a chat endpoint if a model is given.

    Raises:
        UsageError: only one of model and strategy is given.
    """
    if bool(chat_model) != bool(strategy):
        raise UsageError(
            f"give --chat-model and --strategy together: {'--strategy' if chat_model else '--chat-model'} is missing"
        )
    if chat_model:
        return {"kind": "chat", "endpoint_url": url, "model_id": chat_model, "strategy": strategy}
    return _of_address(url)


def given_options(texts: Sequence[str]) -> dict[str, Any] | None:
    """The options of a strategy, of `NAME=VALUE`; the site checks them.

    Raises:
        UsageError: a text has another form, or an option comes twice.
    """
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or name in options:
            raise UsageError(f"--option is NAME=VALUE, once for each option, not {text!r}")
        options[name] = value
    return options or None


_CALLED = frozenset({"chat", "endpoint"})
"""Kinds of models at an address, which may need a secret header."""


@dataclass(frozen=True, slots=True)
class GivenRoles:
    """Models of a strategy's roles."""

    fields: dict[str, dict[str, Any]] | None
    """As the API accepts them."""
    checkpoints: Sequence[Path] = ()
    """Checkpoints to upload."""


def given_roles(
    texts: Sequence[str], *, headers: Sequence[str] = (), environment: Mapping[str, str] = os.environ
) -> GivenRoles:
    """The models of `ROLE=MODEL`: `chat:URL#MODEL`, `endpoint:URL`, `hf:ORG/NAME[@REVISION]`, a checkpoint `FILE.zip`,
    or the name of a bundled model.

    Args:
        texts: the models.
        headers: `ROLE=NAME:VARIABLE`, secret headers of endpoints.
        environment: has the variables with the headers' values.

    Raises:
        UsageError: a text has another form, a role comes twice, or a variable or file is missing.
    """
    fields: dict[str, dict[str, Any]] = {}
    checkpoints: list[Path] = []
    for text in texts:
        role, equals, model = text.partition("=")
        if not role or not equals or not model or role in fields:
            raise UsageError(f"--role is ROLE=MODEL, once for each role, not {text!r}")
        kind, _, place = model.partition(":")
        if kind == "chat" and place:
            url, _, name = place.partition("#")
            if not url or not name:
                raise UsageError(f"--role {role}: a chat endpoint is chat:URL#MODEL, as in chat:https://host/v1#gpt-4o")
            fields[role] = {"kind": "chat", "endpoint_url": url, "model_id": name}
        elif kind == "endpoint" and place:
            fields[role] = {"kind": "endpoint", "endpoint_url": place}
        elif kind == "hf" and place:
            model_id, _, revision = place.partition("@")
            fields[role] = {"kind": "hub", "model_id": model_id, "revision": revision}
        elif model.endswith(".zip"):
            checkpoints.append(Path(model))
            fields[role] = {"kind": "checkpoint", "checkpoint_digest": _digest(Path(model))}
        else:
            fields[role] = {"kind": "bundled", "model_id": model}
    for text in headers:
        role, _, header = text.partition("=")
        name, _, variable = header.partition(":")
        if role not in fields or fields[role]["kind"] not in _CALLED or not name or not variable:
            raise UsageError(f"--role-header is ROLE=NAME:VARIABLE of a role with an endpoint, not {text!r}")
        fields[role] |= header_of_options(name=name, variable=variable, environment=environment, option="--role-header")
    return GivenRoles(fields or None, checkpoints)


def chosen_planner(
    *,
    planner: str,
    model: str,
    checkpoint: Path | None,
    chat: str,
    chat_model: str,
    strategy: str,
    plans: Path | None,
    agent: bool = False,
    roles: Collection[str] = (),
) -> dict[str, Any]:
    """The fields of the chosen kind of planner. A strategy whose `roles` have models needs no other one.

    Raises:
        UsageError: not exactly one kind is chosen, or its options are missing or those of another kind.
    """
    options = {
        "--planner": planner, "--model": model, "--checkpoint": checkpoint, "--chat": chat, "--plans": plans,
        "--agent": agent,
    }  # fmt: skip
    given = [option for option, value in options.items() if value]
    if not given and strategy and roles:
        return {"kind": "roles", "strategy": strategy}
    if not given and strategy:
        raise UsageError("--strategy needs --model, --checkpoint, --chat or a --role for each role")
    if len(given) != 1:
        chosen = " and ".join(given) or "none"
        raise UsageError(f"give one of --planner, --model, --checkpoint, --chat, --plans and --agent, not {chosen}")
    if bool(chat_model) != bool(chat):
        raise UsageError("--chat-model needs --chat" if chat_model else "--chat needs --chat-model")
    if plans is not None:
        return {"kind": "plans", "plans": plans_of_file(plans)}
    if bool(strategy) != bool(model or checkpoint or chat):
        needs = (
            "--strategy needs --model, --checkpoint, --chat or a --role for each role"
            if strategy
            else f"{given[0]} needs --strategy"
        )
        raise UsageError(needs)
    if agent:
        return {"kind": "agent"}
    if checkpoint is not None:
        return {"kind": "checkpoint", "checkpoint_digest": _digest(checkpoint), "strategy": strategy}
    if chat:
        return {"kind": "chat", "endpoint_url": chat, "model_id": chat_model, "strategy": strategy}
    if model:
        model_id, _, revision = model.partition("@")
        return {"kind": "hub", "model_id": model_id, "revision": revision, "strategy": strategy}
    if planner.startswith(("http://", "https://", A2A)):
        return _of_address(planner)
    return {"kind": "bundled", "bundled_name": planner}


def _of_address(address: str) -> dict[str, Any]:
    if address.startswith(A2A):
        return {"kind": "a2a", "endpoint_url": address.removeprefix(A2A)}
    return {"kind": "endpoint", "endpoint_url": address}


def _digest(file: Path) -> str:
    """The digest by which the site names the file. With it, a repeated command continues without sending the file."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
