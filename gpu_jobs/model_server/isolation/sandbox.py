"""The sandbox of model servers: what this machine offers for it, and starting a server in it.

Every layer holds by itself. Files are kept away by a file system of its own and by Landlock, the network by a network
namespace and by seccomp, other processes by a process namespace, by seccomp and by a user that owns nothing.
"""

import json
import logging
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import psutil

from evaluator.planners.language_models import ModelError
from evaluator.sandbox.isolation.privileges import unprivileged_user
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import ChannelError
from gpu_jobs.model_server.client import DEADLINES
from gpu_jobs.model_server.isolation import namespaces
from gpu_jobs.model_server.isolation.code import RANDOM, Code, code, gpu_devices, model_files
from gpu_jobs.model_server.isolation.confinement import Confinement, Layer
from gpu_jobs.model_server.process import ServerProcess

logger = logging.getLogger(__name__)
INSIDE = "/model"
"""Where the model's folder is in a file system of its own."""
ALLOW_UNSANDBOXED = "PLANARENA_ALLOW_UNSANDBOXED_MODELS"
_ISOLATING = frozenset({Layer.BUBBLEWRAP, Layer.NAMESPACES})
_MORE_THAN_ITS_SHARE = "more than its share of this machine"
_NEEDED = (
    ("other files", _ISOLATING | {Layer.LANDLOCK}),
    ("the network", _ISOLATING | {Layer.SECCOMP}),
    ("other processes", _ISOLATING | {Layer.SECCOMP}),
    (_MORE_THAN_ITS_SHARE, frozenset({Layer.LIMITS})),
    # The limits do not count all memory.
    (_MORE_THAN_ITS_SHARE, frozenset({Layer.SECCOMP})),
)
"""What a model must be kept from, and which layers do that, each by itself."""
_PROGRAM = ("-m", "gpu_jobs.model_server")
_PROBE_SECONDS, _PROBE_MEMORY = 30.0, 1 << 30
_PROCESSES = 512
_SPARE_BYTES, _SPARE_OF_A_CORE = 512 * 1024**2, 32 * 1024**2
"""Writable memory that a server may reserve beyond what it may hold, such as stacks of threads. The kernel's bound, for
what it takes between two looks of its worker."""
_START = "/tmp"  # noqa: S108 - its own, and read-only
"""The folder that it starts in: empty, except for its code where that lies below it."""
_DEVICES = (os.devnull, *RANDOM)
_CPU_HOURS = 24
_PASSED_ON = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Started:
    """A server that has said hello."""

    server: ServerProcess
    inside: str
    """The model's folder as the server sees it."""


