"""Flows that the site needs, and flows that nobody may have, against the policies as they will be applied."""

import helm_python
import pytest

from tests.k8s.chart import JOBS, merged, named, of_each, of_kind, render
from tests.k8s.chart import SITE as SITE_NAMESPACE
from tests.k8s.peers import (
    ANYWHERE_IN_VPC,
    BEAT,
    CALLING,
    DNS,
    ENGINE_PORT,
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
from tests.k8s.policies import Host, Pod, allowed


def in_every_way(**cases):
    """A test of the policies of each way to install, and of each combination of further arguments."""

    def decorate(check):
        def of_way(way, **further):
            check(policies_of(way), **further)

        of_way.__name__, of_way.__module__ = check.__name__, check.__module__
        return of_each(way=WAYS, **cases)(of_way)

    return decorate


@in_every_way(port=[80, 443, 1024, 8000, 65535], target=[PLANNER, PLANNER_6])
def test_web_pods_make_test_calls_to_public_endpoints_at_any_port_that_planners_use(policies, target, port):
    assert calls(policies, source=WEB, target=target, port=port)


@in_every_way(port=[80, 443, 8000])
def test_web_pods_reach_no_private_or_reserved_address(policies, port):
    for address in PRIVATE:
        assert not calls(policies, source=WEB, target=Host(address=address), port=port), address


@in_every_way(port=[22, 25, 445])
def test_web_pods_reach_no_other_service_of_the_internet(policies, port):
    assert not calls(policies, source=WEB, target=PLANNER, port=port)


@in_every_way()
def test_people_sign_in_with_github(policies):
    assert calls(policies, source=WEB, target=GITHUB, port=443)


@in_every_way()
def test_web_pods_ask_the_hub_or_its_mirror_about_a_submitted_model(policies):
    assert calls(policies, source=WEB, target=HUB, port=443)
    assert all(allowed(policies, source=one, target=MIRROR, port=8080) for one in (WEB, PLAIN, CALLING))
    assert not allowed(policies, source=BEAT, target=MIRROR, port=8080)


@in_every_way(port=[443, 8443])
def test_webhooks_leave_from_queue_pods(policies, port):
    assert calls(policies, source=QUEUE, target=PLANNER, port=port)
    assert not calls(policies, source=BEAT, target=PLANNER, port=port)


@in_every_way(source=PROMETHEUS)
def test_prometheus_reads_the_figures_wherever_it_runs(policies, source):
    assert allowed(policies, source=source, target=WEB, port=8000)
    assert not allowed(policies, source=source, target=QUEUE, port=8000)


@in_every_way()
def test_nobody_else_in_the_cluster_reaches_the_site_but_ingress_and_workers(policies):
    strangers = [Pod(namespace="default"), Pod(namespace="monitoring", labels={"app.kubernetes.io/name": "grafana"})]
    assert not any(allowed(policies, source=one, target=WEB, port=8000) for one in strangers)
    assert allowed(policies, source=Pod(namespace="ingress-nginx"), target=WEB, port=8000)
    assert all(allowed(policies, source=one, target=WEB, port=8000) for one in (PLAIN, CALLING))
    assert not allowed(policies, source=PLAIN, target=QUEUE, port=8000)


@in_every_way(source=[*SITE, PLAIN, CALLING], protocol=["UDP", "TCP"], server=[*DNS, NODE_LOCAL_DNS])
def test_every_pod_asks_any_name_server_of_the_cluster(policies, source, server, protocol):
    assert allowed(policies, source=source, target=server, port=53, protocol=protocol)


@in_every_way()
def test_of_kube_system_and_the_link_local_network_nothing_but_dns_is_open(policies):
    for source in (PLAIN, CALLING):
        assert not allowed(policies, source=source, target=DNS[0], port=443)
        assert not allowed(policies, source=source, target=NODE_LOCAL_DNS, port=80)
        assert not allowed(policies, source=source, target=Host(address="169.254.169.254"), port=53, protocol="UDP")
        assert not allowed(policies, source=source, target=PLANNER, port=53, protocol="UDP")


@in_every_way(source=SITE, port=[5432, 6379, 5671, 5672, 587])
def test_the_site_reaches_database_broker_and_mail_server_wherever_they_are(policies, source, port):
    assert allowed(policies, source=source, target=ANYWHERE_IN_VPC, port=port)


@in_every_way()
def test_only_queue_and_watch_reach_the_api_server(policies):
    server = Host(address="10.0.0.1")
    assert [allowed(policies, source=one, target=server, port=6443) for one in SITE] == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert not allowed(policies, source=PLAIN, target=server, port=443)


@in_every_way(port=[53, 80, 443, 5432, 6379])
def test_workers_of_planners_without_an_endpoint_reach_nothing_outside(policies, port):
    for address in (PLANNER.address, *PRIVATE):
        assert not calls(policies, source=PLAIN, target=Host(address=address), port=port), address


@in_every_way()
def test_workers_that_call_endpoints_reach_no_private_or_reserved_address(policies):
    for address in PRIVATE:
        assert not calls(policies, source=CALLING, target=Host(address=address), port=443), address


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
def test_a_worker_reaches_the_model_servers_of_its_own_pool_on_their_one_port(policies):
    assert allowed(policies, source=LOADING, target=MODEL_SERVER, port=PORT)
    assert allowed(policies, source=OTHER_LOADING, target=OTHER_MODEL_SERVER, port=PORT)
    for port in (22, 80, 443, 8000, PORT - 1, PORT + 1):
        assert not allowed(policies, source=LOADING, target=MODEL_SERVER, port=port), port
    assert not allowed(policies, source=LOADING, target=MODEL_SERVER, port=PORT, protocol="UDP")


@in_every_way()
def test_model_servers_refuse_workers_of_other_pools_whatever_those_may_call(policies):
    own = [item for item in policies if item["metadata"]["name"].startswith("models-")]
    assert allowed(own, source=LOADING, target=MODEL_SERVER, port=PORT)
    assert not allowed(own, source=OTHER_LOADING, target=MODEL_SERVER, port=PORT)


@in_every_way()
def test_nobody_else_reaches_a_model_server(policies):
    strangers = [
        OTHER_LOADING, OTHER_MODEL_SERVER, MODEL_SERVER, *SITE, MIRROR, GATEWAY, *DNS, *PROMETHEUS,
        Pod(namespace="planarena-jobs"), Pod(namespace="default", labels=LOADING.labels),
        Pod(namespace="planarena", labels=LOADING.labels), Host(address="10.0.0.1"), PLANNER,
    ]  # fmt: skip
    for source in strangers:
        assert not allowed(policies, source=source, target=MODEL_SERVER, port=PORT), source


@in_every_way(protocol=["TCP", "UDP"])
def test_a_model_server_reaches_nothing_not_even_a_name_server(policies, protocol):
    targets = [
        LOADING, OTHER_LOADING, OTHER_MODEL_SERVER, *SITE, MIRROR, GATEWAY, *DNS, *PROMETHEUS, NODE_LOCAL_DNS, GITHUB,
        HUB, PLANNER, PLANNER_6, ANYWHERE_IN_VPC, *(Host(address=address) for address in PRIVATE),
    ]  # fmt: skip
    for port in (22, 53, 80, 443, 5432, 6379, 6443, PORT, 8000, 8080):
        for target in targets:
            assert not allowed(policies, source=MODEL_SERVER, target=target, port=port, protocol=protocol), target


@in_every_way()
def test_the_policies_of_one_pool_open_nothing_for_workers_of_another(policies):
    assert not allowed(policies, source=LOADING, target=OTHER_MODEL_SERVER, port=PORT)
    for target in (OTHER_LOADING, LOADING, QUEUE):
        assert not allowed(policies, source=LOADING, target=target, port=PORT)


@in_every_way()
def test_workers_reach_the_pods_of_programs_on_one_port_and_nobody_else_does(policies):
    for source in (PLAIN, CALLING, LOADING):
        assert allowed(policies, source=source, target=PROGRAMS, port=7071)
        for port in (22, 80, 443, 7070, 7072, 8000):
            assert not allowed(policies, source=source, target=PROGRAMS, port=port), port
    strangers = [
        MODEL_SERVER, PROGRAMS, *SITE, MIRROR, GATEWAY, PROXY, *DNS, *PROMETHEUS, Pod(namespace="planarena-jobs"),
        Pod(namespace="default", labels=PLAIN.labels), Host(address="10.0.0.1"), PLANNER,
    ]  # fmt: skip
    for source in strangers:
        assert not allowed(policies, source=source, target=PROGRAMS, port=7071), source


@in_every_way(protocol=["TCP", "UDP"])
def test_programs_reach_nothing_not_even_a_name_server(policies, protocol):
    targets = [
        PLAIN, LOADING, MODEL_SERVER, *SITE, MIRROR, GATEWAY, PROXY, *DNS, *PROMETHEUS, NODE_LOCAL_DNS, GITHUB, HUB,
        PLANNER, PLANNER_6, ANYWHERE_IN_VPC, *(Host(address=address) for address in PRIVATE),
    ]  # fmt: skip
    for port in (22, 53, 80, 443, 3128, 5432, 6379, 6443, PORT, 7071, 8000, 8080):
        for target in targets:
            assert not allowed(policies, source=PROGRAMS, target=target, port=port, protocol=protocol), target


def test_only_vllm_s_engine_has_a_second_port():
    vllm = {"kind": "pod", "engine": "vllm"}
    image = {"images": {"vllm": {"digest": f"sha256:{'ef' * 32}"}}}
    pools = [pool | ({"modelServer": vllm} if pool["name"] == "loading" else {}) for pool in POOLS["pools"]]
    found = of_kind(render(merged(WAYS["production"], image, {"pools": pools})), "NetworkPolicy")
    for port in (PORT, ENGINE_PORT):
        assert allowed(found, source=LOADING, target=MODEL_SERVER, port=port)
        assert not allowed(found, source=OTHER_LOADING, target=MODEL_SERVER, port=port)
    assert allowed(found, source=OTHER_LOADING, target=OTHER_MODEL_SERVER, port=PORT)
    assert not allowed(found, source=OTHER_LOADING, target=OTHER_MODEL_SERVER, port=ENGINE_PORT)


@in_every_way()
def test_keda_reads_the_numbers_of_the_pools(policies):
    assert allowed(policies, source=KEDA, target=WEB, port=8000)
    assert not allowed(policies, source=KEDA, target=QUEUE, port=8000)
    assert not allowed(policies, source=KEDA, target=PLAIN, port=8000)


MINIO = Pod(namespace="storage", labels={"app": "minio"})
S3 = {
    "enabled": True,
    "ports": [9000],
    "peers": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "storage"}}}],
}
ENTERPRISE = {"peers": [{"ipBlock": {"cidr": "10.9.0.0/16"}}]}
VPC = ANYWHERE_IN_VPC
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
    further = {"network": {"to": {"s3": S3, "traces": TO_COLLECTOR}}, "tracing": TRACES}
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


def test_only_pools_that_call_public_addresses_are_let_out():
    values = merged(WAYS["production"], {"modelMirror": "http://mirror:8080", "pools": POOLS["pools"]})
    with_mirror = {
        name: "planarena.io/egress"
        in named(render(values), "Deployment", f"planarena-pool-{name}")["spec"]["template"]["metadata"]["labels"]
        for name in ("plain", "calling", "loading")
    }
    assert with_mirror == {"plain": False, "calling": True, "loading": False}
    assert "planarena.io/egress" in LOADING.labels, "without a mirror, models come from the hub"
