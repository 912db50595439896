"""Deadlines of model servers that the operator sets."""

import pytest

from evaluator.planners.language_models.errors import ModelError
from gpu_jobs.model_server.client import DEADLINES
from gpu_jobs.model_server.time_limits import deadlines_set


def test_deadlines_are_set_by_the_operator():
    set_here = deadlines_set(environment={"PLANARENA_MODEL_LOAD_SECONDS": "20", "PLANARENA_MODEL_CALL_SECONDS": "0.5"})
    assert (set_here.load, set_here.answer, set_here.call) == (20.0, DEADLINES.answer, 0.5)
    for wrong in ("soon", "0", "-1", "inf", "nan"):
        with pytest.raises(ModelError, match=r"PLANARENA_MODEL_ANSWER_SECONDS is '.*', which is no number of seconds"):
            deadlines_set(environment={"PLANARENA_MODEL_ANSWER_SECONDS": wrong})


def test_a_small_model_that_hangs_keeps_its_worker_for_minutes_and_a_large_one_has_time():
    small, large = deadlines_set(weights=20_000, environment={}), deadlines_set(weights=40 * 10**9, environment={})
    assert (round(small.load), round(small.answer), round(small.call)) == (120, 30, 5)
    assert large == DEADLINES
    assert deadlines_set(environment={}) == DEADLINES


def test_what_the_operator_sets_counts_whatever_the_size():
    set_here = {"PLANARENA_MODEL_LOAD_SECONDS": "700"}
    assert deadlines_set(weights=20_000, environment=set_here).load == 700
