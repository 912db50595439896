"""What Prometheus and the scalers of worker pools read, and who may: figures, and histograms that point to a trace."""

import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain

from evaluator.core.records import SampleResult, StepRun
from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Shard
from leaderboard.operations.models import EndedAttempts, Moment, ToolUsage
from leaderboard.operations.monitoring import figures
from leaderboard.operations.monitoring.attempts import COUNTED, attempt_counts, count_ended_attempts
from leaderboard.operations.monitoring.figures import DatabaseFigures
from leaderboard.operations.web.monitoring import views
from leaderboard.queue.leasing import leases
from leaderboard.queue.leasing.leases import AttemptEndedError
from leaderboard.queue.workers.finishing import deliver
from tests.fakes.collector import collecting, tracing_to
from tests.leaderboard.factories import make_evaluation, make_lease, make_record, make_suite

TOKEN = "the-token-of-these-tests"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch, settings):
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(views, "_FIGURES", DatabaseFigures(cache_seconds=0))


def scrape() -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels: view before method, tool before cached."""
    families = plain(scraped()[1])
    return {
        (s.name, *(s.labels[name] for name in sorted(s.labels, reverse=True))): s.value
        for family in families
        for s in family.samples
    }


def record_with_steps(task: str, *, suite: str, steps: list[tuple[str, bool, float]]):
    runs = [
        StepRun(
            step=f"s{number}", tool=tool, expert="e", key="k", inputs={}, outputs={}, cached=cached, seconds=seconds
        )
        for number, (tool, cached, seconds) in enumerate(steps)
    ]
    sample = SampleResult(index=0, score=0.5, inputs={}, reference=None, answer=None, steps=runs)
    return make_record(task, suite=suite).model_copy(update={"samples": [sample]})


@pytest.mark.django_db
def test_the_queue_is_counted_by_state_with_the_age_of_the_oldest():
    old, _ = make_evaluation(), make_evaluation()
    Evaluation.objects.filter(pk=old.pk).update(state_since=timezone.now() - timedelta(hours=1))
    found = scrape()
    assert found["planarena_evaluations", "queued"] == 2
    assert found["planarena_evaluations", "completed"] == 0
    assert 3600 <= found["planarena_evaluations_oldest_seconds", "queued"] < 3700
    assert found["planarena_evaluations_oldest_seconds", "running"] == 0
    assert ("planarena_evaluations_oldest_seconds", "completed") not in found


@pytest.mark.django_db
def test_shards_and_attempts_are_counted_by_state():
    evaluation = make_evaluation(suite=make_suite(runnable=20), state=EvaluationState.LAUNCHING)
    make_lease(evaluation)
    found = scrape()
    assert (found["planarena_shards", "leased"], found["planarena_shards", "pending"]) == (1, 2)
    assert (found["planarena_live_attempts",], found["planarena_attempts_total", "lost"]) == (1, 0)
    Evaluation.objects.update(state=EvaluationState.FAILED)
    assert scrape()["planarena_shards", "pending"] == 0


@pytest.mark.django_db
def test_ended_attempts_stay_counted_when_their_rows_are_deleted():
    evaluations = [make_evaluation(suite=make_suite(runnable=20), state=EvaluationState.LAUNCHING) for _ in range(2)]
    for evaluation in evaluations:
        assert leases.lose(attempt_id=make_lease(evaluation).attempt.pk, detail="it was not heard of")
    make_lease(evaluations[0])
    for left in (3, 1, 1):
        found = scrape()
        assert Attempt.objects.count() == left
        assert (found["planarena_attempts_total", "lost"], found["planarena_live_attempts",]) == (2, 1)
        Attempt.objects.exclude(state="live").delete()
    Shard.objects.update(state="pending")
    Attempt.objects.all().delete()
    assert scrape()["planarena_live_attempts",] == 0
    assert EndedAttempts.objects.values_list("state", "deleted").get() == ("lost", 2)


@pytest.mark.django_db
def test_steps_are_counted_once_when_their_results_arrive():
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    lease, slug = make_lease(evaluation), evaluation.suite.slug
    first = record_with_steps("0", suite=slug, steps=[("Deblur", False, 2.0), ("Caption", True, 0.0)])
    second = record_with_steps("1", suite=slug, steps=[("Deblur", True, 0.0), ("Deblur", False, 0.5)])
    for records in ([first], [first], [first, second]):
        deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
    found = scrape()
    assert found["planarena_steps_total", "Deblur", "no"] == 2
    assert found["planarena_steps_total", "Deblur", "yes"] == 1
    assert found["planarena_steps_total", "Caption", "yes"] == 1
    assert found["planarena_expert_seconds_total", "Deblur"] == 2.5
    assert leases.lose(attempt_id=lease.attempt.pk, detail="it was not heard of")
    with pytest.raises(AttemptEndedError):
        deliver(attempt_id=lease.attempt.pk, records=[second], store=MemoryStore())
    assert ToolUsage.objects.get(tool="Deblur").steps == 3


@pytest.mark.django_db
def test_requests_are_measured_by_view_and_method_and_strangers_invent_no_label():
    Client().get("/health/live")
    Client().get("/no/such/page")
    Client().generic("INVENTED", "/health/live")
    found = scrape()
    assert found["planarena_request_seconds_count", "live", "GET"] >= 1
    assert found["planarena_request_seconds_count", "none", "GET"] >= 1
    assert found["planarena_request_seconds_count", "live", "other"] >= 1
    assert not any("INVENTED" in labels or "/no/such/page" in labels for labels in found)


@pytest.mark.django_db
def test_a_scrape_asks_the_database_once_for_each_figure_and_then_waits():
    now = [0.0]
    figures = DatabaseFigures(cache_seconds=10, clock=lambda: now[0])
    with CaptureQueriesContext(connection) as queries:
        figures.collect()
        figures.collect()
    assert len(queries) == 8
    now[0] = 10.0
    with CaptureQueriesContext(connection) as queries:
        figures.collect()
    assert len(queries) == 8


@pytest.mark.django_db
def test_without_the_token_nothing_is_told_but_by_a_demo_to_its_own_machine(settings):
    for sent in ("", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
        response = Client().get("/metrics", headers={"Authorization": sent} if sent else {})
        assert (response.status_code, b"planarena" in response.content) == (401, False)
    settings.METRICS_TOKEN = ""
    for demo, address, forwarded, status in (
        (False, "127.0.0.1", False, 404),
        (True, "127.0.0.1", False, 200),
        (True, "::1", False, 200),
        (True, "127.0.0.1", True, 404),
        (True, "192.0.2.1", False, 404),
        (True, "", False, 404),
    ):
        settings.DEMO = demo
        headers = {"X-Forwarded-For": "192.0.2.1"} if forwarded else {}
        assert Client().get("/metrics", REMOTE_ADDR=address, headers=headers).status_code == status


def test_several_processes_with_one_folder_are_measured_as_one(tmp_path):
    program = """
