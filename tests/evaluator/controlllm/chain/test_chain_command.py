"""The command `planarena chain`."""

import json

import pytest
from PIL import Image as PillowImage
from typer.testing import CliRunner

from evaluator.cli.main import app


def call(*arguments):
    return CliRunner().invoke(app, ["chain", *map(str, arguments)])


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "a.png"
    PillowImage.new("RGB", (64, 64), (200, 200, 200)).save(path)
    return path


def test_a_request_with_a_file_is_served_and_its_results_written(picture, tmp_path):
    out = tmp_path / "out"
    found = call("Make the edge map of a.png.", "--file", picture, "--out", out)
    assert found.exit_code == 0, found.output
    assert "image_to_edge" in found.output
    (written,) = out.iterdir()
    assert str(written) in found.output.replace("\n", "")
    assert PillowImage.open(written).size == (64, 64)


def test_a_task_of_a_suite_is_served_with_a_transcript(tmp_path):
    file = tmp_path / "transcript.json"
    found = call(
        "--suite", "toolworld", "--split", "validation", "--task", "count_object/4", "--sample", 1,
        "--out", tmp_path / "out", "--output", file,
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "Corrections at run time" in found.output
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["version"] == "chain/1"
    assert document["corrections"][0]["what"] == "condition: yellow stars visible -> yellow star"
    assert [(tmp_path / "out" / name).read_text(encoding="utf-8") for name in document["results"]] == ["3"]


def test_as_planned_a_failed_subtask_is_said_and_the_exit_code_is_1(tmp_path):
    found = call(
        "--suite", "toolworld", "--split", "validation", "--task", "image_segmentation/3", "--as-planned",
        "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    assert found.exit_code == 1
    document = json.loads(found.stdout)
    assert document["corrections"] == []
    assert not document["complete"]
    assert "I could not do" in document["response"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the request has no words"),
        (("What is it?", "--file", "nothing.png"), "there is no file 'nothing.png'"),
        (("Cut the moon out of b.png.",), "the request names b.png; give it with --file b.png=PATH"),
        (("--suite", "nothing", "--task", "x"), "there is no suite 'nothing'; there are:"),
        (("--suite", "toolworld"), "--suite needs --task"),
        (("--suite", "toolworld", "--task", "nothing/0"), "nothing/0"),
        (("--suite", "toolmini", "--task", "QA/0"), "judges plans without executing them"),
        (("--suite", "openagi", "--task", "0"), "the tools of openagi are not ControlLLM's"),
        (("Count.", "--suite", "toolworld", "--task", "count_object/0"), "not both"),
        (("Count.", "--planner", "openagi/zero-shot"), "needs a language model"),
        (("Count.", "--planner", "visprog:scripted:x"), "has no chain of stages to run"),
        (("Count.", "--planner", "controlllm/best"), "there is no strategy 'controlllm/best'"),
        (("Count.", "--profile", "nothing"), "no profile 'nothing'"),
    ],
)
def test_bad_usage_is_said_in_a_sentence(arguments, sentence):
    found = call(*arguments)
    assert found.exit_code == 2, found.output
    assert sentence in " ".join(found.stderr.split())


def test_two_files_of_one_name_are_refused(picture, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.png").write_bytes(picture.read_bytes())
    found = call("What is it?", "--file", picture, "--file", other / "a.png")
    assert found.exit_code == 2
    assert "two files are called 'a.png'" in found.stderr


def test_a_language_model_that_fails_is_said(tmp_path, picture):
    script = tmp_path / "script.jsonl"
    script.write_text('{"pattern": "", "failure": "unavailable", "message": "It is closed."}\n', encoding="utf-8")
    found = call("What is it?", "--file", picture, "--planner", f"controlllm/adaptive:scripted:{script}")
    assert found.exit_code == 4
    assert "It is closed." in found.stderr
