"""Shared by all commands: consoles, options, JSON output and usage errors."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import to_json
from rich.console import Console

from evaluator.core.canonical_json import JsonValue
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.plans_file import PlansFile, PlansFileError, read_plans
from evaluator.core.process import as_printable_json
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import default_suite, suite_of

_WIDTH = 110

LinesArgument = Annotated[Path, typer.Argument(help="One JSON object a line; - reads standard input.")]
PlansArgument = Annotated[
    Path, typer.Argument(help='A plans file, such as {"task": ..., "plan": ...} lines; - reads standard input.')
]
ExecutedSuiteOption = Annotated[
    str, typer.Option(help="Slug of a suite whose plans are executed; default: the first one.", show_default=False)
]
"""Empty: see `chosen_suite`."""

out = Console()
log = Console(stderr=True)


def chosen_suite(slug: str) -> Suite:
    """The suite with this slug; if it is empty, the first one whose plans are executed.

    Raises:
        typer.Exit: there is no such suite; standard error lists the suites.
    """
    try:
        return suite_of(slug) if slug else default_suite(executes=True)
    except LookupError as error:
        raise usage_error(error) from None


def lines_text(file: Path) -> str:
    """The text of a file of lines, or of standard input for `-`.

    Raises:
        typer.Exit: it cannot be read; standard error says why.
    """
    try:
        return _bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise usage_error(f"{file} cannot be read: {error}") from None


def plans_of(file: Path, *, suite: Suite) -> PlansFile:
    """The plans of a file, or of standard input for `-`, for tasks of a suite.

    Raises:
        typer.Exit: it cannot be read, or has plans for other tasks; standard error says why.
    """
    try:
        plans = read_plans(_bytes(file))
        plans.check(tasks={task.asked_as or task.key for task in suite.tasks}, suite=suite.slug)
    except PlansFileError as error:
        raise usage_error(f"{file}: {error}") from None
    return plans


def _bytes(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise usage_error(f"{file} cannot be read: {error.strerror}") from None


def usage_error(problem: Exception | str) -> typer.Exit:
    """Print a usage error, and return the exit to raise."""
    message = problem.args[0] if isinstance(problem, LookupError) else str(problem)
    log.print(f"planarena: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(ExitCode.BAD_USAGE)


def print_json(document: Any) -> None:
    """Print a document for programs. Keys are part of a command's interface: they may be added, but not renamed."""
    sys.stdout.write(as_printable_json(to_json(document, indent=1).decode() + "\n"))


def in_short_lines(value: JsonValue, *, indent: str = "") -> str:
    """JSON for people: a value that fits into one line stays in one line, such as a row of a grid."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, list | dict) or not value or len(indent) + len(line) <= _WIDTH:
        return line
    inner = indent + " "
    if isinstance(value, list):
        lines = [in_short_lines(item, indent=inner) for item in value]
    else:
        lines = [f"{json.dumps(key)}: {in_short_lines(item, indent=inner)}" for key, item in value.items()]
    first, last = "[]" if isinstance(value, list) else "{}"
    return f"{first}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{last}"


def write_json(document: Any, *, printed: bool, file: Path | None) -> None:
    """Write and print a document as `OutputFile` and `JsonFlag` say. The file is written first: standard output may
    close early (`| head`).

    Raises:
        typer.Exit: the file cannot be written; standard error says why.
    """
    # `json` indents in Python: seven times as slow, a third of a second for an evaluation of 185 tasks.
    if file is not None:
        write_bytes(to_json(document, indent=1) + b"\n", file=file)
    if printed:
        print_json(document)


def write_text(text: str, *, file: Path | None) -> None:
    """Write a text file as `write_bytes` does."""
    write_bytes(text.encode(), file=file)


def write_bytes(data: bytes, *, file: Path | None) -> None:
    """Write a file and its missing folders; nothing if `file` is None.

    Raises:
        typer.Exit: it cannot be written; standard error says why.
    """
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise usage_error(f"{file} cannot be written: {error.strerror}") from None
