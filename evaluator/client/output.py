"""Output of the commands of the client, and the exit codes of their errors."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import typer

from evaluator.client.errors import RefusedError, UnreachableError, UsageError
from evaluator.client.reports import document
from evaluator.client.shapes import Evaluation, TaskRow
from evaluator.client.verdict import ExitCode, Verdict

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
        busy = error.problem.status == HTTPStatus.TOO_MANY_REQUESTS
        code = ExitCode.INFRASTRUCTURE if busy else ExitCode.BAD_USAGE
        raise _failed(f"{error} (HTTP {error.problem.status})", code=code) from None
    except KeyboardInterrupt:
        text = "interrupted; the evaluations go on. Run the same command again to follow them."
        raise _failed(text, code=ExitCode.INFRASTRUCTURE) from None


def _failed(text: str, *, code: ExitCode) -> typer.Exit:
    say(text)
    return typer.Exit(code)


def say(text: str) -> None:
    for line in text.splitlines():
        sys.stderr.write(f"planarena: {line}\n")
    sys.stderr.flush()


def write_json(
    path: Path | None,
    *,
    submission: str,
    evaluations: Sequence[Evaluation],
    results: dict[str, list[TaskRow]] | None = None,
    verdict: Verdict | None = None,
) -> None:
    if path is not None:
        found = document(submission=submission, evaluations=evaluations, results=results or {}, verdict=verdict)
        write_text(path, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    if path == STDOUT:
        sys.stdout.write(text)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}") from None