class LayersMissingError(ModelError):
    """A server started, but without a part of its sandbox. It is ended."""

    def __init__(self, missing: frozenset[Layer], *, why: str) -> None:
        names = ", ".join(sorted(missing))
        super().__init__(f"The model server lacks a part of its sandbox: {names} ({why or 'it does not say why'}).")
        self.missing = missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Starts model servers with the layers that this machine has."""

    layers: frozenset[Layer]
    """Those to put on."""
    program: tuple[str, ...] = _PROGRAM
    """Arguments of the interpreter; tests give hostile ones."""
    start_seconds: float = DEADLINES.start

    def start(self, *, folder: Path | None, device: str, memory_bytes: int) -> Started:
        """Start a server.

        Args:
            folder: of the model that it may read; None: none.
            device: of torch.
            memory_bytes: that it may hold for itself.

        Raises:
            ModelUnusableError: the folder holds links that lead out of it.
            ModelError: the server does not start, or (`LayersMissingError`) without one of the layers.
        """
        files = {} if folder is None else model_files(folder)
        isolated = any(layer.isolates for layer in self.layers)
        inside = INSIDE if isolated else str(folder)
        confinement = self._confinement(
            files=files, folder=folder, isolated=isolated, device=device, memory_bytes=memory_bytes
        )
        if confinement.user is not None:
            for path in files.values():
                path.chmod(path.stat().st_mode | 0o044)
        needed = code(gpu=device != "cpu")
        command = [str(needed.interpreter), "-P", "-s", "-B", *self.program, confinement.model_dump_json()]
        environment = _environment(needed)
        if Layer.BUBBLEWRAP in self.layers:
            command = [*_bubblewrap(needed, files=files, confinement=confinement, environment=environment), *command]
        elif Layer.NAMESPACES in self.layers:
            command = _namespaces(needed, files=files, confinement=confinement, command=command)
        try:
            server = ServerProcess(command, environment=environment, memory_bytes=memory_bytes)
        except OSError as error:
            raise ModelError(f"The model server does not start: {error}.") from error
        self._greeted(server)
        return Started(server=server, inside=inside)

    def probe(self) -> frozenset[Layer] | None:
        """Which of its layers hold on this machine; None if no server starts with them."""
        try:
            started = replace(self, start_seconds=_PROBE_SECONDS).start(
                folder=None, device="cpu", memory_bytes=_PROBE_MEMORY
            )
        except LayersMissingError as error:
            return self.layers - error.missing
        except ModelError as error:
            logger.debug("%s", error)
            return None
        started.server.close()
        return self.layers

    def _greeted(self, server: ServerProcess) -> None:
        try:
            deadline = time.monotonic() + self.start_seconds
            hello = wire.Hello.model_validate_json(
                server.channel.receive(most=wire.MOST_SMALL_BYTES, deadline=deadline)
            )
            own = frozenset(map(Layer, hello.confined_by))
        except (ChannelError, ValueError) as error:
            server.kill()
            why = f"{error}; {server.end_in_words()}; {server.output() or 'it wrote nothing'}"
            server.close()
            raise ModelError(f"The model server does not start: {why}.") from None
        missing = frozenset(layer for layer in self.layers - own if not layer.isolates)
        if missing:
            server.close()
            raise LayersMissingError(missing, why=server.output())

    def _confinement(
        self, *, files: Mapping[str, Path], folder: Path | None, isolated: bool, device: str, memory_bytes: int
    ) -> Confinement:
        gpu = device != "cpu"
        needed = code(gpu=gpu)
        model = [Path(INSIDE)] if isolated else [*files.values(), *([] if folder is None else [folder])]
        own_user = Layer.OWN_USER in self.layers
        return Confinement(
            layers=tuple(sorted(self.layers)),
            readable=(*needed.bound, *needed.facts, *model),
            devices=gpu_devices() if gpu else (),
            user=unprivileged_user() if own_user else None,
            processes=_PROCESSES if own_user or isolated else _threads_of_user() + _PROCESSES,
            cpu_seconds=_CPU_HOURS * 3600 * (os.cpu_count() or 1),
            # What drivers of GPUs reserve is no measure of what they hold.
            data_bytes=None if gpu else memory_bytes + _SPARE_BYTES + _SPARE_OF_A_CORE * (os.cpu_count() or 1),
        )


def _bubblewrap(
    needed: Code, *, files: Mapping[str, Path], confinement: Confinement, environment: Mapping[str, str]
) -> list[str]:
    command = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if confinement.user is None:
        command += ["--unshare-all"]
    else:
        # Root makes them without a user namespace, in which only its own number would exist; the server then becomes
        # another user and loses these two.
        command += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    command += ["--clearenv", *(part for pair in environment.items() for part in ("--setenv", *pair))]
    command += ["--tmpfs", "/", "--proc", "/proc", "--dir", INSIDE, "--dir", _START]
    devices = [*map(Path, _DEVICES), *confinement.devices]
    # By itself it makes folders that only root may enter.
    for parent in _parents([*needed.bound, *devices, *(Path(INSIDE, name) for name in files)]):
        command += ["--dir", str(parent)]
    for path in needed.bound:
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), str(path)]
        else:
            command += ["--ro-bind", str(path), str(path)]
    for name, path in files.items():
        command += ["--ro-bind", str(path), f"{INSIDE}/{name}"]
    # Not by `--dev`, which leaves `/dev` writable memory, and has a device for shared memory, `/dev/zero`.
    for device in devices:
        command += ["--dev-bind-try", str(device), str(device)]
    return [*command, "--remount-ro", "/", "--chdir", _START, "--"]


def _namespaces(needed: Code, *, files: Mapping[str, Path], confinement: Confinement, command: list[str]) -> list[str]:
    plan: namespaces.Plan = {
        "binds": [
            *((str(path), str(path)) for path in needed.bound if not path.is_symlink()),
            *((str(path), f"{INSIDE}/{name}") for name, path in files.items()),
        ],
        "links": [(str(path), str(path.readlink())) for path in needed.bound if path.is_symlink()],
        "devices": [*_DEVICES, *map(str, confinement.devices)],
        "start": _START,
        "keeps_root": confinement.user is not None,
        "command": command,
    }
    return [str(needed.interpreter), "-I", "-S", "-B", str(namespaces.__file__), json.dumps(plan)]


def _parents(paths: Iterable[Path]) -> list[Path]:
    """The folders above these paths, those further up first."""
    return sorted({parent for path in paths for parent in path.parents if parent != Path("/")})


def _environment(needed: Code) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **kept,
        "HOME": _START,
        "LANG": "C.UTF-8",
        # It may run no other program. Some libraries look for a compiler while they are imported. Where they find one,
        # their import fails, since they cannot write the file to compile.
        "PATH": "",
        "PYTHONPATH": os.pathsep.join(map(str, needed.search)),
        "HF_HUB_OFFLINE": "1",
    }


def _threads_of_user() -> int:
    """Processes and threads that this user has already, which the limit counts too."""
    user, total = os.getuid(), 0
    for process in psutil.process_iter(["uids", "num_threads"]):
        uids, threads = process.info["uids"], process.info["num_threads"]
        total += threads or 0 if uids is not None and uids.real == user else 0
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The sandbox of this machine."""

    sandbox: Sandbox
    problem: str
    """Why submitted models are not loaded here, as a sentence; empty if they are."""

    def line(self) -> str:
        """For the operator, in the worker's log."""
        layers = ", ".join(sorted(self.sandbox.layers)) or "nothing"
        missing = ", ".join(sorted(_wanted() - self.sandbox.layers))
        allowed = os.environ.get(ALLOW_UNSANDBOXED) == "1"
        line = f"Submitted models are confined by: {layers}."
        if missing:
            line += f" Not available here: {missing}."
        if self.problem:
            line += f" They are loaded all the same, since {ALLOW_UNSANDBOXED}=1." if allowed else f" {self.problem}"
        return line