from prometheus_client import generate_latest
from leaderboard.operations.monitoring.requests import measured
from leaderboard.operations.monitoring.requests import LATENCY
LATENCY.labels(view="lease", method="POST").observe(0.02)
print(generate_latest(measured()).decode())
"""
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for count in (1.0, 2.0):
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert f'planarena_request_seconds_count{{method="POST",view="lease"}} {count}' in done.stdout, done.stderr


PROMETHEUS = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3"


def scraped(**headers: str):
    response = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}", **headers})
    assert response.status_code == 200
    return response.headers["Content-Type"], response.content.decode()


def exemplars(text: str) -> set[str]:
    """The traces that the durations of requests of the page of the site's status point to."""
    samples = [sample for family in open_metrics(text) for sample in family.samples if sample.exemplar is not None]
    return {one.exemplar.labels["trace_id"] for one in samples if one.labels["view"] == "status"}


def names(families) -> set[str]:
    found = {sample.name for family in families for sample in family.samples}
    return {name for name in found if not name.endswith("_created")}


@pytest.mark.django_db
def test_a_sampled_request_is_the_exemplar_of_its_bucket():
    with collecting() as collector:
        with tracing_to(collector.url):
            Client().get("/status/")
        kind, text = scraped(Accept=PROMETHEUS)
        (request,) = collector.spans
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    assert text.count("# EOF") == 1
    assert request.trace in exemplars(text)
    with tracing_to("http://127.0.0.1:9", OTEL_TRACES_SAMPLER="always_off"):
        Client().get("/status/")
    assert exemplars(scraped(Accept=PROMETHEUS)[1]) == exemplars(text), "one that is not sampled is none"


