"""Checks files of settings in a process with limits, since whoever wrote them decides what reading them costs."""

from pathlib import Path
from typing import Any

from evaluator.sandbox.admission.rules import ModelRefusedError
from evaluator.sandbox.admission.settings_files import check_settings, folder_reader
from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, call, serve

_LIMITS = Limits(memory_bytes=1024**3, cpu_seconds=20, wall_seconds=60.0)
"""A `tokenizer.json` of 35 MB with 600,000 tokens and 1,000,000 merges takes 450 MB and 3 seconds."""


def inspect_settings(folder: Path) -> str:
    """Check the files of settings in a folder, and return the architecture.

    Raises:
        ModelRefusedError: they have something that is not accepted.
    """
    return check_settings(folder_reader(folder)).architecture


def inspect_settings_confined(folder: Path, *, limits: Limits = _LIMITS) -> str:
    """As `inspect_settings`, with limits on memory and time.

    Raises:
        ModelRefusedError: the settings are refused, or reading them takes too much.
    """
    try:
        answer = call(__name__, str(folder), limits=limits)
    except LimitExceededError as error:
        most = (
            f"{limits.cpu_seconds} seconds of processor time"
            if error.what is Exceeded.TIME
            else f"{limits.memory_bytes // 1024**2} MiB of memory"
        )
        raise ModelRefusedError(f"Reading the model's settings and tokenizer takes more than {most}.") from None
    if "refused" in answer:
        raise ModelRefusedError(answer["refused"])
    return str(answer["architecture"])


def _answer(request: Any) -> Any:
    try:
        return {"architecture": inspect_settings(Path(request))}
    except ModelRefusedError as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    serve(_answer)
