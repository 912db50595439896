"""Output of the commands of the client, and the exit codes of their errors."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import typer

from evaluator.client.errors import RefusedError, UnreachableError, UsageError
from evaluator.client.reports import document, junit, markdown
from evaluator.client.shapes import TABLE_FORMS, Evaluation, TableForm, TaskRow
from evaluator.client.verdict import Verdict
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import printable
from evaluator.core.process import as_printable_json


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
        status = error.problem.status
        # Of 5xx only jobs that failed: a call that is answered so is tried again.
        busy = status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        code = ExitCode.INFRASTRUCTURE if busy else ExitCode.BAD_USAGE
        raise _failed(f"{error} (HTTP {status})", code=code) from None
    except KeyboardInterrupt:
        text = "interrupted; the evaluations go on. Run the same command again to follow them."
        raise _failed(text, code=ExitCode.INTERRUPTED) from None


def _failed(text: str, *, code: ExitCode) -> typer.Exit:
    say(text)
    return typer.Exit(code)


def say(text: str) -> None:
    for line in text.splitlines():
        sys.stderr.write(f"planarena: {printable(line)}\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The reports that a command was asked for.

    Raises:
        UsageError: an option is of no use without another.
    """

    as_json: bool
    """Print JSON on standard output."""
    output: Path | None
    """Write the JSON to this file."""
    junit: Path | None = None
    summary: Path | None = None
    """Append Markdown to this file."""
    task_threshold: float | None = None

    def __post_init__(self) -> None:
        if self.task_threshold is not None and self.junit is None:
            raise UsageError("--task-threshold needs --junit: only that report marks tasks")

    def write(
        self,
        *,
        submission: str,
        evaluations: Sequence[Evaluation],
        results: Mapping[str, Sequence[TaskRow]] = MappingProxyType({}),
        verdict: Verdict | None = None,
    ) -> None:
        """Print and write them.

        Raises:
            UsageError: a file cannot be written.
        """
        if self.as_json or self.output is not None:
            found = document(submission=submission, evaluations=evaluations, results=results, verdict=verdict)
            write_json(found, printed=self.as_json, file=self.output)
        if self.junit is not None:
            checks = verdict.checks if verdict is not None else ()
            threshold = self.task_threshold
            report = junit(evaluations=evaluations, results=results, checks=checks, task_threshold=threshold)
            _write(self.junit, report)
        if self.summary is not None:
            _write(self.summary, markdown(evaluations=evaluations, results=results, verdict=verdict), mode="a")


def write_json(found: Mapping[str, Any], *, printed: bool, file: Path | None) -> None:
    """Write and print what `OutputFile` and `JsonFlag` ask for; the file comes first.

    Raises:
        UsageError: the file cannot be written.
    """
    text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    if file is not None:
        _write(file, text)
    if printed:
        sys.stdout.write(as_printable_json(text))


def table_form(file: Path | None) -> TableForm | None:
    """The form of a table of results that the name of a file asks for; None: it asks for none."""
    return next((form for form in TABLE_FORMS if file is not None and file.suffix.lower() == f".{form}"), None)


def only_one(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The evaluation of a table.

    Raises:
        UsageError: there are several.
    """
    if len(evaluations) > 1:
        ids = ", ".join(f"{one.id[:8]} ({one.suite})" for one in evaluations)
        raise UsageError(f"a table holds the tasks of one evaluation; give the id of one: {ids}")
    return evaluations[0]


def write_file(path: Path, data: bytes) -> None:
    """Write a file, in a folder that is made if it is missing.

    Raises:
        UsageError: it cannot be written.
    """
    _write(path, data, mode="w")


def _write(path: Path, text: str | bytes, *, mode: Literal["w", "a"] = "w") -> None:
    data = text.encode() if isinstance(text, str) else text
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb" if mode == "w" else "ab") as opened:
            opened.write(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}") from None
