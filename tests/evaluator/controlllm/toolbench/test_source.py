"""Fetching leaves the right files or none, and says in a sentence what was wrong."""

import hashlib
import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.controlllm.toolbench.released import source
from evaluator.controlllm.toolbench.released.files import TOOL2K_GOLD_EVEN


def stand_in(name, content):
    return source.PublicFile(
        name=name, base=source.BASE, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content)
    )


@pytest.fixture
def contents(monkeypatch):
    """Small files in place of the released ones."""
    rows = [{"type": "QA", "instruction": f"Question {number}?"} for number in range(2)]
    contents = {
        "tool100.json": b"{}",
        "tool2k.json": json.dumps(rows).encode(),
        "tool2k_w_output.json": json.dumps([row | {"output": "<Solution>[]</Solution>"} for row in rows]).encode(),
    }
    monkeypatch.setattr(source, "FILES", tuple(stand_in(name, content) for name, content in contents.items()))
    return contents


@pytest.fixture
def folder(tmp_path, contents):
    folder = tmp_path / "released"
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path / "data"))
    return source.suite_folder()


def test_files_are_taken_from_a_folder_and_recorded(folder, target, contents):
    digests = source.take(folder=folder, target=target)
    assert {path.name for path in target.iterdir()} == {*contents, "manifest.json"}
    assert json.loads((target / "manifest.json").read_text())["files"] == digests
    assert source.fetched_folder() == target
    assert source.gold_file(target) == target / "tool2k_w_output.json"


def test_files_are_downloaded_from_the_pinned_commit(target, contents):
    asked = []

    def download(file):
        asked.append(file.url)
        return contents[file.name]

    source.fetch(download=download, target=target)
    assert source.fetched_folder() == target
    assert all(f"OpenGVLab/ControlLLM/{source.COMMIT}/eval_data/" in url for url in asked)


def test_a_part_of_the_gold_is_accepted_and_its_digest_recorded(folder, target):
    (folder / "tool2k_w_output.json").unlink()
    part = json.dumps([{"index": 0, "instruction": "Question 0?", "output": "<Solution>[]</Solution>"}]).encode()
    (folder / TOOL2K_GOLD_EVEN).write_bytes(part)
    assert source.take(folder=folder, target=target)[TOOL2K_GOLD_EVEN] == hashlib.sha256(part).hexdigest()
    assert source.gold_file(target) == target / TOOL2K_GOLD_EVEN


def test_the_whole_gold_replaces_a_part_of_it(folder, target, contents):
    whole = (folder / "tool2k_w_output.json").rename(folder / "kept")
    (folder / TOOL2K_GOLD_EVEN).write_text("[]")
    source.take(folder=folder, target=target)
    whole.rename(folder / "tool2k_w_output.json")
    source.take(folder=folder, target=target)
    assert {path.name for path in target.iterdir()} == {*contents, "manifest.json"}


def test_a_gold_that_belongs_to_other_requests_is_refused(folder, target):
    (folder / "tool2k_w_output.json").unlink()
    (folder / TOOL2K_GOLD_EVEN).write_text('[{"index": 0, "instruction": "Other?", "output": "x"}]')
    with pytest.raises(source.FetchError, match="its instruction is not that of request 0"):
        source.take(folder=folder, target=target)
    assert not target.exists()


@pytest.mark.parametrize("name", ["tool100.json", "tool2k.json", "tool2k_w_output.json"])
def test_a_damaged_or_missing_file_leaves_nothing_behind(folder, target, name):
    (folder / name).write_bytes(b"[]")
    with pytest.raises(source.FetchError, match=f"is not the released {name}: 2 bytes with SHA-256 4f53cda1"):
        source.take(folder=folder, target=target)
    (folder / name).unlink()
    with pytest.raises(source.FetchError, match=f"{name} cannot be read: No such file"):
        source.take(folder=folder, target=target)
    assert not target.exists()
    assert source.fetched_folder() is None


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"files": 3}', '{"files": {"tool100.json": "ab"}}'])
def test_a_damaged_manifest_is_not_believed(folder, target, manifest):
    source.take(folder=folder, target=target)
    (target / "manifest.json").write_text(manifest)
    assert "manifest.json" in source.problem_of_fetched()


def fetch_command(*arguments):
    return CliRunner().invoke(app, ["suites", "fetch", *arguments])


def test_the_command_takes_the_released_files(controlllm_folder, target):
    done = fetch_command("controlllm", "--from", str(controlllm_folder))
    assert done.exit_code == 0, done.stderr
    assert "eb27cd84812968a1117b339be73fd0162774bd997b2bd7a5d50174cc882d0cb2" in done.stdout
    assert (target / "manifest.json").is_file()


def test_a_failed_fetch_keeps_what_was_there(folder, target):
    source.take(folder=folder, target=target)
    with pytest.raises(source.FetchError):
        source.fetch(download=lambda file: b"a page that says sorry", target=target)
    assert source.fetched_folder() == target
