"""Inspects an uploaded zip in a process with limits, since whoever made the zip decides what reading it costs."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluator.sandbox.admission.checkpoint_zip import CheckpointFacts, inspect
from evaluator.sandbox.admission.rules import ModelRefusedError
from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, call, serve

_MEMORY_BYTES = 1024**3
_LEAST_CPU_SECONDS = 30
_BYTES_PER_SECOND = 20_000_000
"""Of a zip. Reading one to its end takes a tenth of this time where its weights are not compressed."""


def inspect_confined(path: Path, *, most_unpacked_bytes: int, cpu_seconds: int | None = None) -> CheckpointFacts:
    """As `checkpoint_zip.inspect`, with limits on memory and processor time.

    Args:
        path: of the zip.
        most_unpacked_bytes: what its files may come to together.
        cpu_seconds: None: by the size of the zip.

    Raises:
        ModelRefusedError: it is no checkpoint that is loaded here, or reading it takes too much.
    """
    cpu = cpu_seconds or _LEAST_CPU_SECONDS + path.stat().st_size // _BYTES_PER_SECOND
    limits = Limits(memory_bytes=_MEMORY_BYTES, cpu_seconds=cpu, wall_seconds=3.0 * cpu)
    request: Any = {"path": str(path), "most_unpacked_bytes": most_unpacked_bytes}
    try:
        answer = call(__name__, request, limits=limits)
    except LimitExceededError as error:
        if error.what is Exceeded.TIME:
            text = f"Reading the zip takes more than {cpu} seconds of processor time."
        else:
            text = f"Reading the zip takes more than {_MEMORY_BYTES // 1024**2} MiB of memory."
        raise ModelRefusedError(text) from None
    if "refused" in answer:
        raise ModelRefusedError(answer["refused"])
    return CheckpointFacts(**answer["facts"])


def _answer(request: Any) -> Any:
    try:
        return {"facts": asdict(inspect(Path(request["path"]), most_unpacked_bytes=request["most_unpacked_bytes"]))}
    except ModelRefusedError as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    serve(_answer)
