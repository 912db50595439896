"""The rules of Prometheus are those of the runbook, from one file with and without the Prometheus operator."""

import re
from pathlib import Path

import yaml

from tests.k8s.chart import CHART, build, named, of_each

ROOT = Path(__file__).resolve().parent.parent.parent
RUNBOOK = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")
FILE = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
(GROUP,) = FILE["groups"]
RULES = GROUP["rules"]
ROWS = re.findall(r"^\| \[(\w+)\]\(#\w+\) \| `([^`]+)` \| ([^|]+) \|$", RUNBOOK, re.M)


def test_the_runbook_names_the_same_alerts_conditions_and_times():
    words = {None: "at once"} | {f"{minutes}m": f"{minutes} minutes" for minutes in (2, 5, 10, 15)} | {"1m": "1 minute"}
    listed = [(rule["alert"], rule["expr"], words[rule.get("for")]) for rule in RULES]
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
    assert named(build("production with everything"), "PrometheusRule", "planarena")["spec"] == FILE


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
