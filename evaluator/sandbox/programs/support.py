"""Whether this machine can confine programs, and whether they run if it cannot."""

import os
from dataclasses import dataclass
from functools import cache

from evaluator.sandbox.programs.remote import opened
from evaluator.sandbox.programs.wire import Layer, Limits

ALLOW_UNCONFINED = "PLANARENA_ALLOW_UNCONFINED_PROGRAMS"
_NEEDED = (
    ("files", frozenset({Layer.SECCOMP, Layer.LANDLOCK})),
    ("the network", frozenset({Layer.SECCOMP, Layer.NAMESPACES})),
    ("other processes", frozenset({Layer.SECCOMP})),
    ("more than their share of it", frozenset({Layer.LIMITS})),
)
"""What programs must not access even without the layer `language`, and the layers that each prevent it."""


class UnconfinedError(Exception):
    """This machine cannot confine programs, and the operator has not allowed unconfined ones."""


@dataclass(frozen=True, slots=True)
class Support:
    """The layers of this machine."""

    layers: frozenset[Layer]
    missing: dict[Layer, str]
    """Failed layers, with the reason."""

    @property
    def problem(self) -> str:
        """Why programs do not run here by default, as a sentence; empty if they do."""
        lacking = [what for what, by in _NEEDED if not self.layers & by]
        if not lacking:
            return ""
        return (
            f"This machine cannot keep programs from {', '.join(lacking)} by the kernel's means; run them on Linux "
            f"with libseccomp.so.2, or set {ALLOW_UNCONFINED}=1 to trust the check of their text alone."
        )

    def line(self) -> str:
        """The log line for the operator."""
        line = f"Programs are confined by: {', '.join(sorted(self.layers))}."
        if self.missing:
            line += (
                f" Not available here: {', '.join(f'{name} ({why})' for name, why in sorted(self.missing.items()))}."
            )
        if self.problem:
            line += f" They run all the same, since {ALLOW_UNCONFINED}=1." if _allowed() else f" {self.problem}"
        return line

    def require(self) -> None:
        """Check that programs may run here.

        Raises:
            UnconfinedError: they may not.
        """
        if self.problem and not _allowed():
            raise UnconfinedError(self.problem)


@cache
def support() -> Support:
    """The layers of the machine where programs run. Starts a process, which takes a tenth of a second.

    Raises:
        WorkerError: it does not start, or cannot be reached.
    """
    worker = opened(layers=frozenset(Layer), limits=Limits(), library=())
    worker.close()
    return Support(layers=worker.layers, missing=worker.missing)


def _allowed() -> bool:
    return os.environ.get(ALLOW_UNCONFINED) == "1"
