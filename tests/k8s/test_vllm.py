"""A pod with vLLM: a receiver takes a model's files and has the engine serve them, one model after the other."""

import os
import shutil
import signal
import subprocess
import time

import psutil
import pytest

from gpu_jobs.model_server.engine import PORT_OFFSET, Engine
from gpu_jobs.model_server.serving import parser as server_options
from tests.k8s.chart import build, containers_of, environment_of, named


def test_vllm_serves_what_a_receiver_takes():
    item = named(build("production with vLLM"), "Deployment", "planarena-models-gpu")
    receiver, engine = containers_of(item)
    assert receiver["restartPolicy"] == "Always"
    assert "vllm" not in receiver["image"]
    assert {"name": "model", "mountPath": "/model", "readOnly": True} in engine["volumeMounts"]
    shared = {mount["name"] for mount in receiver["volumeMounts"]} & {mount["name"] for mount in engine["volumeMounts"]}
    assert {"model", "engine"} <= shared
    options = server_options().parse_args(receiver["command"][3:])
    assert str(options.engine_control) in {mount["mountPath"] for mount in engine["volumeMounts"]}
    assert str(options.folder) == "/model"
    arguments = engine["command"][4:]
    assert arguments[:3] == ["vllm", "serve", "/model"]
    assert int(arguments[arguments.index("--port") + 1]) == options.listen.port + PORT_OFFSET
    assert arguments[-2:] == ["--max-model-len", "4096"]
    worker = named(build("production with vLLM"), "Deployment", "planarena-pool-gpu")
    assert environment_of(containers_of(worker)[0])["PLANARENA_MODEL_ENGINE"] == "vllm"
    assert environment_of(engine)["HF_HUB_OFFLINE"] == "1"


class Container:
    """The engine's container, with a folder of its own and a program that only waits in place of vLLM."""

    def __init__(self, folder):
        (_, found) = containers_of(named(build("production with vLLM"), "Deployment", "planarena-models-gpu"))
        script = found["command"][2].replace("/engine", str(folder)).replace("sleep 1", "sleep 0.05")
        program = f"echo x >> {folder}/started; exec {shutil.which('sleep')} 60"
        self.folder = folder
        self.process = subprocess.Popen(["sh", "-c", script, "engine", "sh", "-c", program], start_new_session=True)

    def kill(self):
        """All its processes at once, as the kernel does when it has no memory left."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def started(self):
        path = self.folder / "started"
        return path.read_text().count("x") if path.exists() else 0

    def has(self, name):
        return (self.folder / name).exists()


@pytest.fixture
def container(tmp_path):
    """One that waits for a model."""
    found = Container(tmp_path)
    yield found
    found.kill()


def until(holds):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.full
def test_the_engine_runs_while_it_is_wanted_and_starts_again_for_the_next_model(container):
    receiver = Engine(container.folder, look_seconds=0.02)
    for number in (1, 2):
        (container.folder / "serve").touch()
        until(lambda number=number: container.started == number)
        assert container.has("running")
        receiver.stop()
        assert not container.has("running")
    assert container.process.poll() is None


@pytest.mark.full
def test_an_engine_that_ends_by_itself_is_not_started_again_for_the_same_model(container):
    (container.folder / "serve").touch()
    until(lambda: container.started == 1)
    for child in psutil.Process(container.process.pid).children():
        if child.cmdline()[-1] == "60":
            child.kill()
    until(lambda: not container.has("running"))
    assert not container.has("serve")
    time.sleep(0.3)
    assert container.started == 1


@pytest.mark.full
def test_a_container_that_was_killed_says_that_its_engine_is_gone(container, tmp_path):
    (container.folder / "serve").touch()
    until(lambda: container.started == 1)
    container.kill()
    assert container.has("running"), "nobody was left to remove it"
    again = Container(tmp_path)
    try:
        until(lambda: not container.has("running"))
        assert not container.has("serve")
        assert container.started == 1
    finally:
        again.kill()


@pytest.mark.full
def test_a_model_that_is_there_before_the_engine_s_container_is_served(tmp_path):
    (tmp_path / "serve").touch()
    found = Container(tmp_path)
    try:
        until(lambda: found.started == 1)
    finally:
        found.kill()


@pytest.mark.full
def test_a_terminated_pod_ends_after_its_model(container):
    (container.folder / "serve").touch()
    until(lambda: container.started == 1)
    container.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert container.process.poll() is None, "its worker is being served"
    (container.folder / "serve").unlink()
    assert container.process.wait(timeout=20) == 0
    assert {path.name for path in container.folder.iterdir()} == {"started", "stopped"}


@pytest.mark.full
def test_an_idle_engine_ends_at_once(container):
    time.sleep(0.3)
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(timeout=20) == 0
