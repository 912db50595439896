"""What every suite says of itself as a data set: Croissant, and a datasheet.

mlcroissant 1.1 accepts these descriptions and reads their requests (`mlcroissant validate --jsonld FILE`). It is not
among the test packages: it needs one that is released as source only, and locks hold nothing that must be built.
"""

import hashlib
import json
import re
import shutil
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.controlllm.toolbench.released.source import FILES
from evaluator.controlllm.toolbench.suite import tool_suite
from evaluator.core.suites.metadata import (
    CONFORMS_TO,
    SECTIONS,
    MetadataError,
    croissant,
    datasheet,
    metadata_of,
    request_lines,
)
from evaluator.core.suites.registry import folder_of, step_by_step_of, suite_names, suite_of, whole_plans_of
from evaluator.lumos.maths import source as maths
from evaluator.lumos.questions import source as questions
from evaluator.lumos.sql import source as sql
from tests.rings import usual

ROOT = Path(__file__).resolve().parents[4]
CONTROLLLM = ("tool100", "tool2k", "tool100-executed", "tool2k-executed")
IN_TURNS = {
    "gsm8k": maths.RELEASE, "svamp": maths.RELEASE, "intercode-sql": sql.RELEASE,
    "hotpotqa": questions.RELEASE, "strategyqa": questions.RELEASE,
}  # fmt: skip
OPERATORS = ("a-okvqa", "mind2web", "scienceqa")
ARC = ("arc-111", "arc-training", "arc-evaluation")
"""Of hundreds of files, which a description does not list."""
RELEASED = (*CONTROLLLM, *IN_TURNS, *OPERATORS, *ARC)
DESCRIBED = (
    "openagi",
    "openagi-season",
    "openagi-shifted",
    "toolmini",
    "toolmini-abstain",
    "toolworld",
    "soundworld",
    "pointmini",
    "lumos-mini",
    "lumos-shop",
    "arc-mini",
    *RELEASED,
)
"""Suites with files of their own."""
STEP_BY_STEP = tuple(form for slug in DESCRIBED if (form := step_by_step_of(slug)))
SLUGS = (*DESCRIBED, *STEP_BY_STEP)
USUAL = ("openagi", "toolworld", "arc-mini", "tool2k", "gsm8k", "mind2web", "arc-111", STEP_BY_STEP[0])
"""One of each family."""


def suite(slug):
    """The suite; of those that must be fetched one without requests, for the description says nothing of them."""
    if slug not in RELEASED and whole_plans_of(slug) not in RELEASED:
        return suite_of(slug)
    return tool_suite(slug=slug, title=slug, description=f"The released {slug}.", raw=())


def expanded(value, *, context):
    """A property or type with its prefix resolved, as JSON-LD reads it."""
    term = context.get(value, value)
    term = term["@id"] if isinstance(term, dict) else term
    prefix, _, name = term.partition(":")
    return f"{context[prefix]}{name}" if prefix in context and not name.startswith("//") else term


@pytest.mark.parametrize("slug", usual(SLUGS, of=USUAL))
class TestCroissant:
    """The rules of the specification, version 1.0."""

    def test_a_data_set_has_what_is_required(self, slug):
        described = croissant(suite=suite(slug))
        context = described["@context"]
        assert expanded(described["@type"], context=context) == "https://schema.org/Dataset"
        assert described["conformsTo"] == CONFORMS_TO == "http://mlcommons.org/croissant/1.0"
        for name in ("name", "description", "license", "url", "creator", "citeAs", "version"):
            assert described[name], name
        assert re.fullmatch(r"\d+\.\d+\.\d+", described["version"])
        assert date.fromisoformat(described["datePublished"]) <= date(2100, 1, 1)
        assert described["license"].startswith("https://")

    def test_files_have_digests_and_fields_their_files(self, slug):
        described = croissant(suite=suite(slug))
        files = {file["@id"]: file for file in described["distribution"]}
        assert files
        for file in files.values():
            assert file["@type"] == "cr:FileObject"
            assert re.fullmatch(r"[0-9a-f]{64}", file["sha256"])
            assert file["contentUrl"]
            assert file["encodingFormat"] in {"application/json", "application/jsonlines"}
        (records,) = described["recordSet"]
        names = [field["@id"] for field in records["field"]]
        assert len(names) == len(set(names)) >= 2
        for field in records["field"]:
            assert field["@id"] == f"{records['@id']}/{field['name']}"
            assert field["source"]["fileObject"]["@id"] in files
            assert set(field["source"]["extract"]) <= {"column", "jsonPath"}

    def test_the_datasheet_answers_every_group_of_questions(self, slug):
        text = datasheet(suite(slug))
        assert tuple(re.findall(r"^## (.*)$", text, re.M)) == SECTIONS
        parts = re.split(r"^## .*$", text, flags=re.M)[1:]
        assert all(len(part.split()) >= 8 for part in parts)
        assert not re.search(r"[{}]", text)


