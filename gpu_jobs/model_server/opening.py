"""Opening a submitted model: in the sandbox that this machine has, or not at all, and within its time limits.

A model that hangs keeps its worker from everybody else until its deadline, so a small one gets less time.
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
ENGINE = "PLANARENA_MODEL_ENGINE"
_OF_LIBRARIES = 4 * 1024**3
_TIMES_WEIGHTS = 5
"""Half-precision weights take twice as much on a CPU; the rest is for caches of keys and values."""
_OF_MACHINE = 0.9
_VARIABLES: Mapping[str, str] = {
    "load": "PLANARENA_MODEL_LOAD_SECONDS",
    "answer": "PLANARENA_MODEL_ANSWER_SECONDS",
    "call": "PLANARENA_MODEL_CALL_SECONDS",
}
"""Those that replace the fields of `Deadlines`."""
_LIBRARIES_SECONDS = 120.0
"""For a busy machine to import torch and transformers; an idle one needs about 6."""
_LOADED_PER_SECOND = 25_000_000
"""Bytes of weights."""
_ANSWER_SECONDS, _ANSWERED_PER_SECOND = 30.0, 10_000_000
_CALL_SECONDS, _CALLED_PER_SECOND = 5.0, 20_000_000
"""For a model without weights, and bytes of weights for which each further second is allowed."""


class OpenedModel(LanguageModel, Protocol):
    """A language model in a server."""

    @property
    def is_broken(self) -> bool:
        """Whether its server is gone for good."""
        ...

    def close(self) -> None:
        """Give back the server. Every call from now on fails."""
        ...


class ModelOpener(Protocol):
    """Loads a model from a folder. Tests may give one that needs no process."""

    def __call__(self, folder: Path, *, name: str, device: str, source: Mapping[str, JsonValue]) -> OpenedModel:
        """Load it.

        Raises:
            ModelUnusableError: it cannot be loaded by anybody.
            ModelError: it cannot be loaded now, or here.
        """
        ...


@runtime_checkable
class Delivers(Protocol):
    """An opener whose models are loaded elsewhere, so that their files have to be brought there first."""

    is_shared: bool
    """Whether other workers wait for the servers that this one does not let go."""

    def deliver(self, folder: Path) -> None:
        """Bring a model's files to where it is opened next.

        Raises:
            ModelUnusableError: they are of no model.
            ModelError: they cannot be brought there now.
        """
        ...


def submitted_model_opener() -> ModelOpener:
    """Loads models in the model server that `PLANARENA_MODEL_SERVER` names; without one, in the sandbox that this
    machine has; where that is not enough, refuses to.

    Raises:
        ModelError: the variable names no server.
    """
    if text := os.environ.get(VARIABLE):
        return _elsewhere(text)
    found = detected()
    if found.problem and os.environ.get(ALLOW_UNSANDBOXED) != "1":
        return partial(_refuse, problem=found.problem)
    return partial(open_model, sandbox=found.sandbox)


def _elsewhere(text: str) -> ModelOpener:
    from gpu_jobs.model_server.remote import RemoteOpener, patience_seconds

    try:
        address = parse_address(text)
    except ValueError as error:
        raise ModelError(f"{VARIABLE}: {error}.") from None
    engine = os.environ.get(ENGINE) or "planarena"
    if engine == "planarena":
        return RemoteOpener(address, patience_seconds=patience_seconds(), deadlines=deadlines_set())
    if engine != "vllm" or address.path:
        raise ModelError(f"{ENGINE} is {engine!r}: it must be planarena, or vllm with {VARIABLE}=HOST:PORT.")
    from gpu_jobs.model_server.vllm_opening import VllmOpener

    return VllmOpener(address, patience_seconds=patience_seconds(), deadlines=deadlines_set())


def _refuse(folder: Path, *, name: str, device: str, source: Mapping[str, JsonValue], problem: str) -> OpenedModel:
    del folder, name, device, source
    raise ModelError(problem)


def open_model(
    folder: Path,
    *,
    name: str,
    device: str,
    source: Mapping[str, JsonValue],
    sandbox: Sandbox,
    deadlines: Deadlines | None = None,
) -> RemoteModel:
    """See `ModelOpener`. Without deadlines, those that the operator has set or that fit the size of the model."""
    deadlines = deadlines or deadlines_set(weights=_weights(folder))
    started = sandbox.start(folder=folder, device=device, memory_bytes=most_memory(folder))
    return RemoteModel(
        started.server, folder=folder, inside=started.inside, name=name, device=device, source=source,
        threads=threads_here(), deadlines=deadlines,
    )  # fmt: skip


def most_memory(folder: Path) -> int:
    """Bytes that a server may hold for the model in a folder: by its weights, or what the operator has set."""
    if text := os.environ.get(MEMORY):
        return parse_size(text)
    return min(_OF_LIBRARIES + _TIMES_WEIGHTS * _weights(folder), int(_OF_MACHINE * psutil.virtual_memory().total))


def _weights(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def threads_here() -> int | None:
    """Threads of torch here: as many as it has in this process, where it is loaded; else what is set for it."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and int(text) else None


def deadlines_set(*, weights: int | None = None, environment: Mapping[str, str] = os.environ) -> Deadlines:
    """The deadlines of a model.

    Args:
        weights: bytes of its weights; None: those of the largest models.
        environment: what the operator sets there counts whatever the size.

    Raises:
        ModelError: a variable is no number of seconds.
    """
    texts = {field: environment.get(variable, "").strip() for field, variable in _VARIABLES.items()}
    by_size = DEADLINES if weights is None else _by_size(weights)
    return replace(by_size, **{field: _seconds(text, of=_VARIABLES[field]) for field, text in texts.items() if text})


def _by_size(weights: int) -> Deadlines:
    return replace(
        DEADLINES,
        load=min(DEADLINES.load, _LIBRARIES_SECONDS + weights / _LOADED_PER_SECOND),
        answer=min(DEADLINES.answer, _ANSWER_SECONDS + weights / _ANSWERED_PER_SECOND),
        call=min(DEADLINES.call, _CALL_SECONDS + weights / _CALLED_PER_SECOND),
    )


def _seconds(text: str, *, of: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ModelError(f"{of} is {text[:40]!r}, which is no number of seconds.")
    return seconds
