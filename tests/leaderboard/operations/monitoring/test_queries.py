"""The conditions of the runbook's alerts and the dashboard for Grafana use metrics that the site gives."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families
from promql_parser import AggregateExpr, BinaryExpr, Matcher, MatchOp, VectorSelector

from gpu_jobs.metrics import WorkerMetrics
from gpu_jobs.model_server.serving import server_metrics
from leaderboard.help.documents.chapters import DOCS
from leaderboard.operations.models import Moment, ToolUsage
from leaderboard.operations.monitoring.figures import DatabaseFigures
from leaderboard.operations.monitoring.requests import LATENCY, REGISTRY, PoolWatch
from leaderboard.platform.database import database_now
from tests.k8s.chart import CHART, build, named

Given = dict[str, dict[str, set[str]]]
"""Values of labels, by label, by name of a series."""
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds."""


@dataclass(frozen=True)
class Query:
    """What a query names."""

    selectors: tuple[VectorSelector, ...]
    grouped: frozenset[str]
    """Labels of `by`, `on` and the like."""

    @property
    def names(self) -> set[str]:
        return {selector.name for selector in self.selectors}


def parsed(text: str) -> Query:
    """Raises ValueError for what Prometheus would refuse."""
    selectors: list[VectorSelector] = []
    grouped: set[str] = set()

    def visit(node) -> None:
        if isinstance(node, VectorSelector):
            selectors.append(node)
        if isinstance(node, AggregateExpr) and node.modifier:
            grouped.update(node.modifier.labels)
        if isinstance(node, BinaryExpr) and node.modifier and node.modifier.matching:
            grouped.update(node.modifier.matching.labels)

    promql_parser.walk(promql_parser.parse(text), visit)
    return Query(tuple(selectors), frozenset(grouped))


def given_series() -> Given:
    """Every series that a site with something of everything gives."""
    ToolUsage.objects.create(tool="Deblur", steps=2, cached=1, seconds=1.5)
    Moment.objects.create(name="task:sweep", at=database_now())
    for view in ("api:lease", "api:finish"):
        LATENCY.labels(view=view, method="POST").observe(0.01)
    PoolWatch().note({"pool_size": 2, "pool_available": 1, "pool_max": 10})
    given: Given = {"up": {}}
    for family in [*DatabaseFigures().collect(), *REGISTRY.collect()]:
        for sample in family.samples:
            labels = given.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    for metrics in (WorkerMetrics(), server_metrics()):
        # Also what this machine cannot measure.
        metrics.measured = [(name, lambda: 1.0) for name, _ in metrics.measured]
        for family in text_string_to_metric_families(metrics.text()):
            for sample in family.samples:
                labels = given.setdefault(sample.name, {})
                for label, value in sample.labels.items():
                    labels.setdefault(label, set()).add(value)
    return given


def faults(text: str, given: Given) -> Iterator[str]:
    """Names, labels and values of a query that no series has."""
    query = parsed(text)
    for selector in query.selectors:
        if selector.name not in given:
            yield f"{selector.name} does not exist"
            continue
        labels = given[selector.name]
        for matcher in selector.matchers.matchers:
            if matcher.name in SCRAPED:
                continue
            if matcher.name not in labels:
                yield f"{selector.name} has no label {matcher.name}"
                continue
            for value in _alternatives(matcher):
                if not any(re.fullmatch(value, one) for one in labels[matcher.name]):
                    yield f"{selector.name} has no {matcher.name}={value}"
    known = SCRAPED.union(*(given.get(name, {}) for name in query.names))
    yield from (f"no series has the label {label}" for label in query.grouped - known)


def _alternatives(matcher: Matcher) -> list[str]:
    if matcher.op not in (MatchOp.Re, MatchOp.NotRe):
        return [re.escape(matcher.value)]
    # `a:(b|c)` is two, `b|c` too.
    found = re.fullmatch(r"([^(|]*)\((.*)\)", matcher.value)
    start, rest = found.groups() if found else ("", matcher.value)
    return [start + end for end in rest.split("|")]


