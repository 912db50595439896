"""Confines a model server, by itself, before it loads anything foreign. It cannot be undone.

Runs with the standard library and pydantic only: torch and transformers are imported later, confined.
"""

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from evaluator.sandbox.isolation import landlock, privileges, seccomp

_FIRST_TO_GO = "800"
_MOST_DESCRIPTORS = 1 << 16
_MOST_SIGNALS = 4096
"""Waiting ones, which timers count as."""


class Layer(StrEnum):
    """The parts of a sandbox. Each holds by itself."""

    BUBBLEWRAP = "bubblewrap"
    """Its own namespaces and file system, made by bubblewrap."""
    NAMESPACES = "namespaces"
    """The same, made by `namespaces`."""
    LANDLOCK = "landlock"
    """Files outside of a list are not opened."""
    SECCOMP = "seccomp"
    """No sockets, no other processes, no new ones."""
    LIMITS = "limits"
    """On processor time, file size, processes and open files."""
    OWN_USER = "own user"
    """A user that owns nothing."""

    @property
    def isolates(self) -> bool:
        """Whether it gives the server namespaces of its own."""
        return self in {Layer.BUBBLEWRAP, Layer.NAMESPACES}


class Confinement(BaseModel):
    """What to put on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: tuple[Layer, ...]
    readable: tuple[Path, ...] = ()
    """Files, and folders with all that is below them."""
    devices: tuple[Path, ...] = ()
    """Those that may also be written: of GPUs."""
    user: int | None = None
    """To become, where the server is started as root."""
    processes: int | None = None
    """Processes and threads of its user, all together; None: no limit."""
    cpu_seconds: int = 0
    data_bytes: int | None = None
    """Of writable memory, reserved or held; None: no limit."""
    open_files: int = 1024


def confine(wanted: Confinement, *, channel: int) -> list[str]:
    """Put the layers on this process, and return the names of those that hold. One that fails does not end it: the
    worker decides whether what is left is enough.

    Must run before any thread is started, and before anything foreign is read.

    Args:
        wanted: the layers.
        channel: the descriptor that stays open beside the standard streams.
    """
    os.closerange(3, channel)
    os.closerange(channel + 1, _MOST_DESCRIPTORS)
    os.umask(0o077)
    if sys.platform == "linux":
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    steps: list[tuple[Layer, Callable[[Confinement], None]]] = [
        (Layer.LIMITS, _limit),
        (Layer.OWN_USER, _become),
        (Layer.LANDLOCK, _restrict_files),
        (Layer.SECCOMP, _restrict_calls),
    ]
    holding = []
    for layer, put_on in steps:
        if layer in wanted.layers:
            try:
                put_on(wanted)
                holding.append(layer.value)
            except (OSError, ValueError) as error:
                sys.stderr.write(f"{layer.value}: {error}\n")
        if layer is Layer.OWN_USER and sys.platform == "linux":
            privileges.drop_capabilities()
            if not any(one.isolates for one in wanted.layers):
                # After the change of user, which the kernel takes as a reason to forget it.
                privileges.end_with_parent()
    return holding


def _limit(wanted: Confinement) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        # Not even into memory: memfd and tmpfs count too.
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: wanted.open_files,
        resource.RLIMIT_CPU: wanted.cpu_seconds or None,
        resource.RLIMIT_NPROC: wanted.processes,
        resource.RLIMIT_MEMLOCK: None if wanted.devices else 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: _MOST_SIGNALS,
        resource.RLIMIT_DATA: wanted.data_bytes,
    }
    for kind, most in limits.items():
        if most is not None:
            _, hard = resource.getrlimit(kind)
            allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (allowed, allowed))


def _become(wanted: Confinement) -> None:
    if wanted.user is None:
        raise ValueError("no user to become")
    privileges.become(wanted.user)


def _restrict_files(wanted: Confinement) -> None:
    landlock.restrict(readable=wanted.readable, devices=(Path(os.devnull), *wanted.devices))


def _restrict_calls(wanted: Confinement) -> None:
    seccomp.restrict(drivers=bool(wanted.devices))
