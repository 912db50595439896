"""The precision in which scorers compute."""

from typing import Any

import torch

_LARGEST = 100_000_000
"""Parameters. Larger models would need too much memory and time."""


def for_scoring(model: Any, *, device: str) -> Any:
    """The model in double precision on a CPU, if it is small enough; else as it is.

    In single precision a score's eighth digit depends on the number of threads, and a score next to the edge between
    two recorded values is rounded one way or the other.
    """
    small = sum(parameter.numel() for parameter in model.parameters()) <= _LARGEST
    return model.double() if small and torch.device(device).type == "cpu" else model