FILE = CHART / "files" / "dashboards" / "planarena.json"
TARGETS = [target for panel in json.loads(FILE.read_text())["panels"] for target in panel["targets"]]
TEXT = (DOCS / "watch.md").read_text()
ALERTS_TEXT = TEXT.partition("\n## Alerts\n")[2]
ALERTS = [
    (name, anchor, condition.replace(r"\|", "|"))
    for name, anchor, condition in re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| `([^`]+)` \|", TEXT, re.MULTILINE)
]
EQUAL = ("evaluations", "shards", "attempts", "live", "pool", "store", "expert", "outbox", "broker_m", "task", "backup",
         "health")  # fmt: skip
"""How names of metrics begin that every process tells alike."""
MEASURED = ("planarena_request_seconds", "planarena_database_", "planarena_worker_", "planarena_model_server_")
"""By each process, of its own work."""


def test_each_alert_has_a_section_with_steps_and_each_section_an_alert():
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", ALERTS_TEXT, re.DOTALL | re.MULTILINE))
    assert [name for name, _, _ in ALERTS] == list(sections)
    assert all(anchor == name.lower() for name, anchor, _ in ALERTS)
    assert all(re.search(r"^1\. ", steps, re.MULTILINE) for steps in sections.values())


@pytest.mark.django_db
@pytest.mark.usefixtures("everything")
def test_queries_use_metrics_labels_and_values_that_exist_and_every_metric_is_on_the_dashboard():
    given = given_series()
    assert list(faults('max(planarena_attempts_total{state="gone"}) > 5', given)) == [
        "planarena_attempts_total has no state=gone"
    ]
    queries = [target["expr"] for target in TARGETS]
    assert {query: wrong for query in queries if (wrong := list(faults(query, given)))} == {}
    for target in TARGETS:
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert shown <= SCRAPED | parsed(target["expr"]).grouped, target["expr"]
    for name, _, condition in ALERTS:
        assert list(faults(condition, given)) == [], name
        # What is true of every series would always alert.
        expression = promql_parser.parse(condition)
        is_absence = isinstance(expression, promql_parser.Call) and expression.func.name == "absent"
        assert is_absence or str(expression.op) in {"==", ">", "<", "and", "or"}, name
    used = set().union(*(parsed(query).names for query in queries))
    ends = re.compile(r"_(bucket|count|sum|created|total)$")
    assert {ends.sub("", name) for name in given} - {ends.sub("", name) for name in used} == {
        # Intervals are for alerts; what is quarantined and not lost has been repaired.
        "planarena_task_interval_seconds", "planarena_store_quarantined",
    }  # fmt: skip


@pytest.mark.django_db
@pytest.mark.usefixtures("own_store", "file_broker")
def test_a_site_on_which_nothing_has_happened_gives_every_series_that_alerts_look_at():
    """Otherwise alerts on absence would be raised on a new site."""
    there = {sample.name for family in DatabaseFigures(cache_seconds=0).collect() for sample in family.samples}
    names = set().union(*(parsed(condition).names for _, _, condition in ALERTS))
    assert names - there == {"up"} | {name for name in names if name.startswith(MEASURED)}
    assert ALERTS[0][::2] == ("SiteDown", 'absent(up{job=~"planarena.*"} == 1)')


def test_what_the_database_counts_is_not_added_up_over_the_processes_that_tell_it():
    for target in TARGETS:
        if re.search(rf"planarena_({'|'.join(EQUAL)})", target["expr"]):
            assert re.search(r"\bmax(\(| by )", target["expr"]), target["expr"]


def test_the_chart_gives_the_dashboard_to_grafana_as_it_is():
    found = named(build("production with everything"), "ConfigMap", "planarena-dashboards")
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["data"] == {"planarena.json": FILE.read_text(encoding="utf-8")}
