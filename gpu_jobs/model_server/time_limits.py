"""How long model servers may take on this machine, as its operator has set it."""

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


def deadlines_set(environment: Mapping[str, str] = os.environ) -> Deadlines:
    """The deadlines in an environment; by default those of the largest models.

    Raises:
        ModelError: a variable is no number of seconds.
    """
    texts = {field: environment.get(variable, "").strip() for field, variable in _VARIABLES.items()}
    return replace(DEADLINES, **{field: _seconds(text, of=_VARIABLES[field]) for field, text in texts.items() if text})


def _seconds(text: str, *, of: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ModelError(f"{of} is {text[:40]!r}, which is no number of seconds.")
    return seconds
