"""The table of commands: names, extras and one-line help texts, read without importing the commands.

Needs the standard library only, so that `planarena --help` is fast and works in every installation.
"""

import ast
import os
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

FILE = "commands.toml"
COMPLETE = "_PLANARENA_COMPLETE"
"""Environment variable that a shell sets to request completions; its name is Typer's."""
SUITES_VARIABLE = "PLANARENA_SUITES"
"""Environment variable that lists modules of additional suites (`evaluator.core.suites.registry`)."""
_HERE = Path(__file__).parent
_ROOMS = _HERE.parents[1]
_INDENT = 2
_WIDTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One command, or a group of commands."""

    words: str
    """Its name: `evaluate`, or `bench search` for a member of a group."""
    run: str = ""
    """`MODULE:NAME` of its function or Typer application; empty for a group with only members from this table."""
    extra: str = ""
    """Extra of pyproject.toml that most uses need; empty for members of groups."""
    help: str = ""
    """Of groups; other commands have a docstring."""

    @property
    def summary(self) -> str:
        """The first paragraph of its help, in one line."""
        return self.help or _docstring(self.run)


@cache
def entries(suites: str = "") -> Mapping[str, Entry]:
    """All commands by name: those of the library, then those of suites.

    Args:
        suites: modules of additional suites, separated by commas.

    Raises:
        ValueError: two commands have the same name.
    """
    commands: dict[str, Entry] = {}
    for file in (_HERE / FILE, *sorted(_ROOMS.glob(f"*/{FILE}")), *_files_of(suites)):
        for words, fields in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if words in commands:
                raise ValueError(f"{file}: there is already a command {words!r}")
            commands[words] = Entry(words=words, **fields)
    return commands


def current_entries() -> Mapping[str, Entry]:
    """All commands, with those of the suites that the environment names."""
    return entries(os.environ.get(SUITES_VARIABLE, ""))


def top_level(*, extra: str = "") -> dict[str, Entry]:
    """The commands and groups of one word by name; only those with this extra, if it is given."""
    commands = current_entries().items()
    return {words: entry for words, entry in commands if " " not in words and extra in {"", entry.extra}}


def members_of(group: str) -> dict[str, Entry]:
    """The members of a group in this table, by their last word."""
    prefix = f"{group} "
    commands = current_entries().items()
    return {words.removeprefix(prefix): entry for words, entry in commands if words.startswith(prefix)}


def listed(rows: Iterable[tuple[str, str]]) -> str:
    """Names with sentences, within 80 columns; each line ends with a line break."""
    rows = list(rows)
    column = _INDENT + max((len(name) for name, _ in rows), default=0) + 2
    lines = [
        textwrap.fill(
            sentence, width=_WIDTH, initial_indent=f"{'':{_INDENT}}{name}".ljust(column), subsequent_indent=" " * column
        )
        for name, sentence in rows
    ]
    return "".join(f"{line}\n" for line in lines)


def _files_of(suites: str) -> Iterator[Path]:
    """The tables beside the modules of additional suites."""
    for module in filter(None, (name.strip() for name in suites.split(","))):
        if (file := _path_of(module.rpartition(".")[0] or module) / FILE).is_file():
            yield file


def _docstring(run: str) -> str:
    """The first paragraph of a function's docstring in one line, read from its source: importing takes a second."""
    module, _, name = run.partition(":")
    source = _path_of(module).with_suffix(".py")
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    raise LookupError(f"{source} has no function {name}")


def _path_of(module: str) -> Path:
    """Path of a module or package, without suffix. Imports nothing: only the topmost package is looked up."""
    top, _, rest = module.partition(".")
    spec = find_spec(top)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(places[0] if places else top, *filter(None, rest.split(".")))
