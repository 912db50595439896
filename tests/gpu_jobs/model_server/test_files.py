"""What a worker finds out about a model's files before it is loaded: their digests, and how long loading may take."""

import os

import pytest

from evaluator.execution.experts import weights
from evaluator.execution.experts.weights import WeightsError, weights_digest
from evaluator.planners.language_models import ModelError
from gpu_jobs.model_server.client import DEADLINES
from gpu_jobs.model_server.digests import file_digest, model_digest, model_digest_soon
from gpu_jobs.model_server.opening import deadlines_set


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "SETTLED_SECONDS", -60)
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "card.md").write_text("Not counted.")
    return tmp_path


@pytest.fixture
def read(monkeypatch):
    """The files that were read, by name."""
    names, digest = [], weights.file_digest
    monkeypatch.setattr(weights, "file_digest", lambda path: names.append(path.name) or digest(path))
    return names


def test_the_digest_is_the_one_that_a_model_server_reports(folder):
    assert model_digest(folder) == model_digest_soon(folder).result(timeout=10) == weights_digest(folder)


def test_a_file_is_read_once(folder, read):
    file_digest(folder / "model.safetensors")
    assert model_digest(folder) == model_digest(folder)
    assert sorted(read) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("change", ["bytes", "times", "another file"])
def test_a_file_that_changes_is_read_again(folder, read, change):
    path = folder / "model.safetensors"
    before, found = model_digest(folder), path.stat()
    if change == "another file":
        (folder / "other").write_bytes(b"WEIGHTS")
        (folder / "other").replace(path)
    else:
        path.write_bytes(b"WEIGHTS" if change == "times" else b"more weights")
    # Whoever changes a file can set its time of change, but not the one that its system keeps.
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert model_digest(folder) != before
    assert read.count("model.safetensors") == 2


def test_a_folder_without_weights_has_no_digest(tmp_path):
    with pytest.raises(WeightsError, match="there are no weights"):
        model_digest_soon(tmp_path).result(timeout=10)


def test_deadlines_are_set_by_the_operator():
    set_here = deadlines_set(environment={"PLANARENA_MODEL_LOAD_SECONDS": "20", "PLANARENA_MODEL_CALL_SECONDS": "0.5"})
    assert (set_here.load, set_here.answer, set_here.call) == (20.0, DEADLINES.answer, 0.5)
    for wrong in ("soon", "0", "-1", "inf", "nan"):
        with pytest.raises(ModelError, match=r"PLANARENA_MODEL_ANSWER_SECONDS is '.*', which is not a number of"):
            deadlines_set(environment={"PLANARENA_MODEL_ANSWER_SECONDS": wrong})


def test_a_small_model_that_hangs_keeps_its_worker_for_minutes_and_a_large_one_has_time():
    small, large = deadlines_set(weights=20_000, environment={}), deadlines_set(weights=40 * 10**9, environment={})
    assert (round(small.load), round(small.answer), round(small.call)) == (120, 30, 5)
    assert large == DEADLINES
    assert deadlines_set(environment={}) == DEADLINES
    # What the operator sets counts whatever the size.
    set_here = {"PLANARENA_MODEL_LOAD_SECONDS": "700"}
    assert deadlines_set(weights=20_000, environment=set_here).load == 700