@pytest.mark.django_db
def test_both_formats_say_the_same():
    Client().get("/status/")
    _, asked = scraped(Accept=PROMETHEUS)
    kind, text = scraped()
    assert kind.startswith("text/plain")
    assert "trace_id" not in text
    assert names(open_metrics(asked)) == names(plain(text))


def asked(path: str, token: str = TOKEN, **more):
    return Client().get(path, headers={"Authorization": f"Bearer {token}"} if token else {}, **more)


@pytest.mark.django_db
@pytest.mark.usefixtures("pools")
def test_a_scaler_reads_how_many_workers_a_pool_needs(launcher, django_assert_max_num_queries):
    make_evaluation(state=EvaluationState.LAUNCHING, suite=make_suite(runnable=20))
    with django_assert_max_num_queries(2):
        answer = asked("/metrics/pools/gpu")
    assert answer.json() == {"workers": 3, "models": 0, "open_shards": 3}
    assert "no-store" in answer.headers["Cache-Control"]
    assert asked("/metrics/pools/models").json() == {"workers": 0, "models": 0, "open_shards": 0}


@pytest.mark.django_db
@pytest.mark.usefixtures("pools")
def test_only_who_has_the_token_of_metrics_reads_it(settings):
    assert asked("/metrics/pools/gpu", "wrong").status_code == 401
    assert asked("/metrics/pools/gpu", "").status_code == 401
    assert asked("/metrics/pools/unknown").status_code == 404
    assert asked("/metrics/pools/unknown", "wrong").status_code == 401
    settings.METRICS_TOKEN = ""
    settings.DEMO = False
    assert asked("/metrics/pools/gpu").status_code == 404


@pytest.mark.django_db
@pytest.mark.usefixtures("pools")
def test_a_scaler_inside_the_cluster_is_not_sent_to_https(settings):
    settings.SECURE_SSL_REDIRECT = True
    assert asked("/metrics/pools/gpu").status_code == 200
    assert asked("/metrics").status_code == 200
    assert asked("/metricsx").status_code == 301


@pytest.mark.django_db
@pytest.mark.usefixtures("pools")
def test_prometheus_reads_the_same_numbers_where_there_are_pools(launcher, settings):
    make_evaluation(state=EvaluationState.LAUNCHING)
    text = asked("/metrics").content.decode()
    for line in (
        'planarena_pool_workers{pool="gpu"} 1.0', 'planarena_pool_models{pool="gpu"} 0.0',
        'planarena_pool_open_shards{pool="models"} 0.0', "planarena_evaluations_without_pool 0.0",
    ):  # fmt: skip
        assert line in text
    settings.WORKER_POOLS = ()
    assert "planarena_pool_workers{" not in asked("/metrics").content.decode()
    assert asked("/metrics/pools/gpu").status_code == 404


@pytest.mark.django_db
def test_counting_ended_attempts_changes_no_number_and_later_reads_only_what_is_new():
    evaluations = [make_evaluation(suite=make_suite(runnable=20), state=EvaluationState.LAUNCHING) for _ in range(3)]
    for evaluation in evaluations[:2]:
        assert leases.lose(attempt_id=make_lease(evaluation).attempt.pk, detail="it was not heard of")
    Attempt.objects.update(leased_at=timezone.now() - timedelta(hours=1))
    live = make_lease(evaluations[2]).attempt
    for _ in range(2):
        count_ended_attempts()
        assert EndedAttempts.objects.values_list("state", "deleted").get() == ("lost", 2)
        assert (attempt_counts()["lost"], attempt_counts()["live"]) == (2, 1)
    # One that was counted and one that was not.
    assert leases.lose(attempt_id=live.pk, detail="it was not heard of")
    for expected in (3, 3):
        assert attempt_counts()["lost"] == expected
        Attempt.objects.all().delete()
    assert attempt_counts()["live"] == 0


