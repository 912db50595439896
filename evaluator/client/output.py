"""Output of the client's commands, and the exit codes of their errors."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import typer

from evaluator.client.errors import RefusedError, UnreachableError, UsageError
from evaluator.client.reports import document, junit, markdown
from evaluator.client.shapes import TABLE_FORMS, Causes, Evaluation, TableForm, TaskRow
from evaluator.client.tables import Suites
from evaluator.client.verdict import Verdict
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.listing import printable
from evaluator.core.process import as_printable_json
from evaluator.network.transient import is_transient


@contextmanager
def exit_codes() -> Iterator[None]:
    """Print errors of calls as sentences, and exit with their codes."""
    try:
        yield
    except UsageError as error:
        raise _failed(str(error), code=ExitCode.BAD_USAGE) from None
    except UnreachableError as error:
        end = "" if str(error).endswith((".", "?")) else "."
        text = f"{error}{end} Run the same command again to continue."
        raise _failed(text, code=ExitCode.INFRASTRUCTURE) from None
    except RefusedError as error:
        status = error.problem.status
        # A status of 5xx is that of a failed job, since calls with such an answer are retried.
        busy = is_transient(status, conflicts_are_answers=True)
        code = ExitCode.INFRASTRUCTURE if busy else ExitCode.BAD_USAGE
        request = f", request id {error.problem.request_id}" if error.problem.request_id else ""
        raise _failed(f"{error} (HTTP {status}{request})", code=code) from None
    except KeyboardInterrupt:
        text = "interrupted; the evaluations continue. Run the same command again to follow them."
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
    """The reports that a command writes.

    Raises:
        UsageError: `task_threshold` without `junit`.
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
            raise UsageError("--task-threshold needs --junit, the only report that marks tasks")

    def write(
        self,
        *,
        submission: str,
        evaluations: Sequence[Evaluation],
        results: Mapping[str, Sequence[TaskRow]] = MappingProxyType({}),
        verdict: Verdict | None = None,
        causes: Mapping[str, Causes] = MappingProxyType({}),
        suites: Suites = MappingProxyType({}),
    ) -> None:
        """Print and write them.

        Raises:
            UsageError: a file cannot be written.
        """
        if self.as_json or self.output is not None:
            content = document(submission=submission, evaluations=evaluations, results=results, verdict=verdict)
            write_json(content, printed=self.as_json, file=self.output)
        if self.junit is not None:
            checks = verdict.checks if verdict is not None else ()
            threshold = self.task_threshold
            report = junit(evaluations=evaluations, results=results, checks=checks, task_threshold=threshold)
            _write(self.junit, report)
        if self.summary is not None:
            _write(
                self.summary,
                markdown(evaluations=evaluations, results=results, verdict=verdict, causes=causes, suites=suites),
                mode="a",
            )


def write_json(content: Mapping[str, Any], *, printed: bool, file: Path | None) -> None:
    """Write the file of `OutputFile`, then print for `JsonFlag`.

    Raises:
        UsageError: the file cannot be written.
    """
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    if file is not None:
        _write(file, text)
    if printed:
        sys.stdout.write(as_printable_json(text))


def table_form(file: Path | None) -> TableForm | None:
    """The form of a table of results by the extension of a file; None if it is no table."""
    return next((form for form in TABLE_FORMS if file is not None and file.suffix.lower() == f".{form}"), None)


def only_one(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The evaluation of a table.

    Raises:
        UsageError: there are several.
    """
    if len(evaluations) > 1:
        ids = ", ".join(f"{evaluation.id[:8]} ({evaluation.suite})" for evaluation in evaluations)
        raise UsageError(f"a table has the tasks of one evaluation; give its id: {ids}")
    return evaluations[0]


def write_file(path: Path, data: bytes) -> None:
    """Write a file, and create its folder if it does not exist.

    Raises:
        UsageError: it cannot be written.
    """
    _write(path, data, mode="w")


def append_text(path: Path, text: str) -> None:
    """Append to a file, and create its folder if it does not exist.

    Raises:
        UsageError: it cannot be written.
    """
    _write(path, text, mode="a")


def _write(path: Path, text: str | bytes, *, mode: Literal["w", "a"] = "w") -> None:
    data = text.encode() if isinstance(text, str) else text
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb" if mode == "w" else "ab") as opened:
            opened.write(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}") from None
