"""What the commands have in common: exit codes, the client, and what they write."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from evaluator.client.api import TOKEN_VARIABLE, URL_VARIABLE, Client
from evaluator.client.errors import RefusedError, UnreachableError, UsageError
from evaluator.client.reports import document
from evaluator.client.shapes import Evaluation, TaskRow
from evaluator.client.verdict import ExitCode, Verdict

_TOO_MANY_REQUESTS = 429
STDOUT = Path("-")


@contextmanager
def exit_codes() -> Iterator[None]:
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
    say(text)
    return typer.Exit(code)


def say(text: str) -> None:
    """Write sentences for people, to standard error."""
    for line in text.splitlines():
        sys.stderr.write(f"planarena: {line}\n")
    sys.stderr.flush()


def client_of(*, url: str, patience: float, needs_token: bool = False) -> Client:
    """A client of the site, with the token of the environment.

    Raises:
        UsageError: the address or a token that is needed is missing.
    """
    client = Client.from_environment({**os.environ, URL_VARIABLE: url}, patience=patience)
    if needs_token and not os.environ.get(TOKEN_VARIABLE, "").strip():
        raise UsageError(f"set {TOKEN_VARIABLE} to a token of yours; make one on the site under API tokens")
    return client


def write_json(
    path: Path | None,
    *,
    submission: str,
    evaluations: Sequence[Evaluation],
    results: dict[str, list[TaskRow]] | None = None,
    verdict: Verdict | None = None,
) -> None:
    """Write what is known of evaluations to a file, if one was named.

    Raises:
        UsageError: it cannot be written.
    """
    if path is not None:
        found = document(submission=submission, evaluations=evaluations, results=results or {}, verdict=verdict)
        write_text(path, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file, or print it.

    Raises:
        UsageError: it cannot be written.
    """
    if path == STDOUT:
        sys.stdout.write(text)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}") from None
