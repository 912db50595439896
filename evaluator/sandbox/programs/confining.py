"""The confinement of the process of programs and of its children. Standard library only."""

import ctypes
import os
import resource
import sys
from collections.abc import Callable, Iterable
from math import ceil

from evaluator.sandbox.isolation import landlock, privileges, seccomp
from evaluator.sandbox.programs.wire import Layer, Limits

RESULTS = 3
"""The only descriptor of a process that runs a program."""
_MOST_DESCRIPTORS = 1 << 16
_NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_NET = 0x04000000, 0x08000000, 0x10000000, 0x40000000
_SPARE_SECONDS = 1
"""Between SIGXCPU at the soft limit of CPU time and SIGKILL at the hard one."""


class Confinement:
    """Applies layers, and records which failed and why."""

    def __init__(self, layers: Iterable[Layer], *, limits: Limits) -> None:
        self.layers = frozenset(layers)
        self.failed: dict[Layer, str] = {}
        self._limits = limits
        self._filter: seccomp.ComputingFilter | None = None

    def confine_parent(self) -> None:
        """Confine the process that forks a child per program. Must come after all imports."""
        self._try(Layer.LIMITS, lambda: _limit({resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0}))
        self._try(Layer.NAMESPACES, _enter_namespaces)
        if os.geteuid() == 0:
            self._try(Layer.OWN_USER, lambda: privileges.become(privileges.unprivileged_user()))
        elif Layer.OWN_USER in self.layers:
            self.failed[Layer.OWN_USER] = "not started by root"
        if sys.platform == "linux" and self.layers - {Layer.LANGUAGE}:
            privileges.drop_capabilities()
            privileges.hide_memory()
        # Before Landlock, under which the library cannot be loaded.
        self._try(Layer.SECCOMP, self._prepare_filter)
        self._try(Layer.LANDLOCK, lambda: landlock.restrict(readable=()))

    def confine_child(self) -> None:
        """Confine the child that runs a program; its only descriptor is `RESULTS`.

        Raises:
            OSError: a layer that holds in the parent failed; no program may run.
        """
        if Layer.LIMITS in self.holding():
            _limit({
                resource.RLIMIT_AS: self._limits.memory_bytes,
                resource.RLIMIT_NPROC: 0,
                resource.RLIMIT_NOFILE: RESULTS + 1,
                resource.RLIMIT_MEMLOCK: 0,
                resource.RLIMIT_MSGQUEUE: 0,
            })  # fmt: skip
            seconds = ceil(self._limits.cpu_seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + _SPARE_SECONDS))
        if self._filter is not None and Layer.SECCOMP in self.holding():
            self._filter.load()

    def holding(self) -> frozenset[Layer]:
        """The layers that have not failed."""
        return self.layers - self.failed.keys()

    def _prepare_filter(self) -> None:
        self._filter = seccomp.ComputingFilter(writable=RESULTS)

    def _try(self, layer: Layer, apply: Callable[[], object]) -> None:
        if layer not in self.layers:
            return
        try:
            apply()
        except (OSError, ValueError, AttributeError) as error:
            # AttributeError: the C library lacks the function.
            self.failed[layer] = str(error)


def leave_descriptors(channel: int) -> None:
    """Make `channel` the descriptor `RESULTS`, and close all others."""
    if channel != RESULTS:
        os.dup2(channel, RESULTS, inheritable=False)
    for standard in range(RESULTS):
        os.close(standard)
    os.closerange(RESULTS + 1, _MOST_DESCRIPTORS)


def _limit(limits: dict[int, int]) -> None:
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _enter_namespaces() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    own = 0 if os.geteuid() == 0 else _NEW_USER
    if library.unshare(_NEW_NET | _NEW_IPC | _NEW_UTS | own):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
