"""The table of commands: names, extras and one-line helps, read without importing the commands.

Needs the standard library only, so that `planarena --help` works in every installation, and at once.
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
"""Environment variable that is set when a shell asks for completions; its name is Typer's."""
SUITES_VARIABLE = "PLANARENA_SUITES"
"""Environment variable with the modules of further suites (`evaluator.core.suites.registry`)."""
_HERE = Path(__file__).parent
_ROOMS = _HERE.parents[1]
_INDENT = 2
_WIDTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One command, or a group of commands."""

    words: str
    """What calls it: `evaluate`, or `bench search` for a member of a group."""
    run: str = ""
    """`MODULE:NAME` of its function or typer application; empty: a group that has only members of this table."""
    extra: str = ""
    """Extra of pyproject.toml with what most uses need; empty for members of groups."""
    help: str = ""
    """Of groups; other commands have a docstring."""

    @property
    def summary(self) -> str:
        """The first paragraph of its help, in one line."""
        return self.help or _docstring(self.run)


@cache
def entries(suites: str = "") -> Mapping[str, Entry]:
    """All commands by their words: those of the library, then those of suites.

    Args:
        suites: modules of further suites, separated by commas.

    Raises:
        ValueError: two commands have the same words.
    """
    found: dict[str, Entry] = {}
    for file in (_HERE / FILE, *sorted(_ROOMS.glob(f"*/{FILE}")), *_files_of(suites)):
        for words, fields in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if words in found:
                raise ValueError(f"{file}: there is already a command {words!r}")
            found[words] = Entry(words=words, **fields)
    return found


def current_entries() -> Mapping[str, Entry]:
    """All commands, with those of the suites that the environment names."""
    return entries(os.environ.get(SUITES_VARIABLE, ""))


def top_level(*, extra: str = "") -> dict[str, Entry]:
    """The commands and groups of one word by name; only those with this extra, if it is given."""
    found = current_entries().items()
    return {words: entry for words, entry in found if " " not in words and extra in {"", entry.extra}}


def members_of(group: str) -> dict[str, Entry]:
    """The members of a group that this table has, by their last word."""
    prefix = f"{group} "
    found = current_entries().items()
    return {words.removeprefix(prefix): entry for words, entry in found if words.startswith(prefix)}


def listed(rows: Iterable[tuple[str, str]]) -> str:
    """Names with sentences, within 80 columns; each line with its end."""
    found = list(rows)
    column = _INDENT + max((len(name) for name, _ in found), default=0) + 2
    lines = [
        textwrap.fill(
            sentence, width=_WIDTH, initial_indent=f"{'':{_INDENT}}{name}".ljust(column), subsequent_indent=" " * column
        )
        for name, sentence in found
    ]
    return "".join(f"{line}\n" for line in lines)


def _files_of(suites: str) -> Iterator[Path]:
    """The tables beside the modules of further suites."""
    for module in filter(None, (name.strip() for name in suites.split(","))):
        if (file := _path_of(module.rpartition(".")[0] or module) / FILE).is_file():
            yield file


def _docstring(run: str) -> str:
    """The first paragraph of a function's docstring in one line, from its source: importing takes a second."""
    module, _, name = run.partition(":")
    source = _path_of(module).with_suffix(".py")
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    raise LookupError(f"{source} has no function {name}")


def _path_of(module: str) -> Path:
    """Where a module or package is, without its ending. Imports nothing: only the topmost package is looked up."""
    top, _, rest = module.partition(".")
    spec = find_spec(top)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(places[0] if places else top, *filter(None, rest.split(".")))
