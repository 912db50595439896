"""Metrics of workers and model servers: what a shard adds to them, and what is answered."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from evaluator.core.records import StepRun
from gpu_jobs.contract import Phase
from gpu_jobs.metrics import PORT, MeasuredPhase, MetricsPortError, WorkerMetrics, metrics_port, serve
from gpu_jobs.model_server.serving import server_metrics
from tests.fakes.api import LEASE, FakeApi
from tests.fakes.runner import FakeRunner
from tests.gpu_jobs.test_worker import make_worker


def samples(metrics):
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.text())
        for sample in family.samples
    }


class WithSteps(FakeRunner):
    """Each record has a step that ran and one that was cached."""

    def _record(self, *, lease, task):
        record = super()._record(lease=lease, task=task)
        steps = [
            StepRun(step=name, tool="t", expert="e", key="k", inputs={}, outputs={}, cached=name == "b", seconds=0.5)
            for name in ("a", "b")
        ]
        return record.model_copy(
            update={"samples": [one.model_copy(update={"steps": steps}) for one in record.samples]}
        )


def test_a_completed_shard_is_counted_with_its_tasks_and_steps():
    metrics = WorkerMetrics()
    assert make_worker(FakeApi({**LEASE, "tasks": ["0", "1", "2"]}), WithSteps(), metrics=metrics).run() == 0
    found = samples(metrics)
    assert found["planarena_worker_leases_total", "completed"] == 1
    assert found["planarena_worker_tasks_total",] == 3
    assert found["planarena_worker_steps_total", "yes"] == found["planarena_worker_steps_total", "no"] == 3
    assert found["planarena_worker_memory_bytes",] > 1e6


def test_a_failed_and_a_refused_shard_are_counted_as_such():
    for runner, how in ((FakeRunner(fails_at="0"), "failed"), (FakeRunner(profile_digest="other"), "refused")):
        metrics = WorkerMetrics()
        make_worker(FakeApi({**LEASE, "tasks": ["0"]}), runner, metrics=metrics).run()
        found = samples(metrics)
        assert found["planarena_worker_leases_total", how] == 1
        assert found["planarena_worker_leases_total", "completed"] == 0


def test_the_time_of_a_lease_is_divided_among_its_phases():
    metrics, now = WorkerMetrics(), [0.0]
    phase = MeasuredPhase(metrics, clock=lambda: now[0])
    phase.begin()
    for step, seconds in ((Phase.PLANNING, 2.0), (Phase.EXECUTING, 3.0), (Phase.PLANNING, 5.0)):
        now[0] += seconds
        phase.enter(step)
    assert samples(metrics)["planarena_worker_busy",] == 1
    phase.note_scoring(1.0)
    now[0] += 7.0
    phase.end()
    phase.end()
    found = {labels[1]: value for labels, value in samples(metrics).items() if "phase" in labels[0] and value}
    assert found == {"preparing": 2.0, "planning": 3.0, "executing": 12.0, "scoring": 1.0}
    assert samples(metrics)["planarena_worker_busy",] == 0


@pytest.mark.parametrize("metrics", [WorkerMetrics(), server_metrics()], ids=["worker", "model server"])
def test_one_path_is_answered_and_nothing_else(metrics):
    server = serve(metrics, port=0, host="127.0.0.1")
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        answer = httpx.get(f"{url}/metrics", trust_env=False)
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        names = {family.name for family in text_string_to_metric_families(answer.text)}
        assert names
        assert all(name.startswith("planarena_") for name in names)
        assert httpx.get(f"{url}/", trust_env=False).status_code == 404
    finally:
        server.shutdown()
        server.server_close()


def test_a_port_is_a_number_or_absent():
    assert (metrics_port({}), metrics_port({PORT: " "}), metrics_port({PORT: "9100"})) == (None, None, 9100)
    for text in ("0", "65536", "abc", "-1", "²"):
        with pytest.raises(MetricsPortError, match="must be a port from 1 to 65535"):
            metrics_port({PORT: text})
