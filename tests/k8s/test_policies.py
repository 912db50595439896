"""Flows that the site needs, and flows that nobody may have, against the policies as they will be applied."""

import itertools

import helm_python
import pytest

from tests.k8s.chart import JOBS, labels_of, merged, named, of_each, render
from tests.k8s.chart import SITE as SITE_NAMESPACE
from tests.k8s.peers import (
    ANYWHERE_IN_VPC,
    BEAT,
    CALLING,
    DNS,
    GATEWAY,
    GITHUB,
    HUB,
    KEDA,
    LOADING,
    MIGRATE,
    MIRROR,
    MODEL_SERVER,
    NODE_LOCAL_DNS,
    OTHER_LOADING,
    OTHER_MODEL_SERVER,
    PLAIN,
    PLANNER,
    PLANNER_6,
    POOLS,
    PORT,
    PRIVATE,
    PROGRAMS,
    PROMETHEUS,
    PROXY,
    QUEUE,
    SITE,
    WATCH,
    WAYS,
    WEB,
    calls,
    policies_of,
)  # fmt: skip
from tests.k8s.policies import Host, Peer, Pod, allowed

GRAFANA = Pod(namespace="monitoring", labels={"app.kubernetes.io/name": "grafana"})
KUBE_SYSTEM = [DNS[0], NODE_LOCAL_DNS, Host(address="169.254.169.254")]
OUTSIDE = [GITHUB, HUB, PLANNER, PLANNER_6]
API_SERVER = Host(address="10.0.0.1")
INSIDE = [*SITE, MIRROR, GATEWAY, *DNS, *PROMETHEUS]
"""Pods that neither serve models nor run programs."""
RESERVED = [Host(address=address) for address in PRIVATE]
ADDRESSES = [NODE_LOCAL_DNS, ANYWHERE_IN_VPC, *RESERVED]
WORKERS = [PLAIN, CALLING, LOADING]
UNKNOWN = [Pod(namespace=JOBS), Pod(namespace="default"), API_SERVER, PLANNER]
PORTS = [22, 53, 80, 443, 3128, 5432, 6379, 6443, PORT, 7071, 8000, 8080]

# What happens, who begins, who is called, and at which ports.
Flow = tuple[str, list[Peer], list[Peer], list[int]]
THROUGH_THE_PROXY_OR_NOT: list[Flow] = [
    ("test calls of planners at any port", [WEB], [PLANNER, PLANNER_6], [80, 443, 1024, 8000, 65535]),
    ("people sign in with GitHub", [WEB], [GITHUB], [443]),
    ("the hub is asked about a submitted model", [WEB], [HUB], [443]),
    ("webhooks", [QUEUE], [PLANNER], [443, 8443]),
]
OPEN: list[Flow] = [
    ("the hub's mirror", [WEB, PLAIN, CALLING], [MIRROR], [8080]),
    ("figures for Prometheus wherever it runs", PROMETHEUS, [WEB], [8000]),
    ("ingress, KEDA and workers ask the site", [Pod(namespace="ingress-nginx"), KEDA, PLAIN, CALLING], [WEB], [8000]),
    ("DNS", [*SITE, PLAIN, CALLING], [*DNS, NODE_LOCAL_DNS], [53]),
    ("services of the site wherever they are", list(SITE), [ANYWHERE_IN_VPC], [5432, 6379, 5671, 5672, 587]),
    ("queue and watch ask the API server", [QUEUE, WATCH], [API_SERVER], [6443]),
    ("a worker reaches the model servers of its pool", [LOADING], [MODEL_SERVER], [PORT]),
    ("and another those of its own", [OTHER_LOADING], [OTHER_MODEL_SERVER], [PORT]),
    ("workers have programs run", WORKERS, [PROGRAMS], [7071]),
]
SHUT: list[Flow] = [
    ("no private address from web pods", [WEB], RESERVED, [80, 443, 8000]),
    ("no other service of the internet from web pods", [WEB], [PLANNER], [22, 25, 445]),
    ("beat calls nobody", [BEAT], [PLANNER, MIRROR], [443, 8080, 8443]),
    ("the site is asked by nobody else", [Pod(namespace="default"), GRAFANA], [WEB], [8000]),
    ("queue pods serve nothing", [*PROMETHEUS, KEDA, PLAIN], [QUEUE], [8000]),
    ("KEDA asks no worker", [KEDA], [PLAIN], [8000]),
    ("nothing but DNS of the cluster's own services", [PLAIN, CALLING], KUBE_SYSTEM, [80, 443]),
    ("no metadata of the machine", [PLAIN, CALLING], [KUBE_SYSTEM[-1], PLANNER], [53]),
    ("nobody else asks the API server", [WEB, BEAT, MIGRATE], [API_SERVER], [6443]),
    ("no worker asks it", [PLAIN], [API_SERVER], [443]),
    ("nothing outside for workers without endpoints", [PLAIN], [PLANNER, *RESERVED], [53, 80, 443, 5432, 6379]),
    ("no private address for workers with endpoints", [CALLING], RESERVED, [443]),
    ("no other port of a model server", [LOADING], [MODEL_SERVER], [22, 80, 443, 8000, PORT - 1, PORT + 1]),
    ("no model server of another pool", [LOADING], [OTHER_MODEL_SERVER, OTHER_LOADING, LOADING, QUEUE], [PORT]),
    ("a model server is reached by its workers alone",
     [OTHER_LOADING, OTHER_MODEL_SERVER, MODEL_SERVER, *INSIDE, *UNKNOWN,
      *(Pod(namespace=space, labels=LOADING.labels) for space in ("default", "planarena"))], [MODEL_SERVER], [PORT]),
    ("a model server reaches nothing, not even a name server", [MODEL_SERVER],
     [LOADING, OTHER_LOADING, OTHER_MODEL_SERVER, *INSIDE, *OUTSIDE, *ADDRESSES], PORTS),
    ("no other port of programs", WORKERS, [PROGRAMS], [22, 80, 443, 7070, 7072, 8000]),
    ("programs are run for workers alone",
     [MODEL_SERVER, PROGRAMS, *INSIDE, PROXY, *UNKNOWN, Pod(namespace="default", labels=PLAIN.labels)],
     [PROGRAMS], [7071]),
    ("programs reach nothing, not even a name server", [PROGRAMS],
     [PLAIN, LOADING, MODEL_SERVER, *INSIDE, PROXY, *OUTSIDE, *ADDRESSES], PORTS),
]  # fmt: skip