def test_every_suite_of_the_repository_has_metadata():
    shipped = {path.stem for path in (ROOT / "evaluator").glob("*/metadata/*.toml")}
    assert shipped == {path.stem for path in (ROOT / "evaluator").glob("*/metadata/*.md")} == set(DESCRIBED)
    assert set(suite_names()) <= set(SLUGS)


@pytest.mark.parametrize("slug", ["openagi", "openagi-season", "toolmini", "toolmini-abstain", "toolworld"])
def test_requests_lie_in_a_file_with_the_fields_that_are_described(slug):
    lines = request_lines(suite(slug))
    described = croissant(suite=suite(slug))
    (file,) = described["distribution"]
    assert file["sha256"] == hashlib.sha256(lines).hexdigest()
    assert file["contentSize"] == f"{len(lines)} B"
    rows = [json.loads(line) for line in lines.splitlines()]
    assert [row["id"] for row in rows] == [task.key for task in suite(slug).tasks]
    columns = {field["source"]["extract"]["column"] for field in described["recordSet"][0]["field"]}
    assert all(set(row) == columns for row in rows)
    assert all(isinstance(value, str) for row in rows for value in row.values())


@pytest.mark.parametrize("slug", STEP_BY_STEP)
def test_a_step_by_step_form_has_the_description_of_its_suite_and_says_how_it_differs(slug):
    whole = whole_plans_of(slug)
    assert metadata_of(slug) == metadata_of(whole)
    assert f"This suite is `{whole}` step by step" in datasheet(suite(slug))
    assert "step by step" not in datasheet(suite(whole))


def test_released_files_of_suites_in_turns_are_those_that_are_fetched():
    for slug, release in IN_TURNS.items():
        fetched = {file.name: (file.url, file.sha256) for file in release.files}
        named = {file.name: (file.url, file.sha256) for file in metadata_of(slug).files}
        assert named
        assert named.items() <= fetched.items()


def test_released_files_are_those_that_are_fetched():
    named = {file.name: (file.url, file.sha256) for slug in CONTROLLLM for file in metadata_of(slug).files}
    assert named == {file.name: (file.url, file.sha256) for file in FILES}


def planarena(*arguments):
    return CliRunner().invoke(app, ["suites", *arguments])


def test_commands_print_and_write(tmp_path):
    shown = planarena("croissant", "toolmini")
    assert json.loads(shown.stdout) == croissant(suite=suite_of("toolmini"))
    done = planarena("croissant", "toolmini", "--out", str(tmp_path / "out"), "--url", "https://example.org/toolmini")
    assert done.exit_code == 0, done.stderr
    written = json.loads((tmp_path / "out" / "croissant.json").read_text())
    assert written["url"] == "https://example.org/toolmini"
    (file,) = written["distribution"]
    assert hashlib.sha256((tmp_path / "out" / file["contentUrl"]).read_bytes()).hexdigest() == file["sha256"]
    sheet = planarena("datasheet", "toolmini")
    assert sheet.stdout == f"# Datasheet of toolmini\n\n{datasheet(suite_of('toolmini'))}"


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """The metadata of toolmini, free to be changed."""
    shutil.copytree(folder_of("toolmini") / "metadata", tmp_path / "metadata")
    monkeypatch.setattr("evaluator.core.suites.metadata.folder_of", lambda slug: tmp_path)
    return tmp_path / "metadata"


def test_wrong_metadata_are_named(beside):
    path = beside / "toolmini.toml"
    path.write_text(path.read_text().replace("licence =", "license ="))
    with pytest.raises(MetadataError, match="missing or unknown: licence, license"):
        metadata_of("toolmini")
    path.unlink()
    with pytest.raises(MetadataError, match="the suite toolmini has no metadata"):
        metadata_of("toolmini")