@pytest.mark.django_db
def test_a_live_attempt_is_counted_only_when_it_has_ended():
    evaluation = make_evaluation(suite=make_suite(runnable=20), state=EvaluationState.LAUNCHING)
    attempt = make_lease(evaluation).attempt
    Attempt.objects.update(leased_at=timezone.now() - timedelta(hours=1))
    count_ended_attempts()
    assert (attempt_counts()["live"], attempt_counts()["lost"]) == (1, 0)
    assert leases.lose(attempt_id=attempt.pk, detail="it was not heard of")
    count_ended_attempts()
    assert (attempt_counts()["live"], attempt_counts()["lost"]) == (0, 1)
    assert not Attempt.objects.filter(leased_at__gte=Moment.objects.get(name=COUNTED).at).exists()


GROWING = {"evaluations_evaluation", "evaluations_attempt", "evaluations_taskresult", "evaluations_shard"}
"""Tables that grow with every evaluation."""


def unbounded(plan, *, is_bounded=False):
    """Nodes of a plan that read a growing table whole."""
    is_bounded = is_bounded or plan["Node Type"] == "Limit"
    # The index of live leases has a row for each worker.
    by_index = {"Index Cond", "Recheck Cond"} & set(plan) or plan.get("Index Name") == "live_leases_by_whose"
    if plan.get("Relation Name") in GROWING and not is_bounded and not by_index:
        yield f"{plan['Node Type']} of {plan['Relation Name']} {plan.get('Index Name', '')} {plan.get('Filter', '')}"
    for inner in plan.get("Plans", ()):
        yield from unbounded(inner, is_bounded=is_bounded)


@pytest.mark.django_db
def test_no_figure_needs_to_read_a_growing_table():
    """Each query has a plan that reads the growing tables by conditions of an index, or up to a limit."""
    make_evaluation(suite=make_suite(runnable=20), state=EvaluationState.LAUNCHING)
    with CaptureQueriesContext(connection) as queries:
        DatabaseFigures().collect()
    found = {}
    with connection.cursor() as cursor:
        # As tables that are large would be read, whatever other tests have left in their statistics.
        for table in sorted(GROWING):
            cursor.execute(
                "UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid = %s::regclass OR oid IN "
                "(SELECT indexrelid FROM pg_index WHERE indrelid = %s::regclass)", [table, table],
            )  # fmt: skip
            cursor.execute("DELETE FROM pg_statistic WHERE starelid = %s::regclass", [table])
        for method in ("seqscan", "hashjoin", "mergejoin"):
            cursor.execute(f"SET LOCAL enable_{method} = off")
        for query in queries.captured_queries:
            if query["sql"].startswith(("SELECT", "\nWITH", "WITH")):
                cursor.execute(f"EXPLAIN (FORMAT JSON) {query['sql']}")
                plan = cursor.fetchone()[0]
                plan = json.loads(plan) if isinstance(plan, str) else plan
                if nodes := list(unbounded(plan[0]["Plan"])):
                    found[query["sql"]] = nodes
    assert found == {}


@pytest.mark.django_db
def test_many_ended_evaluations_are_estimated(monkeypatch):
    monkeypatch.setattr(figures, "_EXACT", 2)
    for _ in range(4):
        make_evaluation(state=EvaluationState.FAILED)
    make_evaluation(state=EvaluationState.CANCELLED)
    assert scrape()["planarena_evaluations", "failed"] == 3, "at least so many, before the first analysis"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE evaluations_evaluation")
    assert scrape()["planarena_evaluations", "failed"] == 4
    assert scrape()["planarena_evaluations", "cancelled"] == 1