THE_PROXY_OPEN: list[Flow] = [
    ("those who call strangers", [WEB, QUEUE, CALLING], [PROXY], [3128]),
    ("and the internet", [PROXY], [PLANNER], [443]),
]
THE_PROXY_SHUT: list[Flow] = [
    ("nobody else reaches the internet", [*SITE, PLAIN, CALLING], OUTSIDE,
     [22, 53, 80, 443, 1024, 6443, 8000, 8443, 65535]),
    ("nobody else asks it",
     [BEAT, WATCH, MIGRATE, PLAIN, *DNS, *PROMETHEUS, *UNKNOWN, Pod(namespace="planarena-egress"),
      Pod(namespace="default", labels=WEB.labels), Pod(namespace=JOBS, labels={"planarena.io/egress": "endpoint"})],
     [PROXY], [3128]),
    ("it has one port", [WEB], [PROXY], [22, 80, 443, 3127, 3129]),
    ("nothing of the cluster", [PROXY],
     [*SITE, PLAIN, CALLING, MIRROR, GATEWAY, ANYWHERE_IN_VPC, *RESERVED], PORTS),
    ("no other service of the internet", [PROXY], [PLANNER], [22, 25, 53, 445, 1023]),
]  # fmt: skip


def in_every_way(**cases):
    """A test of the policies of each way to install, and of each combination of further arguments."""

    def decorate(check):
        def of_way(way, **further):
            check(policies_of(way), **further)

        of_way.__name__, of_way.__module__ = check.__name__, check.__module__
        return of_each(way=WAYS, **cases)(of_way)

    return decorate


def combinations(flows):
    for what, sources, targets, ports in flows:
        for source, target, port in itertools.product(sources, targets, ports):
            yield f"{what}: {source} to {target} at {port}", {"source": source, "target": target, "port": port}


@in_every_way()
def test_what_the_site_and_its_workers_need_is_open(policies):
    assert [what for what, flow in combinations(THROUGH_THE_PROXY_OR_NOT) if not calls(policies, **flow)] == []
    assert [what for what, flow in combinations(OPEN) if not allowed(policies, **flow)] == []
    dns = [flow for what, flow in combinations(OPEN) if what.startswith("DNS")]
    assert all(allowed(policies, **flow, protocol="UDP") for flow in dns)


@in_every_way()
def test_everything_else_is_shut_also_by_way_of_the_proxy(policies):
    assert [what for what, flow in combinations(SHUT) if calls(policies, **flow)] == []
    assert [what for what, flow in combinations(SHUT) if allowed(policies, **flow, protocol="UDP")] == []


def test_in_production_those_who_call_strangers_ask_the_proxy_and_nobody_else_reaches_it_or_the_internet():
    policies = policies_of("production")
    assert [what for what, flow in combinations(THE_PROXY_OPEN) if not allowed(policies, **flow)] == []
    servers = [*DNS, NODE_LOCAL_DNS]
    assert all(allowed(policies, source=PROXY, target=one, port=53, protocol="UDP") for one in servers)
    assert [what for what, flow in combinations(THE_PROXY_SHUT) if allowed(policies, **flow)] == []


