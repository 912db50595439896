"""A pod with vLLM: a receiver takes a model's files and has the engine serve them, one model after the other."""

import os
import shutil
import signal
import subprocess

import psutil
import pytest

from gpu_jobs.model_server import PORT_OFFSET
from gpu_jobs.model_server.serving import Engine
from gpu_jobs.model_server.serving import parser as server_options
from tests.gpu_jobs.test_local_launcher import until
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
    """The engine's container, with a folder of its own and a program that only waits in place of vLLM. It has begun
    once `stopped`, which an earlier one leaves, is removed."""

    def __init__(self, folder):
        (_, found) = containers_of(named(build("production with vLLM"), "Deployment", "planarena-models-gpu"))
        pause = f"sleep 0.05; echo x >> {folder}/looks"
        script = found["command"][2].replace("/engine", str(folder)).replace("sleep 1", pause)
        program = f"echo x >> {folder}/started; exec {shutil.which('sleep')} 60"
        self.folder = folder
        (folder / "stopped").touch()
        self.process = subprocess.Popen(["sh", "-c", script, "engine", "sh", "-c", program], start_new_session=True)
        until(lambda: not self.has("stopped"))

    def kill(self):
        """All its processes at once, as the kernel does when it has no memory left."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def serve(self):
        """As the receiver asks, and the engine's next start."""
        before = self.count("started")
        (self.folder / "serve").touch()
        until(lambda: self.has("running") and self.count("started") == before + 1)

    def count(self, name):
        path = self.folder / name
        return path.read_text().count("x") if path.exists() else 0

    def has(self, name):
        return (self.folder / name).exists()


@pytest.fixture
def container(tmp_path):
    """One that waits for a model."""
    found = Container(tmp_path)
    yield found
    found.kill()


@pytest.mark.full
def test_the_engine_runs_while_it_is_wanted_and_once_for_each_model(container):
    receiver = Engine(container.folder, look_seconds=0.02)
    for _ in range(2):
        container.serve()
        receiver.stop()
        assert not container.has("running")
    container.serve()
    for child in psutil.Process(container.process.pid).children():
        if child.cmdline()[-1] == "60":
            child.kill()
    until(lambda: not container.has("running"))
    assert not container.has("serve"), "an engine that ends by itself is not started again for the same model"
    container.serve()
    assert container.count("started") == 4
    assert container.process.poll() is None


@pytest.mark.full
def test_a_model_that_waits_is_served_and_a_container_that_was_killed_says_that_its_engine_is_gone(tmp_path):
    (tmp_path / "serve").touch()
    first = Container(tmp_path)
    try:
        until(lambda: first.count("started") == 1)
    finally:
        first.kill()
    assert first.has("running"), "nobody was left to remove it"
    again = Container(tmp_path)
    try:
        until(lambda: not again.has("running"))
        assert not again.has("serve")
        assert again.count("started") == 1
    finally:
        again.kill()


@pytest.mark.full
def test_a_terminated_pod_ends_after_its_model_and_an_idle_one_at_once(container, tmp_path):
    container.serve()
    container.process.send_signal(signal.SIGTERM)
    before = container.count("looks")
    until(lambda: container.count("looks") > before + 3)
    assert container.process.poll() is None, "its worker is being served"
    (container.folder / "serve").unlink()
    assert container.process.wait(timeout=20) == 0
    assert {path.name for path in container.folder.iterdir()} == {"looks", "started", "stopped"}
    idle = Container(tmp_path)
    idle.process.send_signal(signal.SIGTERM)
    assert idle.process.wait(timeout=20) == 0
