"""Irrevocably confines a model server, in its own process, before it loads third-party code.

Imports the standard library and pydantic only: torch and transformers are imported after confinement.
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
"""Pending signals, which include timers."""


class Layer(StrEnum):
    """Independent layers of a sandbox."""

    BUBBLEWRAP = "bubblewrap"
    """Separate namespaces and file system, created by bubblewrap."""
    NAMESPACES = "namespaces"
    """The same, created by `namespaces`."""
    LANDLOCK = "landlock"
    """Access to listed files only."""
    SECCOMP = "seccomp"
    """No sockets, and no access to or creation of other processes."""
    LIMITS = "limits"
    """Limits of processor time, file size, processes and open files."""
    OWN_USER = "own user"
    """A user that owns nothing."""

    @property
    def isolates(self) -> bool:
        """Whether it gives the server separate namespaces."""
        return self in {Layer.BUBBLEWRAP, Layer.NAMESPACES}


class Confinement(BaseModel):
    """The layers to apply, and their parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: tuple[Layer, ...]
    readable: tuple[Path, ...] = ()
    """Readable files, and folders with their content."""
    devices: tuple[Path, ...] = ()
    """Writable devices of GPUs."""
    user: int | None = None
    """The user to switch to, if the server is started as root."""
    processes: int | None = None
    """Limit of the user's processes and threads; None: no limit."""
    cpu_seconds: int = 0
    data_bytes: int | None = None
    """Limit of writable memory, including reservations; None: no limit."""
    open_files: int = 1024


def confine(settings: Confinement, *, channel: int) -> list[str]:
    """Apply the layers to this process, and return the active ones. A layer that fails is skipped: the worker decides
    whether the others suffice.

    Must run before threads are started and submitted files are read.

    Args:
        settings: the layers.
        channel: descriptor that stays open besides the standard streams.
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
        (
            Layer.LANDLOCK,
            lambda chosen: landlock.restrict(readable=chosen.readable, devices=(Path(os.devnull), *chosen.devices)),
        ),
        (Layer.SECCOMP, lambda chosen: seccomp.restrict(drivers=bool(chosen.devices))),
    ]
    holding = []
    for layer, apply in steps:
        if layer in settings.layers:
            try:
                apply(settings)
                holding.append(layer.value)
            except (OSError, ValueError) as error:
                sys.stderr.write(f"{layer.value}: {error}\n")
        if layer is Layer.OWN_USER and sys.platform == "linux":
            privileges.drop_capabilities()
            if not any(active.isolates for active in settings.layers):
                # After the change of user, which resets it.
                privileges.end_with_parent()
    return holding


def _limit(settings: Confinement) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        # Applies to memfd and tmpfs as well.
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: settings.open_files,
        resource.RLIMIT_CPU: settings.cpu_seconds or None,
        resource.RLIMIT_NPROC: settings.processes,
        resource.RLIMIT_MEMLOCK: None if settings.devices else 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: _MOST_SIGNALS,
        resource.RLIMIT_DATA: settings.data_bytes,
    }
    for kind, most in limits.items():
        if most is not None:
            _, hard = resource.getrlimit(kind)
            allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (allowed, allowed))


def _become(settings: Confinement) -> None:
    if settings.user is None:
        raise ValueError("no user to switch to")
    privileges.become(settings.user)
