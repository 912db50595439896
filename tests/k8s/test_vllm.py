"""A pod with vLLM: a receiver takes a model's files and has the engine serve them, one model after the other."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.k8s.chart import build, containers_of, environment_of, named


def test_vllm_serves_what_a_receiver_takes():
    item = named(build("production with vLLM"), "Deployment", "planarena-models-gpu")
    receiver, engine = containers_of(item)
    assert receiver["restartPolicy"] == "Always"
    assert "vllm" not in receiver["image"]
    assert {"name": "model", "mountPath": "/model", "readOnly": True} in engine["volumeMounts"]
    shared = {mount["name"] for mount in receiver["volumeMounts"]} & {mount["name"] for mount in engine["volumeMounts"]}
    assert {"model", "engine"} <= shared
    listening = receiver["command"][receiver["command"].index("--listen") + 1]
    arguments = engine["command"][4:]
    assert arguments[:3] == ["vllm", "serve", "/model"]
    # The worker looks for it at the port after the receiver's.
    assert int(arguments[arguments.index("--port") + 1]) == int(listening.rpartition(":")[2]) + 1
    assert arguments[-2:] == ["--max-model-len", "4096"]
    worker = named(build("production with vLLM"), "Deployment", "planarena-pool-gpu")
    assert environment_of(containers_of(worker)[0])["PLANARENA_MODEL_ENGINE"] == "vllm"
    assert environment_of(engine)["HF_HUB_OFFLINE"] == "1"


@pytest.fixture
def engine(tmp_path):
    """The engine's container, with a folder of its own and a program that only waits in place of vLLM."""
    (_, found) = containers_of(named(build("production with vLLM"), "Deployment", "planarena-models-gpu"))
    script = found["command"][2].replace("/engine", str(tmp_path)).replace("sleep 1", "sleep 0.05")
    program = f"echo x >> {tmp_path}/started; exec {shutil.which('sleep')} 60"
    process = subprocess.Popen(["sh", "-c", script, "engine", "sh", "-c", program], start_new_session=True)
    yield tmp_path, process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def until(holds):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_engine_runs_while_it_is_wanted_and_starts_again_for_the_next_model(engine):
    folder, process = engine
    for number in (1, 2):
        (folder / "serve").touch()
        until(lambda number=number: started(folder) == number)
        assert (folder / "running").exists()
        (folder / "serve").unlink()
        until(lambda: not (folder / "running").exists())
    assert process.poll() is None


def test_a_terminated_pod_ends_at_once_when_idle_and_after_its_model_otherwise(engine):
    folder, process = engine
    (folder / "serve").touch()
    until(lambda: started(folder) == 1)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None, "its worker is being served"
    (folder / "serve").unlink()
    assert process.wait(timeout=20) == 0
    assert {path.name for path in folder.iterdir()} == {"started", "stopped"}


def test_an_idle_engine_ends_at_once(engine):
    _, process = engine
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0


def started(folder: Path) -> int:
    path = folder / "started"
    return path.read_text().count("x") if path.exists() else 0
