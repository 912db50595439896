"""Time limits of model servers: by the size of the model, or as the operator has set them.

A model that hangs keeps its worker from everybody else until its deadline, so a small one gets less time.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import replace

from evaluator.planners.language_models.errors import ModelError
from gpu_jobs.model_server.client import DEADLINES, Deadlines

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
