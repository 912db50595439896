"""The dashboard for Grafana shows metrics that the site gives, and every group of them."""

import json
import re

import pytest

from tests.k8s.chart import CHART, build, named
from tests.leaderboard.monitoring.promql import SCRAPED, faults, given_series, parsed

FILE = CHART / "files" / "dashboards" / "planarena.json"
DASHBOARD = json.loads(FILE.read_text(encoding="utf-8"))
EQUAL = ("evaluations", "shards", "attempts", "live", "pool", "store", "expert", "outbox", "broker_m", "task", "backup",
         "health")  # fmt: skip
"""How names of metrics begin that every process tells alike."""
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.mark.django_db
@pytest.mark.usefixtures("everything")
def test_its_queries_use_metrics_labels_and_values_that_exist():
    given = given_series()
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            assert list(faults(target["expr"], given)) == [], panel["title"]
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert shown <= SCRAPED | parsed(target["expr"]).grouped, panel["title"]


@pytest.mark.django_db
@pytest.mark.usefixtures("everything")
def test_every_metric_is_on_it():
    used = set().union(*(parsed(query).names for query in QUERIES))
    ends = re.compile(r"_(bucket|count|sum|created|total)$")
    assert {ends.sub("", name) for name in given_series()} - {ends.sub("", name) for name in used} == {
        # Intervals are for alerts; what is quarantined and not lost has been repaired.
        "planarena_task_interval_seconds", "planarena_store_quarantined",
    }  # fmt: skip


def test_what_the_database_counts_is_not_added_up_over_the_processes_that_tell_it():
    for query in QUERIES:
        if re.search(rf"planarena_({'|'.join(EQUAL)})", query):
            assert re.search(r"\bmax(\(| by )", query), query


def test_the_chart_gives_it_to_grafana_as_it_is():
    found = named(build("production with everything"), "ConfigMap", "planarena-dashboards")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["data"] == {"planarena.json": FILE.read_text(encoding="utf-8")}
