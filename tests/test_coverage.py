"""docs/coverage.md follows from tests/coverage.toml, whose rows with the verdict `yes` name a test that exists.

WRITE_TABLES=1 ./planarena test tests/test_coverage.py
"""

import ast
import os
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIST, CHAPTER = ROOT / "tests" / "coverage.toml", ROOT / "docs" / "coverage.md"
PAPERS = tomllib.loads(LIST.read_text(encoding="utf-8"))["paper"]
ROWS = [row for paper in PAPERS for row in paper["rows"]]
VERDICTS = ("yes", "thin", "no", "out of scope")
INTRODUCTION = """\
# What of the papers is here

The systems, parts, data sets and figures of the papers, one by one. *Yes* names the test that fails without it.
*Thin* is here with a limit, *no* is not here, and *out of scope* is nothing that an evaluation could have; a sentence
says why.
"""


@cache
def names_in(path):
    """The ids of the tests in a file, without its path."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            found.add(node.name)
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            own = (inner.name for inner in node.body if isinstance(inner, ast.FunctionDef))
            found |= {f"{node.name}::{name}" for name in own if name.startswith("test_")}
    return found


def is_skipped(path, name):
    """Whether a test is marked to be skipped or to fail."""
    (function,) = (
        node
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == name.rpartition("::")[2]
    )
    return any("skip" in text or "xfail" in text for text in map(ast.unparse, function.decorator_list))


def chapter():
    lines = [INTRODUCTION]
    heads = ["| | rows |", "|---|---|"] + [f"| {verdict} | {counts()[verdict]} |" for verdict in VERDICTS]
    lines.append("\n".join(heads) + "\n")
    for paper in PAPERS:
        table = [f"## {paper['name']}", "", "| what | verdict | |", "|---|---|---|"]
        table += [f"| {row['what']} | {row['verdict']} | {cell(row)} |" for row in paper["rows"]]
        lines.append("\n".join(table) + "\n")
    return "\n".join(lines)


def cell(row):
    if "test" not in row:
        return row["why"]
    path, _, name = row["test"].partition("::")
    return f"`{path.removeprefix('tests/')}`: {name.rpartition('::')[2].removeprefix('test_').replace('_', ' ')}"


def counts():
    return Counter(row["verdict"] for row in ROWS)


@pytest.mark.parametrize("row", [row for row in ROWS if "test" in row], ids=lambda row: row["what"])
def test_what_is_here_names_a_test(row):
    path, _, name = row["test"].partition("::")
    assert name in names_in(path)
    assert not is_skipped(path, name)


def test_every_other_row_says_why_in_a_sentence():
    for row in ROWS:
        assert row["verdict"] in VERDICTS, row
        assert ("test" in row) == (row["verdict"] == "yes"), row
        assert "why" not in row or (row["why"].endswith(".") and len(row["why"].split()) >= 6), row


def test_no_row_is_there_twice_or_lost():
    assert [paper["name"] for paper in PAPERS] == [
        "OpenAGI", "LUMOS", "Multi-expert system for ARC", "ControlLLM", "Requirements of the site",
    ]  # fmt: skip
    assert [len(paper["rows"]) for paper in PAPERS] == [35, 44, 20, 57, 8]
    for paper in PAPERS:
        assert max(Counter(row["what"] for row in paper["rows"]).values()) == 1


def test_the_chapter_shows_the_list():
    text = chapter()
    if os.environ.get("WRITE_TABLES"):
        CHAPTER.write_text(text, encoding="utf-8")
    assert CHAPTER.read_text(encoding="utf-8") == text
