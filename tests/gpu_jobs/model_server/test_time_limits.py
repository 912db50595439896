"""Deadlines of model servers that the operator sets."""

import pytest

from evaluator.planners.language_models.errors import ModelError
from gpu_jobs.model_server.client import DEADLINES
from gpu_jobs.model_server.time_limits import deadlines_set


def test_deadlines_are_set_by_the_operator():
    set_here = deadlines_set({"PLANARENA_MODEL_LOAD_SECONDS": "20", "PLANARENA_MODEL_CALL_SECONDS": "0.5"})
    assert (set_here.load, set_here.answer, set_here.call) == (20.0, DEADLINES.answer, 0.5)
    for wrong in ("soon", "0", "-1", "inf", "nan"):
        with pytest.raises(ModelError, match=r"PLANARENA_MODEL_ANSWER_SECONDS is '.*', which is no number of seconds"):
            deadlines_set({"PLANARENA_MODEL_ANSWER_SECONDS": wrong})
