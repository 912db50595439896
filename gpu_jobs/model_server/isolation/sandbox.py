"""The sandbox of model servers: the layers of this machine, and starting a server.

Each protection has independent layers: of files a separate file system and Landlock, of the network a network namespace
and seccomp, of other processes a process namespace, seccomp and a user that owns nothing.
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
"""Path of the model's folder in a separate file system."""
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
"""Required protections, and the layers that each provide them."""
_PROGRAM = ("-m", "gpu_jobs.model_server")
_PROBE_SECONDS, _PROBE_MEMORY = 30.0, 1 << 30
_PROCESSES = 512
_SPARE_BYTES, _SPARE_OF_A_CORE = 512 * 1024**2, 32 * 1024**2
"""Memory that a server may reserve beyond its limit, such as stacks of threads. The kernel enforces this limit between
two checks of the worker."""
_START = "/tmp"  # noqa: S108 - in a read-only file system of its own
"""Working directory, empty except for code below it."""
_DEVICES = (os.devnull, *RANDOM)
_CPU_HOURS = 24
_PASSED_ON = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Started:
    """A running server."""

    server: ServerProcess
    inside: str
    """Path of the model's folder in the sandbox."""


class LayersMissingError(ModelError):
    """A server started without some layers of its sandbox, and was ended."""

    def __init__(self, missing: frozenset[Layer], *, why: str) -> None:
        names = ", ".join(sorted(missing))
        super().__init__(f"The model server lacks layers of its sandbox: {names} ({why or 'no reason given'}).")
        self.missing = missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Starts model servers with these layers."""

    layers: frozenset[Layer]
    program: tuple[str, ...] = _PROGRAM
    """Arguments of the interpreter; for tests."""
    start_seconds: float = DEADLINES.start

    def start(self, *, folder: Path | None, device: str, memory_bytes: int) -> Started:
        """Start a server.

        Args:
            folder: of the model; None: none.
            device: of torch.
            memory_bytes: limit of its private memory.

        Raises:
            ModelUnusableError: the folder contains links that lead out of it.
            ModelError: the server does not start, or starts without a layer (`LayersMissingError`).
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
        """The layers that work on this machine; None if no server starts with them."""
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
            why = f"{error}; {server.end_in_words()}; {server.output() or 'no output'}"
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
            # GPU drivers reserve far more than they use.
            data_bytes=None if gpu else memory_bytes + _SPARE_BYTES + _SPARE_OF_A_CORE * (os.cpu_count() or 1),
        )


def _bubblewrap(
    needed: Code, *, files: Mapping[str, Path], confinement: Confinement, environment: Mapping[str, str]
) -> list[str]:
    command = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if confinement.user is None:
        command += ["--unshare-all"]
    else:
        # Without a user namespace, in which no other user would exist: the server switches to another user, and then
        # loses these two capabilities.
        command += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    command += ["--clearenv", *(part for pair in environment.items() for part in ("--setenv", *pair))]
    command += ["--tmpfs", "/", "--proc", "/proc", "--dir", INSIDE, "--dir", _START]
    devices = [*map(Path, _DEVICES), *confinement.devices]
    # Created explicitly, since bubblewrap would create folders that only root may enter.
    for parent in _parents([*needed.bound, *devices, *(Path(INSIDE, name) for name in files)]):
        command += ["--dir", str(parent)]
    for path in needed.bound:
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), str(path)]
        else:
            command += ["--ro-bind", str(path), str(path)]
    for name, path in files.items():
        command += ["--ro-bind", str(path), f"{INSIDE}/{name}"]
    # Not with `--dev`, which leaves `/dev` writable and has `/dev/zero`, a device for shared memory.
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
    """All parent folders of these paths, in top-down order."""
    return sorted({parent for path in paths for parent in path.parents if parent != Path("/")})


def _environment(needed: Code) -> dict[str, str]:
    return {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "HOME": _START,
        "LANG": "C.UTF-8",
        # It may run no other program. Some libraries look for a compiler on import and, if they find one, fail since
        # they cannot write the file to compile.
        "PATH": "",
        "PYTHONPATH": os.pathsep.join(map(str, needed.search)),
        "HF_HUB_OFFLINE": "1",
    }


def _threads_of_user() -> int:
    """Present processes and threads of this user, which count towards the limit."""
    user, total = os.getuid(), 0
    for process in psutil.process_iter(["uids", "num_threads"]):
        uids, threads = process.info["uids"], process.info["num_threads"]
        total += threads or 0 if uids is not None and uids.real == user else 0
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The sandbox of this machine."""

    sandbox: Sandbox
    problem: str
    """Why submitted models are not loaded here, as a sentence; empty if they are."""

    def line(self) -> str:
        """Summary for the worker's log."""
        layers = ", ".join(sorted(self.sandbox.layers)) or "nothing"
        outer = Layer.BUBBLEWRAP if shutil.which("bwrap") else Layer.NAMESPACES
        own_user = {Layer.OWN_USER} if os.geteuid() == 0 else set()
        complete = frozenset({Layer.LANDLOCK, Layer.SECCOMP, Layer.LIMITS, outer, *own_user})
        missing = ", ".join(sorted(complete - self.sandbox.layers))
        allowed = os.environ.get(ALLOW_UNSANDBOXED) == "1"
        line = f"Submitted models are confined by: {layers}."
        if missing:
            line += f" Not available here: {missing}."
        if self.problem:
            line += f" They are loaded nevertheless, since {ALLOW_UNSANDBOXED}=1." if allowed else f" {self.problem}"
        return line


@cache
def detected() -> Detection:
    """The sandbox with the most layers in which a model server starts on this machine. Takes about a second."""
    for layers in _candidates():
        holding = Sandbox(layers=layers).probe()
        if holding is not None:
            return judged(holding)
    return judged(frozenset())


def judged(layers: frozenset[Layer]) -> Detection:
    """A sandbox with these layers, and whether they suffice."""
    lacking = list(dict.fromkeys(what for what, by in _NEEDED if not layers & by))
    problem = ""
    if lacking:
        *others, last = lacking
        resources = f"{', '.join(others)} and {last}" if others else last
        problem = (
            f"This worker loads no submitted models, because its machine cannot keep them from {resources}; "
            f"install bubblewrap and libseccomp, or set {ALLOW_UNSANDBOXED}=1 if a model may do anything that the "
            "worker may."
        )
    return Detection(sandbox=Sandbox(layers=layers), problem=problem)


def _candidates() -> Iterator[frozenset[Layer]]:
    """Sets of layers to try, best first."""
    always = frozenset({Layer.LANDLOCK, Layer.SECCOMP, Layer.LIMITS})
    for outer in (Layer.BUBBLEWRAP, Layer.NAMESPACES):
        if outer is Layer.BUBBLEWRAP and shutil.which("bwrap") is None:
            continue
        if os.geteuid() == 0:
            yield always | {outer, Layer.OWN_USER}
        yield always | {outer}
    # Without a separate file system, another user could not read the model in the worker's folder.
    yield always
