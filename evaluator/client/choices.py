"""Options of a command, parsed and checked together."""

import hashlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, cast, get_args

from pydantic import ValidationError

from evaluator.client.api import TOKEN_VARIABLE, URL_VARIABLE, Client
from evaluator.client.entering import plans_of_file
from evaluator.client.errors import UsageError
from evaluator.client.options import Priority
from evaluator.client.shapes import PlannerEntry, Visibility
from evaluator.client.verdict import Threshold


class VisibilityChoice(TypedDict):
    visibility: Visibility
    embargo_until: datetime | None


def chosen_visibility(*, visibility: str, embargo_until: datetime | None, unless: str) -> VisibilityChoice:
    """Who is to see a submission; `unless` another choice or a date is given."""
    chosen = visibility or ("embargo" if embargo_until else unless)
    known = get_args(Visibility)
    if chosen not in known:
        raise UsageError(f"who sees it is one of {', '.join(known)}, not {chosen!r}")
    until = None if embargo_until is None else embargo_until.replace(tzinfo=UTC)
    return VisibilityChoice(visibility=cast("Visibility", chosen), embargo_until=until)


def entry_of(fields: dict[str, Any]) -> PlannerEntry:
    """A planner of these fields.

    Raises:
        UsageError: one is beyond its limits.
    """
    try:
        return PlannerEntry.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        raise UsageError(f"{'.'.join(str(part) for part in wrong['loc'])}: {wrong['msg']}") from None


def client_of(*, url: str, patience: float, needs_token: bool = False) -> Client:
    client = Client.from_environment({**os.environ, URL_VARIABLE: url}, patience=patience)
    if needs_token and not os.environ.get(TOKEN_VARIABLE, "").strip():
        raise UsageError(f"set {TOKEN_VARIABLE} to a token of yours; make one on the site under API tokens")
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
    return {"kind": "endpoint", "endpoint_url": url}


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
) -> dict[str, Any]:
    """The fields of the one kind of planner that was asked for.

    Raises:
        UsageError: none was, or several, or a strategy is missing or too much.
    """
    options = {
        "--planner": planner, "--model": model, "--checkpoint": checkpoint, "--chat": chat, "--plans": plans,
        "--agent": agent,
    }  # fmt: skip
    given = [option for option, value in options.items() if value]
    if len(given) != 1:
        chosen = " and ".join(given) or "none"
        raise UsageError(f"give one of --planner, --model, --checkpoint, --chat, --plans and --agent, not {chosen}")
    if bool(chat_model) != bool(chat):
        raise UsageError(
            "--chat-model goes with --chat only" if chat_model else "--chat-model is missing beside --chat"
        )
    if plans is not None:
        return {"kind": "plans", "plans": plans_of_file(plans)}
    if bool(strategy) != bool(model or checkpoint or chat):
        wrong = "goes with --model, --checkpoint or --chat only" if strategy else f"is missing beside {given[0]}"
        raise UsageError(f"--strategy {wrong}")
    if agent:
        return {"kind": "agent"}
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
