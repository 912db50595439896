"""The benchmark of chat endpoints against another process."""

import pytest

from evaluator.benchmarks.chat import measure_chat
from evaluator.planners.language_models.chat.trial_server import ServerSettings


@pytest.mark.full
def test_all_requests_are_answered_and_refusals_are_tried_again_and_cost_none():
    report = measure_chat(count=80, server=ServerSettings(latency_seconds=0.05, capacity=4), highest=64)
    assert (report.failed, report.progress["answered"]) == (0, 80)
    assert report.progress["retried"] > 0
    assert report.ideal_seconds == 80 / 4 * 0.05
    assert report.to_json()["ratio"] == report.ratio
