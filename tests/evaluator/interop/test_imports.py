"""Runs that the packages of other harnesses wrote (`make_runs.py`), and what strangers may write instead."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.client.options import facts_of_import, plans_of_file
from evaluator.core.suites.registry import suite_of
from evaluator.interop.imports import bounded_files
from evaluator.interop.imports.planner import import_document, read_imported
from evaluator.interop.imports.run import VERSION, ImportDocument, RunError
from tests.evaluator.interop.make_runs import ANSWERS, USAGE

RUNS = Path(__file__).parent / "runs"
SUITE = suite_of("toolmini")


def converted(name: str, **options) -> dict:
    return import_document(RUNS / name, suite=options.get("suite", SUITE))


@pytest.mark.parametrize("name", ["inspect.eval", "inspect.json", "verifiers.jsonl", "harbor"])
def test_every_format_gives_the_same_plans_and_usage(name):
    document = converted(name)
    assert set(document["plans"]) == set(ANSWERS)
    for task, answer in ANSWERS.items():
        plan = document["plans"][task]["plan"]
        if isinstance(answer, str):
            assert plan == answer
        else:
            (call,) = plan["tool_calls"]
            assert call["function"]["name"] == answer[0]
            assert json.loads(call["function"]["arguments"]) == answer[1]
        counts = document["usage"][task]
        assert counts["prompt_tokens"] == USAGE["prompt"] + USAGE["cached"], "cached tokens are part of the prompt"
        assert (counts["cached_tokens"], counts["completion_tokens"]) == (USAGE["cached"], USAGE["completion"])
    assert len(document["missing"]) == len(SUITE.tasks) - len(ANSWERS)
    assert document["source"]["format"] == name.partition(".")[0]
    assert document["source"]["model"]


def test_the_run_says_what_was_left_out():
    assert "3 answers of further epochs were left out: a task has one plan." in converted("inspect.json")["ignored"]
    assert converted("inspect.json")["source"]["conditions"] == {"status": "success", "temperature": 0.5}
    assert converted("verifiers.jsonl")["lacking"] == {"QA/1": "the rollout failed"}


def test_a_plans_file_is_a_run_too(tmp_path):
    file = tmp_path / "plans.json"
    file.write_text(json.dumps({"QA/0": "[]"}))
    assert import_document(file, suite=SUITE)["plans"] == {"QA/0": {"plan": "[]"}}


def test_from_a_log_to_a_paired_comparison(tmp_path):
    """Plans are judged here, missing tasks are not run, and only common tasks are compared."""
    imported, report, gold = (tmp_path / name for name in ("imported.json", "report.json", "gold.json"))

    def run(*arguments) -> str:
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done.stdout

    said = run("import", RUNS / "inspect.json", "--suite", "toolmini", "--output", imported)
    assert f"3 plans; {len(SUITE.tasks) - 3} tasks of toolmini have none and will be not_run" in said
    run("evaluate", "--suite", "toolmini", "--planner", f"imported:{imported}", "--output", report)
    document = json.loads(report.read_text())
    assert document["imported"]["label"] == "imported, plans re-scored here"
    assert document["planner"] == "mockllm/model"
    assert document["summary"]["outcomes"]["not_run"] == len(SUITE.tasks) - 3
    by_task = {record["task"]: record for record in document["results"]}
    assert by_task["QA/5"]["reason"] == "not_in_run"
    assert by_task["QA/0"]["planner"]["cached_tokens"] == USAGE["cached"]
    assert by_task["QA/0"]["score"] is not None, "the harness's score of 0 or 1 is not taken over"
    run("evaluate", "--suite", "toolmini", "--planner", "gold", "--output", gold)
    gated = CliRunner().invoke(app, ["gate", str(report), "--baseline", str(gold), "--json"])
    assert json.loads(gated.stdout)["suites"][0]["tasks"] == 3
    assert read_imported(RUNS / "inspect.json", suite=SUITE).name == "mockllm/model", "a run needs no document"


def test_an_imported_run_is_submitted_like_a_plans_file(tmp_path):
    file = tmp_path / "imported.json"
    file.write_text(json.dumps(converted("harbor")))
    assert set(plans_of_file(file)["plans"]) == set(ANSWERS)
    facts = facts_of_import(file)
    assert facts["model_name"] == "scripted/model"
    assert facts["description"].startswith("Imported, plans re-scored here (harbor, scripted 1")
    file.write_text('{"QA/0": "[]"}')
    assert facts_of_import(file) == {}


def test_an_import_of_another_suite_is_refused(tmp_path):
    file = tmp_path / "imported.json"
    file.write_text(json.dumps({**converted("harbor"), "suite": "toolworld"}))
    with pytest.raises(RunError, match="was imported for the suite 'toolworld', not 'toolmini'"):
        read_imported(file, suite=SUITE)


def zipped(path: Path, members: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


HEADER = json.dumps({"version": 2, "status": "success", "eval": {"model": "m"}}).encode()
SAMPLE = {"id": "QA/0", "epoch": 1, "output": {"choices": [{"message": {"content": "[]"}}]}}


def refused(path: Path) -> str:
    done = CliRunner().invoke(app, ["import", str(path), "--suite", "toolmini"])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return done.stderr


def test_a_zip_bomb_is_refused_whatever_its_directory_says(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_files, "MOST_MEMBER_BYTES", 100_000)
    bomb = zipped(tmp_path / "bomb.eval", {"header.json": HEADER, "samples/a.json": b"[" + b" " * 10**7})
    assert "unpacks to more than 100,000 bytes" in refused(bomb)
    data = bytearray(bomb.read_bytes())
    size = (10**7 + 1).to_bytes(4, "little")
    while (place := data.find(size)) >= 0:
        data[place : place + 4] = (10).to_bytes(4, "little")
    lying = tmp_path / "lying.eval"
    lying.write_bytes(data)
    assert refused(lying)


def test_a_bomb_in_zstandard_is_refused(tmp_path, monkeypatch):
    import pyarrow

    packed = pyarrow.Codec("zstd").compress(b" " * 10**7, asbytes=True)
    path = zipped(tmp_path / "bomb.eval", {"header.json": packed}, compression=zipfile.ZIP_STORED)
    # The method is in the local header and in the directory.
    data = path.read_bytes().replace(b"PK\x03\x04\x14\x00\x00\x00\x00\x00", b"PK\x03\x04\x14\x00\x00\x00\x5d\x00")
    place = data.rindex(b"PK\x01\x02")
    path.write_bytes(data[: place + 10] + b"\x5d\x00" + data[place + 12 :])
    monkeypatch.setattr(bounded_files, "MOST_MEMBER_BYTES", 100_000)
    assert "unpacks to more than 100,000 bytes" in refused(path)


def test_the_unpacked_sizes_of_all_members_are_limited_together(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_files, "MOST_UNPACKED_BYTES", 50_000)
    sample = json.dumps({**SAMPLE, "metadata": {"x": "y" * 20_000}}).encode()
    path = zipped(tmp_path / "many.eval", {"header.json": HEADER} | {f"samples/{n}.json": sample for n in range(5)})
    assert "unpacks to more than" in refused(path)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("deep.json", b'{"eval":' + b"[" * 100_000, "nested too deeply"),
        ("deep.eval", None, "nested too deeply"),
        ("text.eval", b"no zip", "is no zip"),
        ("broken.json", b'{"eval": {}, "status"', "is not JSON"),
        ("binary.jsonl", b"\xff\xfe\x00", "no UTF-8 text"),
        ("empty.jsonl", b"", "is not JSON"),
        ("other.json", json.dumps({"version": 1, "status": "success", "eval": {}}).encode(), "in version 2"),
        ("list.json", b"[1, 2]", "each is an object with"),
        ("strange.json", json.dumps({"no such task": "[]"}).encode(), "is a task of the suite, such as"),
        (
            "wrong.json",
            json.dumps({"version": 2, "status": 3, "eval": {}, "samples": [3, {"id": []}]}).encode(),
            "none",
        ),
    ],
)
def test_damaged_and_strange_files_are_refused_with_a_sentence(tmp_path, name, data, sentence):
    path = tmp_path / name
    if data is None:
        zipped(path, {"header.json": b"[" * 100_000})
    else:
        path.write_bytes(data)
    assert sentence in refused(path)


def test_fields_of_other_types_are_no_answer(tmp_path):
    path = tmp_path / "log.json"
    samples = [
        {**SAMPLE, "id": "QA/1", "output": {"choices": "x"}},
        {**SAMPLE, "id": "QA/2", "output": {"choices": [{"message": {"content": [{"type": "text", "text": 3}]}}]}},
        {**SAMPLE, "id": "QA/3", "error": {"message": "boom"}},
        {**SAMPLE, "model_usage": {"m": {"input_tokens": "many", "output_tokens": -3}, "n": 5}, "epoch": "first"},
    ]
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": {"packages": 3}, "samples": samples}))
    document = import_document(path, suite=SUITE)
    assert set(document["plans"]) == {"QA/0"}
    assert set(document["lacking"]) == {"QA/1", "QA/2", "QA/3"}
    assert all(count == 0 for count in document["usage"]["QA/0"].values())


def test_links_and_pipes_in_a_folder_are_not_read(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"task_name": "QA/0", "agent_result": {}}))
    job = tmp_path / "job"
    (job / "trial").mkdir(parents=True)
    (job / "trial" / "result.json").symlink_to(secret)
    assert "without any result.json" in refused(job)
    os.mkfifo(job / "result.json")
    assert "no regular file" in refused(job)


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_files, "MOST_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.json").write_text("{}")
    assert "more than 3 files" in refused(tmp_path)


@pytest.mark.parametrize("suite", ["", "x" * 51, "\ud800", "a\x00"])
def test_a_document_names_a_suite_that_can_be_stored(suite):
    document = {"version": VERSION, "suite": suite, "source": {}, "plans": {"0": {"plan": "x"}}, "usage": {}}
    with pytest.raises(RunError, match="no name of a suite"):
        ImportDocument.of(document)


def test_usage_of_tasks_without_a_plan_is_left_out():
    usage = {"0": {"prompt_tokens": 3}, "\ud800": {"prompt_tokens": 4}}
    document = {"version": VERSION, "suite": "toolmini", "source": {}, "plans": {"0": {"plan": "x"}}, "usage": usage}
    assert ImportDocument.of(document).usage == {"0": {"prompt_tokens": 3}}
