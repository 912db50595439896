"""Which sandbox this machine has for submitted models, and whether it is enough."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from gpu_jobs.model_server.isolation.confinement import Layer
from gpu_jobs.model_server.isolation.sandbox import Sandbox

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
