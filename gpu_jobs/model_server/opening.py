"""Opens submitted models in this machine's sandbox or a remote model server, with time limits.

A hanging model blocks its worker until the deadline, so small models have shorter deadlines.
"""

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

import psutil

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import LanguageModel
from evaluator.execution.engine.opening import parse_size
from evaluator.planners.language_models import ModelError
from evaluator.sandbox.isolation.address import parse_address
from gpu_jobs.model_server import VARIABLE
from gpu_jobs.model_server.client import DEADLINES, Deadlines, RemoteModel
from gpu_jobs.model_server.isolation.sandbox import ALLOW_UNSANDBOXED, Sandbox, detected

MEMORY = "PLANARENA_MODEL_MEMORY"
_OF_LIBRARIES = 4 * 1024**3
_TIMES_WEIGHTS = 5
"""Half-precision weights take twice their size on a CPU; the rest is for caches of keys and values."""
_OF_MACHINE = 0.9
_VARIABLES: Mapping[str, str] = {
    "load": "PLANARENA_MODEL_LOAD_SECONDS",
    "answer": "PLANARENA_MODEL_ANSWER_SECONDS",
    "call": "PLANARENA_MODEL_CALL_SECONDS",
}
"""Variables that replace fields of `Deadlines`."""
_LIBRARIES_SECONDS = 120.0
"""Time to import torch and transformers on a busy machine; an idle one needs about 6 seconds."""
_LOADED_PER_SECOND = 25_000_000
"""Bytes of weights."""
_ANSWER_SECONDS, _ANSWERED_PER_SECOND = 30.0, 10_000_000
_CALL_SECONDS, _CALLED_PER_SECOND = 5.0, 20_000_000
"""Seconds for a model without weights, and bytes of weights per further second."""


class OpenedModel(LanguageModel, Protocol):
    """A language model in a server."""

    @property
    def is_broken(self) -> bool:
        """Whether its server is gone."""
        ...

    def close(self) -> None:
        """Release the server. Later calls fail."""
        ...


class ModelOpener(Protocol):
    """Loads a model from a folder."""

    def __call__(self, folder: Path, *, name: str, device: str, source: Mapping[str, JsonValue]) -> OpenedModel:
        """Load the model.

        Raises:
            ModelUnusableError: it cannot be loaded anywhere.
            ModelError: it cannot be loaded now, or here.
        """
        ...


@runtime_checkable
class Delivers(Protocol):
    """An opener of remote servers, to which a model's files are sent first."""

    is_shared: bool
    """Whether other workers may wait for the servers."""

    def deliver(self, folder: Path) -> None:
        """Send a model's files to the server of the next model.

        Raises:
            ModelUnusableError: they are not a model.
            ModelError: they cannot be sent now.
        """
        ...


def submitted_model_opener() -> ModelOpener:
    """The opener for `PLANARENA_MODEL_SERVER` or, without one, for this machine's sandbox, which refuses models if the
    sandbox is insufficient.

    Raises:
        ModelError: the variable is invalid.
    """
    if text := os.environ.get(VARIABLE):
        return _remote_opener(text)
    detection = detected()
    if detection.problem and os.environ.get(ALLOW_UNSANDBOXED) != "1":

        def refuse(*_: object, **__: object) -> OpenedModel:
            raise ModelError(detection.problem)

        return refuse
    return partial(open_model, sandbox=detection.sandbox)


def _remote_opener(text: str) -> ModelOpener:
    from gpu_jobs.model_server.remote import RemoteOpener, patience_seconds

    try:
        address = parse_address(text)
    except ValueError as error:
        raise ModelError(f"{VARIABLE}: {error}.") from None
    return RemoteOpener(address, patience_seconds=patience_seconds(), deadlines=deadlines_set())


def open_model(
    folder: Path,
    *,
    name: str,
    device: str,
    source: Mapping[str, JsonValue],
    sandbox: Sandbox,
    deadlines: Deadlines | None = None,
) -> RemoteModel:
    """See `ModelOpener`. Default deadlines are the operator's, or follow from the size of the model."""
    deadlines = deadlines or deadlines_set(weights=_weights(folder))
    started = sandbox.start(folder=folder, device=device, memory_bytes=most_memory(folder))
    return RemoteModel(
        started.server, folder=folder, inside=started.inside, name=name, device=device, source=source,
        threads=threads_here(), deadlines=deadlines,
    )  # fmt: skip


def most_memory(folder: Path) -> int:
    """Memory limit in bytes of a server for the model in a folder: the operator's, or by its weights."""
    if text := os.environ.get(MEMORY):
        return parse_size(text)
    return min(_OF_LIBRARIES + _TIMES_WEIGHTS * _weights(folder), int(_OF_MACHINE * psutil.virtual_memory().total))


def _weights(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def threads_here() -> int | None:
    """Torch's threads in this process if it is loaded, otherwise those of OMP_NUM_THREADS."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and int(text) else None


def deadlines_set(*, weights: int | None = None, environment: Mapping[str, str] = os.environ) -> Deadlines:
    """The deadlines of a model.

    Args:
        weights: bytes of its weights; None: as for the largest models.
        environment: the operator's variables, which take precedence.

    Raises:
        ModelError: a variable is not a number of seconds.
    """
    deadlines = DEADLINES
    if weights is not None:
        deadlines = replace(
            DEADLINES,
            load=min(DEADLINES.load, _LIBRARIES_SECONDS + weights / _LOADED_PER_SECOND),
            answer=min(DEADLINES.answer, _ANSWER_SECONDS + weights / _ANSWERED_PER_SECOND),
            call=min(DEADLINES.call, _CALL_SECONDS + weights / _CALLED_PER_SECOND),
        )
    texts = {field: environment.get(variable, "").strip() for field, variable in _VARIABLES.items()}
    return replace(deadlines, **{field: _seconds(text, of=_VARIABLES[field]) for field, text in texts.items() if text})


def _seconds(text: str, *, of: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ModelError(f"{of} is {text[:40]!r}, which is not a number of seconds.")
    return seconds
