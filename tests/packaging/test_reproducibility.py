"""Every command that docs/reproducibility.md names exists, with its options; CITATION.cff is as its format wants it."""

import re
import shlex
from datetime import date
from pathlib import Path

import yaml

from evaluator import __version__
from evaluator.cli.program.walking import member, program

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "reproducibility.md").read_text(encoding="utf-8")
COMMANDS = sorted({span for span in re.findall(r"`([^`]+)`", TEXT) if span.startswith("planarena ")})
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def problem_of(line):
    """Why a line is no command of the program, or None. Names in capitals stand for values."""
    command, words = program(), shlex.split(line)[1:]
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        command = member(command, name)
        if command is None:
            return f"{name} is no command"
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word not in known]
    return f"no option {unknown[0]}" if unknown else None


def test_every_command_of_the_checklist_exists():
    assert {line: problem for line in COMMANDS if (problem := problem_of(line))} == {}


def test_a_command_that_does_not_exist_is_found():
    assert problem_of("planarena lilliput weigh") == "weigh is no command"
    assert problem_of("planarena validity --scenes 3") == "no option --scenes"


def test_every_figure_has_a_command_and_every_path_is_there():
    table = TEXT.partition("## Figures")[2].partition("## Checklist")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        assert re.search(r"`(\./)?planarena ", row) or "not measured here" in row, row
    for path in re.findall(r"`((?:evaluator|tests|requirements)/[\w./-]+|[\w-]+\.(?:txt|cff))`", TEXT):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"planarena test ([\w/]+)", TEXT):
        assert (ROOT / path).exists(), path


class TestCitation:
    """The Citation File Format, version 1.2.0: keys, types and values that its schema requires."""

    KEYS = {"cff-version", "message", "title", "abstract", "type", "version", "date-released", "license", "authors"}
    REFERENCE = {"type", "title", "year", "authors", "url", "identifiers"}

    def test_the_software(self):
        assert set(CFF) == self.KEYS | {"references"}
        assert CFF["cff-version"] == "1.2.0"
        assert CFF["type"] in {"software", "dataset"}
        assert CFF["version"] == __version__
        assert isinstance(CFF["date-released"], date)
        assert CFF["license"] == "Apache-2.0"
        assert all(isinstance(CFF[key], str) and CFF[key] for key in ("message", "title", "abstract"))
        assert_authors(CFF["authors"])

    def test_the_papers(self):
        assert len(CFF["references"]) == 2
        for entry in CFF["references"]:
            assert set(entry) <= self.REFERENCE
            assert {"type", "title", "authors"} <= set(entry)
            assert isinstance(entry["year"], int)
            (identifier,) = entry["identifiers"]
            assert set(identifier) == {"type", "value"}
            assert identifier["type"] in {"doi", "url", "swh", "other"}
            assert_authors(entry["authors"])

    def test_the_suites_cite_the_same_papers(self):
        from evaluator.suites.metadata import metadata_of

        for slug, entry in zip(("openagi", "tool100"), CFF["references"], strict=True):
            facts = metadata_of(slug)
            people = [f"{author['family-names']}, {author['given-names']}" for author in entry["authors"]]
            assert people == list(facts.creators[: len(people)])
            assert " and ".join(people) in facts.citation
            assert entry["title"] in facts.citation
            assert entry["identifiers"][0]["value"].removeprefix("arXiv:") in facts.citation


def assert_authors(authors):
    assert authors
    for author in authors:
        assert set(author) in ({"name"}, {"family-names", "given-names"})
        assert all(isinstance(value, str) and value for value in author.values())
