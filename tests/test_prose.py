"""Prose is true: files, modules, members, settings, management commands and routes that it names exist.

Read are the Markdown of the repository, and the docstrings and comments of the code. The changelog names what is gone.
"""

import itertools
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from tests.recipes import misfits
from tests.rooms import PICTURE, ROOT, picture

PACKAGES = ("evaluator", "leaderboard", "gpu_jobs", "tests")
ENDINGS = "py|md|toml|html|ts|css|tpl|txt|json|jsonl|cff"
BANNED = ("anew", "fate", "manieth", "of nothing", "thereupon", "told(?! apart)", "who asks too often")
"""Words by which a text reads like a translation."""
PARTS_OF_CODE = re.compile(
    r"""(?P<prose>^[ \t]*r?"{3}(?:\\.|[^\\])*?"{3}|\#[^\n]*)"""
    r"""|"{3}(?:\\.|[^\\])*?"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\'""",
    re.MULTILINE | re.DOTALL,
)
"""Comments and all strings: twenty times as fast as `tokenize` and `ast` over the whole code."""


@cache
def tracked() -> frozenset[str]:
    """Files and folders of the repository, relative to its root."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    folders = {str(folder) for name in files for folder in Path(name).parents}
    return frozenset((*files, *folders))


@cache
def folders() -> frozenset[str]:
    """Names of all folders."""
    return frozenset(part for name in tracked() for part in Path(name).parts[:-1])


def documents() -> list[Path]:
    return [ROOT / name for name in sorted(tracked()) if name.endswith(".md") and name != "CHANGELOG.md"]


def modules() -> list[Path]:
    return [ROOT / name for name in sorted(tracked()) if name.endswith(".py") and name.startswith(PACKAGES[:3])]


def prose_of_module(path: Path) -> str:
    """Docstrings, as every string in three quotes at the start of a line, and comments."""
    text = path.read_text(encoding="utf-8")
    return "\n".join(found[0] for found in PARTS_OF_CODE.finditer(text) if found.lastgroup == "prose")


@cache
def texts() -> dict[str, str]:
    """Prose by the file that it is in."""
    found = {path: _without_fences(path.read_text(encoding="utf-8")) for path in documents()}
    found |= {path: prose_of_module(path) for path in modules()}
    return {str(path.relative_to(ROOT)): text for path, text in found.items()}


def _without_fences(text: str) -> str:
    """Markdown without blocks of code, and without the lines before them: recipes name the files that they create."""
    text = re.sub(r"^(?:[^\n]*:\n\n)?```\w*\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)


def spans(text: str) -> Iterator[str]:
    """What is quoted as code in a line, and the targets of links."""
    yield from re.findall(r"`([^`\n]+)`", text)
    yield from re.findall(r"\]\(([^)\s]+)\)", text)


def missing_files(*, name: str, text: str) -> list[str]:
    """Paths that no file ends with: they may leave out the folders at their front."""
    home = Path(name).parent
    found = []
    for span in spans(text):
        path = span.partition("#")[0].removeprefix("./")
        # Words in capitals are for the reader to replace.
        if re.search(r"\b[A-Z]{3,}\b", path) or not re.fullmatch(
            rf"(?:\.\./)*[a-z_][\w./-]*/[\w.-]+\.(?:{ENDINGS})|[a-z_]+\.py", path
        ):
            continue
        if "/" in path and path.partition("/")[0] not in {".."} | folders():
            continue
        beside = str((ROOT / home / path).resolve().relative_to(ROOT)) if ".." in path else str(home / path)
        plain = path.replace("../", "")
        if beside not in tracked() and not any(file == plain or file.endswith(f"/{plain}") for file in tracked()):
            found.append(path)
    return found


def missing_modules(text: str) -> list[str]:
    """Dotted names below our packages that are no module, and no member that their module names."""
    found = []
    for dotted in re.findall(rf"(?<![\w./-])(?:{'|'.join(PACKAGES)})(?:\.\w+)+(?![\w/-])", text):
        parts = dotted.split(".")
        if re.search(rf"\.(?:{ENDINGS})$", dotted):
            continue
        while parts and not {f"{'/'.join(parts)}.py", "/".join(parts)} & tracked():
            parts.pop()
        member = dotted.split(".")[len(parts) :]
        path = "/".join(parts)
        source = ROOT / (f"{path}.py" if f"{path}.py" in tracked() else f"{path}/__init__.py")
        if member and not (source.is_file() and re.search(rf"\b{member[0]}\b", source.read_text(encoding="utf-8"))):
            found.append(dotted)
    return found


@cache
def names_in_code() -> frozenset[str]:
    """Everything that looks like a variable of the environment, in what is no prose."""
    endings = (".py", ".sh", ".yaml", ".yml", ".tpl", ".ts", ".mjs", ".toml", "planarena", "Dockerfile")
    files = (ROOT / name for name in tracked() if name.endswith(endings) and (ROOT / name).is_file())
    return frozenset(
        name
        for path in files
        for name in re.findall(r"\bPLANARENA_[A-Z0-9_]+\b", path.read_text(encoding="utf-8", errors="replace"))
    )


def missing_routes(text: str) -> list[str]:
    """Paths of the site's API and pages, with capitals or brackets for arguments, that no route answers."""
    areas = "api/v1|boards|docs|evaluations|planners|submit|tasks"
    found = []
    for span in re.findall(rf"`(?:[A-Z]+ )?(/(?:{areas})/[^`\s]*)`", text):
        path = re.sub(r"[?#].*", "", span)
        path = re.sub(r"<[\w:-]+>|\{\w+\}|(?<=/)[A-Z][A-Z_-]+\b", "\0", path)
        arguments = path.count("\0")
        values = itertools.product(("1", "openagi", str(UUID(int=1))), repeat=arguments)
        if "..." not in path and "*" not in path and not any(_resolves(_filled(path, value)) for value in values):
            found.append(span)
    return found