def test_workers_that_call_endpoints_go_out_by_the_proxy_the_gateway_or_directly():
    of = {name: policies_of(name) for name in WAYS}
    assert calls(of["production"], source=CALLING, target=PLANNER, port=443)
    assert not allowed(of["production"], source=CALLING, target=PLANNER, port=443)
    assert not allowed(of["production"], source=CALLING, target=GATEWAY, port=443)
    assert allowed(of["production with a gateway"], source=CALLING, target=GATEWAY, port=443)
    assert not allowed(of["production with a gateway"], source=CALLING, target=PLANNER, port=443)
    for direct in ("dev", "production without proxy"):
        assert allowed(of[direct], source=CALLING, target=PLANNER, port=443)
    assert not any(allowed(found, source=PLAIN, target=GATEWAY, port=443) for found in of.values())


@in_every_way()
def test_model_servers_refuse_workers_of_other_pools_whatever_those_may_call(policies):
    own = [item for item in policies if item["metadata"]["name"].startswith("models-")]
    assert allowed(own, source=LOADING, target=MODEL_SERVER, port=PORT)
    assert not allowed(own, source=OTHER_LOADING, target=MODEL_SERVER, port=PORT)


MINIO = Pod(namespace="storage", labels={"app": "minio"})
S3 = {
    "enabled": True,
    "ports": [9000],
    "peers": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "storage"}}}],
}
ENTERPRISE = {"peers": [{"ipBlock": {"cidr": "10.9.0.0/16"}}]}
VPC = ANYWHERE_IN_VPC
STS = Host(address="10.6.0.9")
IDENTITY = {"enabled": True, "ports": [4430], "peers": [{"ipBlock": {"cidr": "10.6.0.0/16"}}]}
TRACES = {"endpoint": "https://10.5.0.9:4318"}
COLLECTOR = Host(address="10.5.0.9")
TO_COLLECTOR = {"peers": [{"ipBlock": {"cidr": "10.5.0.0/16"}}]}
WAYS_OF_VALUES = [
    # The value, who calls whom, and the port.
    ("from.ingress", Pod(namespace="ingress-nginx"), WEB, 8000),
    ("from.prometheus", PROMETHEUS[0], WEB, 8000),
    ("from.keda", KEDA, WEB, 8000),
    ("to.database", MIGRATE, VPC, 5432),
    ("to.redis", QUEUE, VPC, 6379),
    ("to.rabbitmq", QUEUE, VPC, 5672),
    ("to.rabbitmq", WEB, VPC, 5671),
    ("to.mail", WEB, VPC, 587),
    ("to.apiServer", WATCH, VPC, 6443),
    ("to.s3", PLAIN, MINIO, 9000),
    ("to.identity", PLAIN, STS, 4430),
    ("to.identity", QUEUE, STS, 4430),
    ("to.traces", QUEUE, COLLECTOR, 4318),
    ("to.traces", PLAIN, COLLECTOR, 4318),
    ("to.modelMirror", WEB, MIRROR, 8080),
    ("to.modelMirror", PLAIN, MIRROR, 8080),
    ("to.testCalls", WEB, PLANNER, 8443),
    ("to.webhooks", QUEUE, PLANNER, 8443),
    ("to.endpoints", CALLING, PLANNER, 8443),
]


@of_each(way=WAYS_OF_VALUES)
def test_each_way_is_a_value_that_closes_it(way):
    value, source, target, port = way
    side, name = value.split(".")
    further = {"network": {"to": {"s3": S3, "identity": IDENTITY, "traces": TO_COLLECTOR}}, "tracing": TRACES}
    opened = policies_of("production without proxy", **further)
    closed = policies_of("production without proxy", **merged(further, {"network": {side: {name: {"enabled": False}}}}))
    assert allowed(opened, source=source, target=target, port=port)
    assert not allowed(closed, source=source, target=target, port=port)


def test_every_way_of_the_values_is_among_them():
    from tests.k8s.chart import chart_values

    network = chart_values()["network"]
    known = {value for value, *_ in WAYS_OF_VALUES}
    # Sign-in and look-ups leave at 443, and so do test calls: the next test tells them apart.
    assert {f"{side}.{name}" for side in ("from", "to") for name in network[side]} == known | {
        "to.githubSignIn", "to.hubChecks",
    }  # fmt: skip


