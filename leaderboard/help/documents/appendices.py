"""What some chapters are followed by: texts that lie beside what they describe, and the command line's reference."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from evaluator.cli.main import program
from evaluator.core.commands.lazy import Unloaded
from evaluator.core.suites.metadata import MetadataError, datasheet
from evaluator.core.suites.registry import suite_names, suite_of

_EMPTY = (None, False, "", ())
"""Defaults that a table need not tell."""


def command_reference() -> str:
    """Every command as Markdown: a heading, its help, and a table of its arguments and options. Of commands whose
    packages are not installed here, as those of workers on a site, only the summary."""
    return "\n".join(_group(program(), prefix="planarena"))


def _group(group: Any, *, prefix: str) -> Iterator[str]:
    for name, found in group.commands.items():
        words = f"{prefix} {name}"
        try:
            command = found.load() if isinstance(found, Unloaded) else found
        except ModuleNotFoundError:
            yield f"## {words}\n\n{found.entry.summary}\n"
            continue
        if hasattr(command, "commands"):
            yield from _group(command, prefix=words)
        elif not command.hidden:
            yield f"## {words}\n\n{command.help or ''}\n\n{_table(command)}"


def _table(command: Any) -> str:
    rows = [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows, ""]) if rows else ""


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
    """The datasheets of all suites that can be used here and have one, each under a heading of its own."""
    return "\n".join(_datasheets())


def _datasheets() -> Iterator[str]:
    for slug in suite_names():
        suite = suite_of(slug)
        try:
            text = datasheet(suite)
        except MetadataError:
            continue
        yield f"### {suite.title}\n\n{_demoted(_demoted(text))}"


def model_cards() -> str:
    """The cards of all shipped models."""
    cards = [path for folder in WEIGHTS for path in sorted(folder.rglob("card.md"))]
    return "\n".join(_demoted(_demoted(path.read_text(encoding="utf-8"))) for path in cards)


def _demoted(text: str) -> str:
    """Markdown with each heading one level lower."""
    return re.sub(r"^(#+ )", r"#\1", text, flags=re.M)


APPENDICES: Mapping[str, Callable[[], str]] = {
    "cli": command_reference,
    "suites": datasheets,
    "paper-profile": model_cards,
}
"""By the chapter."""
