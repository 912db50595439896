"""The dashboard for Grafana shows metrics that the site gives, and every group of them."""

import json
import re

import pytest

from leaderboard.monitoring.figures import DatabaseFigures
from leaderboard.monitoring.requests import REGISTRY
from tests.k8s.chart import CHART, build, named

FILE = CHART / "files" / "dashboards" / "planarena.json"
DASHBOARD = json.loads(FILE.read_text(encoding="utf-8"))
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.mark.django_db
@pytest.mark.usefixtures("own_store")
def test_its_queries_use_metrics_and_labels_that_exist():
    given, labels = set(), {"le", "instance", "job"}
    for family in [*DatabaseFigures().collect(), *REGISTRY.collect()]:
        ending = {"histogram": ("_bucket", "_count"), "counter": ("_total",)}.get(family.type, ("",))
        given |= {family.name + end for end in ending}
        labels |= {label for sample in family.samples for label in sample.labels}
    labels |= {"view", "method", "pool", "tool", "cached"}
    for query in QUERIES:
        for name in re.findall(r"planarena_\w+", query):
            assert name in given, name
        for names in re.findall(r"\{(\w+)[!=]", query):
            assert names in labels, query
    used = {name for query in QUERIES for name in re.findall(r"planarena_\w+", query)}
    assert {re.sub(r"_(bucket|count)$", "", name) for name in given - used} <= {
        "planarena_request_seconds", "planarena_store_quarantined",
    }  # fmt: skip


def test_what_the_database_counts_is_not_added_up_over_the_processes_that_tell_it():
    for query in QUERIES:
        if re.search(r"planarena_(evaluations|shards|attempts|pool|store|expert)", query):
            assert re.search(r"\bmax(\(| by )", query), query


def test_panels_have_places_of_their_own_and_a_source_that_can_be_chosen():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["name"], variable["type"]) == ("datasource", "datasource")


def test_the_chart_gives_it_to_grafana_as_it_is():
    found = named(build("production with everything"), "ConfigMap", "planarena-dashboards")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["data"] == {"planarena.json": FILE.read_text(encoding="utf-8")}