def test_sign_in_and_the_hub_need_no_test_calls_and_leave_at_443_only():
    only = {name: {"enabled": name == "githubSignIn"} for name in ("testCalls", "githubSignIn", "hubChecks")}
    for name in ("githubSignIn", "hubChecks"):
        only = {other: {"enabled": other == name} for other in only}
        found = policies_of("production without proxy", network={"to": only})
        assert allowed(found, source=WEB, target=GITHUB, port=443)
        assert not allowed(found, source=WEB, target=PLANNER, port=8443)
    none = policies_of("production without proxy", network={"to": {name: {"enabled": False} for name in only}})
    assert not allowed(none, source=WEB, target=GITHUB, port=443)
    for way in WAYS:
        closed = policies_of(way, network={"to": {name: {"enabled": False} for name in only}})
        assert not calls(closed, source=WEB, target=GITHUB, port=443), way


def test_a_github_enterprise_server_at_a_private_address_is_reached_directly():
    found = policies_of("production", network={"to": {"githubSignIn": ENTERPRISE}})
    assert allowed(found, source=WEB, target=Host(address="10.9.1.1"), port=443)
    assert not allowed(found, source=WEB, target=Host(address="10.8.1.1"), port=443)


def test_services_can_be_restricted_to_their_addresses_and_pgbouncer_is_one():
    peers = [{"ipBlock": {"cidr": "10.5.0.0/16"}}]
    found = policies_of(
        "production", network={"to": {"database": {"peers": peers}}}, database={"host": "db", "pooler": {"host": "p"}}
    )
    assert allowed(found, source=WEB, target=Host(address="10.5.0.1"), port=5432)
    assert not allowed(found, source=WEB, target=VPC, port=5432)
    assert allowed(found, source=WEB, target=VPC, port=6432)
    assert not allowed(policies_of("production"), source=WEB, target=VPC, port=6432)


def test_a_bucket_without_its_addresses_is_refused():
    with pytest.raises(helm_python.HelmError, match=r"network\.to\.s3\.peers is empty"):
        policies_of("production", network={"to": {"s3": {"enabled": True}}})


def test_the_site_and_workers_reach_the_collector_of_traces_and_nobody_else_does():
    found = policies_of("production", tracing=TRACES, network={"to": {"traces": TO_COLLECTOR}})
    for source in (WEB, QUEUE, BEAT, WATCH, PLAIN, CALLING, LOADING):
        assert allowed(found, source=source, target=COLLECTOR, port=4318), source
        assert not allowed(found, source=source, target=VPC, port=4318), source
        assert not allowed(policies_of("production"), source=source, target=COLLECTOR, port=4318), source
    for source in (MODEL_SERVER, PROGRAMS, PROXY):
        assert not allowed(found, source=source, target=COLLECTOR, port=4318), source


def test_a_collector_without_its_addresses_is_refused():
    with pytest.raises(helm_python.HelmError, match=r"network\.to\.traces\.peers is empty"):
        policies_of("production", tracing=TRACES)


@in_every_way()
def test_nothing_is_allowed_that_is_not_named(policies):
    denied = [item for item in policies if item["metadata"]["name"] == "default-deny"]
    spaces = {item["metadata"]["namespace"] for item in policies}
    assert {item["metadata"]["namespace"] for item in denied} == spaces >= {SITE_NAMESPACE, JOBS}
    for item in denied:
        assert item["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    jobs = [item for item in policies if item["metadata"]["namespace"] == JOBS]
    with_ingress = {item["metadata"]["name"] for item in jobs if "ingress" in item["spec"]}
    assert with_ingress == {"programs", "models-loading", "models-other"}
    rules = [rule for item in jobs for rule in item["spec"].get("egress", [])]
    assert all(rule.get("to") and rule.get("ports") for rule in rules)


def test_the_pods_of_the_chart_have_the_labels_that_are_assumed_here():
    manifests = render(POOLS)
    for pod, name in (
        (PLAIN, "pool-plain"), (CALLING, "pool-calling"), (LOADING, "pool-loading"), (OTHER_LOADING, "pool-other"),
        (MODEL_SERVER, "models-loading"), (OTHER_MODEL_SERVER, "models-other"),
    ):  # fmt: skip
        labels = labels_of(named(manifests, "Deployment", f"planarena-{name}"))
        own = {"app.kubernetes.io/component", *(key for key in labels if key.startswith("planarena.io/"))}
        assert {key: labels[key] for key in own} == pod.labels


def test_only_pools_that_call_public_addresses_are_let_out():
    values = merged(WAYS["production"], {"modelMirror": "http://mirror:8080", "pools": POOLS["pools"]})
    with_mirror = {
        name: "planarena.io/egress"
        in named(render(values), "Deployment", f"planarena-pool-{name}")["spec"]["template"]["metadata"]["labels"]
        for name in ("plain", "calling", "loading")
    }
    assert with_mirror == {"plain": False, "calling": True, "loading": False}
    assert "planarena.io/egress" in LOADING.labels, "without a mirror, models come from the hub"
