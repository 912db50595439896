"""Which sandbox is found, and what a worker does where it is not enough."""

import shutil

import pytest

from evaluator.planners.language_models import ModelError, ModelUnusableError
from gpu_jobs.model_server import opening
from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import ALLOW_UNSANDBOXED, Sandbox, detected, judged
from gpu_jobs.model_server.opening import most_memory, submitted_model_opener
from tests.gpu_jobs.model_server.isolation.test_sandbox import FULL, OWN, named


def test_this_machine_has_every_layer():
    found = detected()
    assert found.sandbox.layers == FULL[-1]
    assert found.problem == ""
    assert found.line() == f"Submitted models are confined by: {', '.join(sorted(FULL[-1]))}."


@pytest.mark.full
def test_without_bubblewrap_namespaces_take_its_place(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = detected.__wrapped__()
    assert found.sandbox.layers == FULL[0]
    assert Layer.NAMESPACES in found.sandbox.layers
    assert not found.problem


ONE_MISSING = [full - {one} for full in FULL for one in sorted(full - {Layer.LIMITS, Layer.SECCOMP})]


@pytest.mark.parametrize("layers", [OWN, *FULL, *ONE_MISSING], ids=named)
def test_a_layer_whose_effect_another_one_has_may_be_missing(layers):
    assert not judged(layers).problem


@pytest.mark.parametrize(
    ("layers", "complaint"),
    [
        (set(), "from other files, the network, other processes and more than its share of this machine"),
        ({Layer.LIMITS, Layer.SECCOMP}, "cannot keep them from other files;"),
        ({Layer.LIMITS, Layer.LANDLOCK}, "from the network, other processes and more than its share of this machine;"),
        *((full - {Layer.SECCOMP}, "cannot keep them from more than its share of this machine;") for full in FULL),
        ({Layer.NAMESPACES}, "cannot keep them from more than its share of this machine;"),
    ],
)
def test_what_is_not_enough_is_said_in_one_line(layers, complaint, monkeypatch):
    monkeypatch.delenv(ALLOW_UNSANDBOXED, raising=False)
    found = judged(frozenset(layers))
    assert complaint in found.problem
    assert found.problem in found.line()
    assert "\n" not in found.line()
    assert ALLOW_UNSANDBOXED in found.problem
    monkeypatch.setenv(ALLOW_UNSANDBOXED, "1")
    assert "loaded nevertheless" in found.line()


def test_models_are_refused_where_there_is_no_sandbox_unless_the_operator_allows_it(monkeypatch, tmp_path):
    monkeypatch.setattr(opening, "detected", lambda: judged(frozenset()))
    monkeypatch.delenv(ALLOW_UNSANDBOXED, raising=False)
    with pytest.raises(ModelError, match="loads no submitted models") as caught:
        submitted_model_opener()(tmp_path, name="m", device="cpu", source={})
    assert not isinstance(caught.value, ModelUnusableError), "another worker may have a sandbox"
    for other in ("0", "true", ""):
        monkeypatch.setenv(ALLOW_UNSANDBOXED, other)
        with pytest.raises(ModelError, match="loads no submitted models"):
            submitted_model_opener()(tmp_path, name="m", device="cpu", source={})
    monkeypatch.setenv(ALLOW_UNSANDBOXED, "1")
    with pytest.raises(ModelUnusableError, match="There are no weights"):
        submitted_model_opener()(tmp_path, name="m", device="cpu", source={})


@pytest.mark.full
def test_a_server_that_does_not_start_has_no_layers():
    assert Sandbox(layers=OWN, program=("-c", "raise SystemExit('no')")).probe() is None


@pytest.mark.full
def test_a_layer_that_does_not_hold_is_found_missing():
    # It says that it has put on less than it was told to.
    program = (
        "import sys\nfrom gpu_jobs.model_server.server import channel_socket, serve\n"
        "from gpu_jobs.model_server.channel import Channel\nserve(Channel(channel_socket()), confined_by=['limits'])"
    )
    assert Sandbox(layers=OWN, program=("-c", program)).probe() == {Layer.LIMITS}


def test_memory_follows_from_the_weights_or_is_set_by_the_operator(tmp_path, monkeypatch):
    monkeypatch.delenv(opening.MEMORY, raising=False)
    empty = most_memory(tmp_path)
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(1_000_000)
    assert most_memory(tmp_path) == empty + 5_000_000
    monkeypatch.setenv(opening.MEMORY, "1GB")
    assert most_memory(tmp_path) == 10**9
