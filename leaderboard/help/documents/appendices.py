"""Appendices of chapters: datasheets, model cards and the reference of the command line."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from evaluator.cli.audit import tables
from evaluator.cli.main import program
from evaluator.core.commands.lazy import Unloaded
from evaluator.core.suites.audits import audit_of
from evaluator.core.suites.metadata import MetadataError, datasheet
from evaluator.core.suites.registry import suite_names, suite_of

_EMPTY = (None, False, "", ())
"""Defaults that are not shown."""


def command_reference() -> str:
    """Every command as Markdown: a heading, its help, and a table of its arguments and options. Only the summary of
    commands whose packages are not installed, such as those of workers on a site."""
    return "\n".join(_group(program(), prefix="planarena"))


def _group(group: Any, *, prefix: str) -> Iterator[str]:
    for name, entry in group.commands.items():
        words = f"{prefix} {name}"
        try:
            command = entry.load() if isinstance(entry, Unloaded) else entry
        except ModuleNotFoundError:
            yield f"## {words}\n\n{entry.entry.summary}\n"
            continue
        if hasattr(command, "commands"):
            yield from _group(command, prefix=words)
        elif not command.hidden:
            rows = [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
            table = "\n".join(["| option | meaning | default |", "|---|---|---|", *rows, ""]) if rows else ""
            yield f"## {words}\n\n{command.help or ''}\n\n{table}"


def _row(parameter: Any) -> str:
    is_option = parameter.opts[0].startswith("-")
    name = (
        ", ".join([*parameter.opts, *parameter.secondary_opts])
        if is_option
        else (parameter.metavar or parameter.name).upper()
    )
    default = "" if callable(parameter.default) or parameter.default in _EMPTY else f"`{parameter.default}`"
    needed = "required" if parameter.required else default
    return f"| `{_cell(name)}` | {_cell(getattr(parameter, 'help', None) or '')} | {needed} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


_EVALUATOR = Path(str(files("evaluator")))
WEIGHTS = (
    _EVALUATOR / "miniature" / "weights",
    _EVALUATOR / "controlllm" / "strategies" / "trained" / "weights",
)


def datasheets() -> str:
    """The datasheets of all available suites that have one, each under its own heading."""
    sheets = []
    for slug in suite_names():
        suite = suite_of(slug)
        try:
            text = datasheet(suite)
        except MetadataError:
            continue
        sheets.append(f"### {suite.title}\n\n{_demoted(_demoted(text))}")
    return "\n".join(sheets)


def model_cards() -> str:
    """The cards of all shipped models."""
    cards = [path for folder in WEIGHTS for path in sorted(folder.rglob("card.md"))]
    return "\n".join(_demoted(_demoted(path.read_text(encoding="utf-8"))) for path in cards)


def audits() -> str:
    """The published audits of all available suites."""
    found = [audit for slug in suite_names() if (audit := audit_of(slug)) is not None]
    return "\n\n".join(f"### {audit.suite}\n\n{next(tables(audit)).markdown()}" for audit in found)


def _demoted(text: str) -> str:
    """Markdown with each heading one level lower."""
    return re.sub(r"^(#+ )", r"#\1", text, flags=re.M)


APPENDICES: Mapping[str, Callable[[], str]] = {
    "cli": command_reference,
    "suites": datasheets,
    "audit": audits,
    "paper-profile": model_cards,
}
"""By chapter."""
