"""The benchmark of chat endpoints measures what it says, through the driver and against another process."""

from evaluator.benchmarks.chat import measure_chat
from evaluator.planners.language_models.chat.trial_server import ServerSettings


def test_all_requests_are_answered_in_no_less_than_the_ideal_time():
    report = measure_chat(count=120, server=ServerSettings(latency_seconds=0.2, capacity=16), highest=16)
    assert report.failed == 0
    assert report.ideal_seconds == 120 / 16 * 0.2
    # Loose, because tests share their machine with others; one call at a time would take 16 times the ideal.
    assert 1.0 <= report.ratio < 4.0
    assert report.progress["answered"] == 120
    assert report.progress["highest_limit"] == 16
    assert report.to_json()["ratio"] == report.ratio


def test_refusals_are_tried_again_and_cost_no_request():
    report = measure_chat(count=80, server=ServerSettings(latency_seconds=0.05, capacity=4), highest=64)
    assert report.failed == 0
    assert report.progress["retried"] > 0
