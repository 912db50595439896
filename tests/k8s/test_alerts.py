"""The rules of Prometheus are those of the runbook, from one file with and without the Prometheus operator."""

import re
from pathlib import Path

import yaml

from tests.k8s.chart import (
    CHART,
    GPU,
    JOBS,
    VARIANTS,
    build,
    environment_of,
    labels_of,
    merged,
    named,
    of_each,
    of_kind,
    pod_of,
    render,
)
from tests.k8s.peers import PROMETHEUS
from tests.k8s.policies import Pod, allowed

ROOT = Path(__file__).resolve().parent.parent.parent
RUNBOOK = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")
FILE, OF_WORKERS = (
    yaml.safe_load((CHART / "files" / f"{name}.yaml").read_text(encoding="utf-8"))
    for name in ("alerts", "worker-alerts")
)
RULES = [rule for file in (FILE, OF_WORKERS) for group in file["groups"] for rule in group["rules"]]
ROWS = re.findall(r"^\| \[(\w+)\]\(#\w+\) \| `([^`]+)` \| ([^|]+) \|$", RUNBOOK, re.M)


def test_the_runbook_names_the_same_alerts_conditions_and_times():
    words = {f"{minutes}m": f"{minutes} minutes" for minutes in (2, 5, 10, 15)} | {"1m": "1 minute"}
    listed = [(rule["alert"], rule["expr"], words[rule["for"]]) for rule in RULES]
    assert listed == [(name, condition.replace(r"\|", "|"), time) for name, condition, time in ROWS]


@of_each(name=[rule["alert"] for rule in RULES])
def test_an_alert_says_what_is_wrong_and_where_the_runbook_has_it(name):
    (rule,) = [one for one in RULES if one["alert"] == name]
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["summary"].endswith(".")
    path, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert (ROOT / path).read_text(encoding="utf-8") == RUNBOOK
    assert re.search(rf"^### {anchor}$", RUNBOOK, re.M | re.I)


def test_the_operator_s_rule_holds_the_file_as_it_is():
    manifests = build("production with everything")
    assert named(manifests, "PrometheusRule", "planarena")["spec"] == FILE
    assert named(manifests, "PrometheusRule", "planarena-workers")["spec"] == OF_WORKERS


def test_every_alert_also_looks_for_series_that_are_not_there():
    for rule in RULES:
        absent = re.findall(r"absent\(([a-z_]+)", rule["expr"])
        assert absent, rule["alert"]
        assert rule["labels"]["service"] == "planarena", "by which Alertmanager inhibits it while the site is down"


def test_prometheus_asks_each_worker_process_and_model_server():
    """A pod has one process for each GPU; each listens at a port of its own."""
    two = {"pools": [GPU | {"gpu": {"count": 2}, "modelServer": {"kind": "pod"}}]}
    manifests = render(merged(VARIANTS["production with everything"], two))
    monitor = named(manifests, "PodMonitor", "planarena-workers")["spec"]
    assert [one["port"] for one in monitor["podMetricsEndpoints"]] == ["metrics-0", "metrics-1"]
    policies = of_kind(manifests, "NetworkPolicy")
    for name, count in (("planarena-pool-gpu", 2), ("planarena-models-gpu", 1)):
        item = named(manifests, "Deployment", name)
        (container,) = pod_of(item)["containers"]
        ports = {one["name"]: one["containerPort"] for one in container["ports"] if one["name"].startswith("metrics")}
        assert ports == {f"metrics-{number}": 9100 + number for number in range(count)}
        assert environment_of(container)["PLANARENA_WORKER_METRICS_PORT"] == "9100"
        target = Pod(namespace=JOBS, labels=labels_of(item))
        assert allowed(policies, source=PROMETHEUS[0], target=target, port=9100)
        assert not allowed(policies, source=Pod(namespace="default"), target=target, port=9100)
    without = build("production")
    assert not of_kind(without, "PodMonitor")
    assert "METRICS_PORT" not in str(without)


def test_prometheus_asks_every_web_pod_with_the_token_under_a_job_that_the_alerts_know():
    manifests = build("production with everything")
    monitor, service = named(manifests, "ServiceMonitor", "planarena"), named(manifests, "Service", "planarena-web")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    assert endpoint["authorization"]["credentials"] == {"name": "planarena-metrics", "key": "PLANARENA_METRICS_TOKEN"}
    # A job is called like its Service.
    (pattern,) = re.findall(r'job=~"([^"]+)"', RULES[0]["expr"])
    assert re.fullmatch(pattern, service["metadata"]["name"])
