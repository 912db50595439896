"""Fetching the released files of ARC."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.suites.arc.source import COMMIT, LICENCE, RELEASE, TASK_FILES
from evaluator.suites.released_files import FetchError

ROOT = Path(__file__).resolve().parents[4]


def test_there_are_400_training_and_400_evaluation_files_and_the_licence():
    folders = [file.name.rsplit("/", 1)[0] for file in RELEASE.files if "/" in file.name]
    assert [folders.count(f"data/{part}") for part in ("training", "evaluation")] == [400, 400]
    assert RELEASE.files[-1].name == "LICENSE"
    assert LICENCE == "Apache-2.0"
    assert len({file.name for file in RELEASE.files}) == 801


def test_files_are_served_at_the_pinned_commit():
    assert TASK_FILES[0].url == (
        f"https://raw.githubusercontent.com/fchollet/ARC-AGI/{COMMIT}/data/training/007bbfb7.json"
    )


def test_the_pinned_digests_are_those_of_the_released_files(released):
    for file in RELEASE.files:
        content = (released / file.name).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.bytes)


def test_the_licence_is_the_one_declared(released):
    text = (released / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Copyright 2019 Francois Chollet" in text


def test_the_command_takes_the_released_files(released, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", "suites", "fetch", "arc", "--from", str(released)],
        cwd=ROOT, env={"PLANARENA_DATA": str(tmp_path), "PATH": ""}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("801 files, all with their SHA-256, such as ")
    assert done.stdout.count("\n") == 1
    assert RELEASE.problem_of(tmp_path / "suites" / "arc") is None
    (tmp_path / "suites/arc/data/evaluation/00576224.json").write_text("{}")
    assert "00576224.json was changed after it was fetched; run `planarena suites fetch arc` again" in str(
        RELEASE.problem_of(tmp_path / "suites" / "arc")
    )


def test_downloads_go_to_the_folders_of_the_released_layout(tmp_path):
    content = b'{"train": [], "test": []}'
    file = replace(TASK_FILES[0], sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    small = replace(RELEASE, files=(file,))
    small.fetch(download=lambda _: content, target=tmp_path / "arc")
    assert (tmp_path / "arc/data/training/007bbfb7.json").read_bytes() == content
    assert small.problem_of(tmp_path / "arc") is None


def test_a_wrong_download_leaves_nothing_behind(tmp_path):
    with pytest.raises(FetchError, match=r"007bbfb7\.json is not the released data/training/007bbfb7\.json: 5 bytes"):
        RELEASE.fetch(download=lambda _: b"sorry", target=tmp_path / "arc")
    assert not (tmp_path / "arc").exists()