def _filled(path: str, values: tuple[str, ...]) -> str:
    for value in values:
        path = path.replace("\0", value, 1)
    return path


def _resolves(path: str) -> bool:
    try:
        return resolve(path).url_name != "nowhere"
    except Resolver404:
        return False


def problems(check) -> dict[str, list[str]]:
    return {name: found for name, text in texts().items() if (found := check(name, text))}


def test_files_exist():
    assert problems(lambda name, text: missing_files(name=name, text=text)) == {}


def test_modules_and_their_members_exist():
    assert problems(lambda _, text: missing_modules(text)) == {}


def test_settings_are_read_somewhere():
    def unread(_, text):
        return [name for name in re.findall(r"\bPLANARENA_[A-Z0-9_]+\b", text) if name not in names_in_code()]

    assert problems(unread) == {}


def test_management_commands_exist():
    commands = set(get_commands())

    def unknown(_, text):
        return [name for name in re.findall(r"planarena manage ([a-z_]+)", text) if name not in commands]

    assert problems(unknown) == {}


def test_routes_exist():
    assert problems(lambda _, text: missing_routes(text)) == {}


def test_lines_that_recipes_replace_exist_once():
    assert misfits() == []


@pytest.mark.parametrize("word", BANNED)
def test_nothing_reads_like_a_translation(word):
    pages = [name for name in tracked() if re.search(r"^frontend/templates/.*\.html$", name)]
    shown = {name: (ROOT / name).read_text(encoding="utf-8") for name in pages}
    shown |= {name: text for name, text in texts().items() if name.endswith(".md")}
    pattern = re.compile(rf"\b{word}\b", re.IGNORECASE)
    assert [name for name, text in shown.items() if pattern.search(text)] == []


def test_architecture_is_read_in_one_sitting():
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) < 1500


def test_the_picture_of_the_rooms_shows_the_contracts():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tests.rooms"


def test_prose_of_code_is_its_docstrings_and_comments(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('''"""One."""\nx = "# two"  # three \\"four"\n\n\ndef f():\n    r"""Five\n\n    six."""\n''')
    assert prose_of_module(module) == '''"""One."""\n# three \\"four"\n    r"""Five\n\n    six."""'''


def test_what_is_not_there_is_found():
    assert missing_files(
        name="docs/x.md", text="`leaderboard/queue/nothing.py`, `nothing_here.py` and [a](queue/x.md)"
    ) == [
        "leaderboard/queue/nothing.py",
        "nothing_here.py",
        "queue/x.md",
    ]
    assert missing_modules("evaluator.core.nothing and evaluator.core.records.Nothing") == [
        "evaluator.core.nothing",
        "evaluator.core.records.Nothing",
    ]
    assert missing_routes("`GET /api/v1/nothing/`") == ["/api/v1/nothing/"]
