"""A pod with vLLM: a receiver takes a model's files and has the engine serve them, one model after the other."""

import os
import re
import shutil
import signal
import subprocess

import psutil
import pytest

from gpu_jobs.model_server import PORT_OFFSET
from gpu_jobs.model_server.serving import Engine
from gpu_jobs.model_server.serving import parser as server_options
from tests.gpu_jobs.test_local_launcher import until
from tests.k8s.chart import build, containers_of, environment_of, named, pod_of


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


def test_an_engine_that_a_model_takes_over_holds_no_secret_and_reaches_nothing():
    """Tokenizers and chat templates of submitted models run in it, by vLLM's own code."""
    manifests = build("production with vLLM")
    pod = pod_of(named(manifests, "Deployment", "planarena-models-gpu"))
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert not {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"} & set(pod)
    assert pod["runtimeClassName"] == "gvisor"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert all(set(volume) == {"name", "emptyDir"} and "sizeLimit" in volume["emptyDir"] for volume in pod["volumes"])
    (receiver,), (engine,) = pod["initContainers"], pod["containers"]
    for container in (receiver, engine):
        assert "envFrom" not in container
        assert all("valueFrom" not in variable for variable in container["env"])
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
    assert not re.findall("PLANARENA|TOKEN|KEY|SECRET|PROXY", " ".join(environment_of(engine)))
    assert not [argument for argument in engine["command"] if "trust" in argument]
    writable = [
        {mount["name"] for mount in one["volumeMounts"] if not mount.get("readOnly")} for one in (receiver, engine)
    ]
    assert writable[0] & writable[1] == {"engine"}
    policy = named(manifests, "NetworkPolicy", "models-gpu")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in policy
    (peers,) = policy["ingress"]
    (peer,) = peers["from"]
    assert peer["podSelector"]["matchLabels"] == {
        "app.kubernetes.io/component": "worker", "planarena.io/pool": "gpu",
    }  # fmt: skip
    assert set(peer) == {"podSelector"}


class Container:
    """The engine's container, with a folder of its own and a program that only waits in place of vLLM. It has begun
    once `stopped`, which an earlier one leaves, is removed."""

    def __init__(self, folder, *, prefix=(), before=""):
        (_, engine) = containers_of(named(build("production with vLLM"), "Deployment", "planarena-models-gpu"))
        pause = f"sleep 0.05; echo x >> {folder}/looks"
        script = engine["command"][2].replace("/tmp", f"{folder}/tmp").replace("/dev/shm", f"{folder}/shm")
        script = script.replace("/engine", str(folder)).replace("sleep 1", pause)
        program = f"{before} echo x >> {folder}/started; exec {shutil.which('sleep')} 60"
        self.folder = folder
        (folder / "stopped").touch()
        command = [*prefix, "sh", "-c", script, "engine", "sh", "-c", program]
        self.process = subprocess.Popen(command, start_new_session=True)
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
def test_neither_processes_nor_files_of_a_model_are_left_for_the_next(tmp_path):
    for name in ("tmp", "shm"):
        (tmp_path / name).mkdir()
    leave = f"setsid sleep 61 & touch {tmp_path}/tmp/x {tmp_path}/tmp/.x {tmp_path}/shm/x;"
    own = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    container = Container(tmp_path, prefix=own, before=leave)
    try:
        container.serve()
        processes = psutil.Process(container.process.pid)
        assert "61" in [child.cmdline()[-1] for child in processes.children(recursive=True)]
        Engine(tmp_path, look_seconds=0.02).stop()
        assert "61" not in [child.cmdline()[-1] for child in processes.children(recursive=True) if child.cmdline()]
        assert not [*(tmp_path / "tmp").iterdir(), *(tmp_path / "shm").iterdir()]
    finally:
        container.kill()


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