@cache
def detected() -> Found:
    """The sandbox with the most layers that a model server starts in on this machine. Takes about a second."""
    for layers in _candidates():
        holding = Sandbox(layers=layers).probe()
        if holding is not None:
            return judged(holding)
    return judged(frozenset())


def judged(layers: frozenset[Layer]) -> Found:
    """Whether these layers are enough."""
    lacking = list(dict.fromkeys(what for what, by in _NEEDED if not layers & by))
    problem = ""
    if lacking:
        problem = (
            f"This worker loads no submitted models, because its machine cannot keep them from {_in_words(lacking)}; "
            f"install bubblewrap and libseccomp, or set {ALLOW_UNSANDBOXED}=1 where a model may do anything that the "
            "worker may."
        )
    return Found(sandbox=Sandbox(layers=layers), problem=problem)


def _candidates() -> Iterator[frozenset[Layer]]:
    """Sets of layers to try, the best first."""
    always = frozenset({Layer.LANDLOCK, Layer.SECCOMP, Layer.LIMITS})
    for outer in (Layer.BUBBLEWRAP, Layer.NAMESPACES):
        if outer is Layer.BUBBLEWRAP and shutil.which("bwrap") is None:
            continue
        if os.geteuid() == 0:
            yield always | {outer, Layer.OWN_USER}
        yield always | {outer}
    # Without a file system of its own, another user would not reach the worker's folder with the model.
    yield always


def _wanted() -> frozenset[Layer]:
    outer = Layer.BUBBLEWRAP if shutil.which("bwrap") else Layer.NAMESPACES
    own_user = {Layer.OWN_USER} if os.geteuid() == 0 else set()
    return frozenset({Layer.LANDLOCK, Layer.SECCOMP, Layer.LIMITS, outer, *own_user})


def _in_words(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
