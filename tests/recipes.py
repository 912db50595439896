"""Following a recipe of docs/extending.md: in a copy of the repository, its blocks are written into the files."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT / "docs" / "extending.md"


def blocks(title: str) -> list[tuple[str, str]]:
    """Language and text of each code block of the chapter with this title."""
    chapter = RECIPES.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^```(\w+)\n(.*?)^```$", chapter, re.M | re.S)


def titles() -> list[str]:
    """The chapters."""
    return re.findall(r"^## (.+)$", RECIPES.read_text(encoding="utf-8"), re.M)


def apply(diff: str, *, root: Path) -> None:
    """Make the changes of a block of the language diff: hunks after `@@`, below the file's name after `---`.

    Raises:
        AssertionError: what a hunk replaces is not exactly once in its file.
    """
    for name, before, after in _hunks(diff):
        path = root / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{name} has {text.count(before)} times:\n{before}"
        path.write_text(text.replace(before, after), encoding="utf-8")


def misfits() -> list[str]:
    """What recipes replace and is not exactly once in its file."""
    diffs = [text for title in titles() for language, text in blocks(title) if language == "diff"]
    counted = [
        (name, before, (ROOT / name).read_text(encoding="utf-8").count(before))
        for diff in diffs
        for name, before, _ in _hunks(diff)
    ]
    return [f"{name} has {count} times:\n{before}" for name, before, count in counted if count != 1]


def changed_files(diff: str) -> list[str]:
    """The files of a block of the language diff."""
    return list(dict.fromkeys(name for name, _, _ in _hunks(diff)))


def _hunks(diff: str) -> Iterator[tuple[str, str, str]]:
    """File, text and replacement of each hunk."""
    for of_file in diff.split("--- ")[1:]:
        name, _, changes = of_file.partition("\n")
        for hunk in changes.split("@@\n")[1:]:
            lines = hunk.splitlines()
            before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
            after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
            yield name, before, after


def linked_copy(folder: Path, *, changed: Sequence[str]) -> None:
    """A copy of the repository in which only these files, and those beside them, may be changed: the rest are links."""
    own = {parent for name in changed for parent in Path(name).parents}
    for place in own:
        (folder / place).mkdir(parents=True, exist_ok=True)
    for place in own:
        for entry in (ROOT / place).iterdir():
            if place / entry.name not in own and entry.name != "__pycache__":
                (folder / place / entry.name).symlink_to(entry)
    for name in changed:
        if (folder / name).exists():
            text = (folder / name).read_text(encoding="utf-8")
            (folder / name).unlink()
            (folder / name).write_text(text, encoding="utf-8")
