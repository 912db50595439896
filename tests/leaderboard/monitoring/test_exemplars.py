"""Histograms that point to a trace: in OpenMetrics, for those who ask for it."""

import pytest
from django.test import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain

from leaderboard.monitoring import views
from leaderboard.monitoring.figures import DatabaseFigures
from tests.fakes.collector import collecting, tracing_to

TOKEN = "the-token-of-these-tests"
PROMETHEUS = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3"


@pytest.fixture(autouse=True)
def site(settings, monkeypatch):
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(views, "_FIGURES", DatabaseFigures(cache_seconds=0))


def scrape(**headers: str):
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
        kind, text = scrape(Accept=PROMETHEUS)
        (request,) = collector.spans
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    assert text.count("# EOF") == 1
    assert request.trace in exemplars(text)
    with tracing_to("http://127.0.0.1:9", OTEL_TRACES_SAMPLER="always_off"):
        Client().get("/status/")
    assert exemplars(scrape(Accept=PROMETHEUS)[1]) == exemplars(text), "one that is not sampled is none"


@pytest.mark.django_db
def test_both_formats_say_the_same():
    Client().get("/status/")
    _, asked = scrape(Accept=PROMETHEUS)
    kind, text = scrape()
    assert kind.startswith("text/plain")
    assert "trace_id" not in text
    assert names(open_metrics(asked)) == names(plain(text))
