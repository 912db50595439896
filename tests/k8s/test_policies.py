"""Flows that the site needs, and flows that nobody may have, against the policies as they will be applied."""

import re
from ipaddress import ip_address, ip_network

import pytest

from evaluator.egress_policy import DEFAULT_PORTS, egress_policy, parse_ports
from evaluator.planners.public_addresses import is_public
from gpu_jobs.launchers.kubernetes import build_job
from gpu_jobs.launchers.kubernetes.model_servers import PORT, build_model_servers
from tests.evaluator.planners.test_public_addresses import PUBLIC, SPECIAL
from tests.gpu_jobs.kubernetes.making import EVALUATION, OTHER, make_facts, make_settings
from tests.k8s.kustomize import build
from tests.k8s.policies import Host, Pod, allowed

VARIANTS = {
    "dev": ("overlays/dev",),
    "production": ("overlays/production",),
    "production without proxy": ("overlays/production", "-components/egress-proxy", "components/direct-egress"),
    "production with a gateway": ("overlays/production", "-components/egress-proxy"),
}
GITHUB = Host(address="140.82.121.4")
HUB = Host(address="18.164.174.23")
PLANNER = Host(address="93.184.215.14")
PLANNER_6 = Host(address="2606:2800:21f::1")
NODE_LOCAL_DNS = Host(address="169.254.20.10")
PRIVATE = (
    "10.1.2.3", "172.20.1.1", "192.168.1.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.1", "192.0.0.8",
    "198.18.0.1", "224.0.0.1", "255.255.255.255", "192.88.99.1", "192.0.2.1", "198.51.100.1", "203.0.113.1",
    "fd00::1", "fe80::1", "::1", "::ffff:10.1.2.3", "64:ff9b::a01:203", "2002:a01:203::1", "2001:db8::1", "2001::1",
    "3fff::1", "5f00::1", "4000::1", "100::1", "ff02::1",
)  # fmt: skip
ANYWHERE_IN_VPC = Host(address="10.0.7.7")


def site(component):
    return Pod(namespace="planarena", labels={"app.kubernetes.io/component": component})


def evaluation(evaluation_id, **settings):
    """An evaluation of a submitted model: its worker, its model server, and the policies that come with them."""
    facts = make_facts(evaluation_id=evaluation_id, loads_model=True, calls_endpoint=True)
    job = build_job(facts=facts, generation=1, settings=make_settings(**settings))
    job["metadata"]["uid"] = "uid"
    made = build_model_servers(job=job, settings=make_settings(**settings))
    pods = [
        Pod(namespace="planarena-jobs", labels=one["spec"]["template"]["metadata"]["labels"]) for one in (job, made[-1])
    ]
    return (*pods, [item for item in made if item["kind"] == "NetworkPolicy"])


def worker(**facts):
    job = build_job(facts=make_facts(**facts), generation=1, settings=make_settings())
    return Pod(namespace="planarena-jobs", labels=job["spec"]["template"]["metadata"]["labels"])


LOADING, MODEL_SERVER, OWN_POLICIES = evaluation(EVALUATION)
OTHER_LOADING, OTHER_MODEL_SERVER, OTHER_POLICIES = evaluation(OTHER)
WEB, QUEUE, BEAT, WATCH = map(site, ("web", "queue", "beat", "watch"))
SITE = (WEB, QUEUE, BEAT, WATCH)
PLAIN, CALLING = worker(), worker(calls_endpoint=True)
PROGRAMS = Pod(namespace="planarena-jobs", labels={"app.kubernetes.io/component": "programs"})
PROXY = Pod(namespace="planarena-egress", labels={"app.kubernetes.io/component": "egress-proxy"})
GATEWAY = Pod(namespace="planarena-egress", labels={"app.kubernetes.io/component": "egress-gateway"})
MIRROR = site("model-mirror")
# As CoreDNS is labelled by kubeadm, by its Helm chart, and by a distribution of its own.
DNS = [
    Pod(namespace="kube-system", labels=labels)
    for labels in ({"k8s-app": "kube-dns"}, {"k8s-app": "coredns", "app.kubernetes.io/name": "coredns"}, {"app": "dns"})
]
PROMETHEUS = [
    Pod(namespace="monitoring", labels={"app.kubernetes.io/name": "prometheus", "prometheus": "k8s"}),
    Pod(namespace="observability", labels={"app.kubernetes.io/name": "prometheus"}),
]


@pytest.fixture(params=VARIANTS, scope="module")
def policies(request):
    """The policies of one way to install."""
    return [item for item in build(*VARIANTS[request.param]) if item["kind"] == "NetworkPolicy"]


@pytest.fixture
def with_models(policies):
    """The same while two evaluations of submitted models run."""
    return [*policies, *OWN_POLICIES, *OTHER_POLICIES]


def calls(policies, *, source, target, port):
    """Whether a pod reaches a server, itself or through the proxy."""
    through = allowed(policies, source=source, target=PROXY, port=3128)
    # Without it no policy selects such a pod: there is no such namespace.
    has_proxy = any(one["metadata"]["namespace"] == PROXY.namespace for one in policies)
    return allowed(policies, source=source, target=target, port=port) or (
        has_proxy and through and allowed(policies, source=PROXY, target=target, port=port)
    )


@pytest.mark.parametrize("port", [80, 443, 1024, 8000, 65535])
@pytest.mark.parametrize("target", [PLANNER, PLANNER_6], ids=["IPv4", "IPv6"])
def test_web_pods_make_test_calls_to_public_endpoints_at_any_port_that_planners_use(policies, target, port):
    assert calls(policies, source=WEB, target=target, port=port)


@pytest.mark.parametrize("port", [80, 443, 8000])
def test_web_pods_reach_no_private_or_reserved_address(policies, port):
    for address in PRIVATE:
        assert not calls(policies, source=WEB, target=Host(address=address), port=port), address


@pytest.mark.parametrize("port", [22, 25, 445])
def test_web_pods_reach_no_other_service_of_the_internet(policies, port):
    assert not calls(policies, source=WEB, target=PLANNER, port=port)


def test_people_sign_in_with_github(policies):
    assert calls(policies, source=WEB, target=GITHUB, port=443)


def test_web_pods_ask_the_hub_or_its_mirror_about_a_submitted_model(policies):
    assert calls(policies, source=WEB, target=HUB, port=443)
    assert all(allowed(policies, source=one, target=MIRROR, port=8080) for one in (WEB, PLAIN, CALLING))
    assert not allowed(policies, source=BEAT, target=MIRROR, port=8080)


@pytest.mark.parametrize("port", [443, 8443])
def test_webhooks_leave_from_queue_pods(policies, port):
    assert calls(policies, source=QUEUE, target=PLANNER, port=port)
    assert not calls(policies, source=BEAT, target=PLANNER, port=port)


@pytest.mark.parametrize("source", PROMETHEUS)
def test_prometheus_reads_the_figures_wherever_it_runs(policies, source):
    assert allowed(policies, source=source, target=WEB, port=8000)
    assert not allowed(policies, source=source, target=QUEUE, port=8000)


def test_nobody_else_in_the_cluster_reaches_the_site_but_ingress_and_workers(policies):
    strangers = [Pod(namespace="default"), Pod(namespace="monitoring", labels={"app.kubernetes.io/name": "grafana"})]
    assert not any(allowed(policies, source=one, target=WEB, port=8000) for one in strangers)
    assert allowed(policies, source=Pod(namespace="ingress-nginx"), target=WEB, port=8000)
    assert all(allowed(policies, source=one, target=WEB, port=8000) for one in (PLAIN, CALLING))
    assert not allowed(policies, source=PLAIN, target=QUEUE, port=8000)


@pytest.mark.parametrize("source", [*SITE, PLAIN, CALLING], ids=lambda pod: pod.labels["app.kubernetes.io/component"])
@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
@pytest.mark.parametrize("server", [*DNS, NODE_LOCAL_DNS])
def test_every_pod_asks_any_name_server_of_the_cluster(policies, source, server, protocol):
    assert allowed(policies, source=source, target=server, port=53, protocol=protocol)


def test_of_kube_system_and_the_link_local_network_nothing_but_dns_is_open(policies):
    for source in (PLAIN, CALLING):
        assert not allowed(policies, source=source, target=DNS[0], port=443)
        assert not allowed(policies, source=source, target=NODE_LOCAL_DNS, port=80)
        assert not allowed(policies, source=source, target=Host(address="169.254.169.254"), port=53, protocol="UDP")
        assert not allowed(policies, source=source, target=PLANNER, port=53, protocol="UDP")


@pytest.mark.parametrize("source", SITE, ids=lambda pod: pod.labels["app.kubernetes.io/component"])
@pytest.mark.parametrize("port", [5432, 6379, 5671, 5672, 587])
def test_the_site_reaches_database_broker_and_mail_server_wherever_they_are(policies, source, port):
    assert allowed(policies, source=source, target=ANYWHERE_IN_VPC, port=port)


def test_only_queue_and_watch_reach_the_api_server(policies):
    server = Host(address="10.0.0.1")
    assert [allowed(policies, source=one, target=server, port=6443) for one in SITE] == [False, True, False, True]
    assert not allowed(policies, source=PLAIN, target=server, port=443)


@pytest.mark.parametrize("port", [53, 80, 443, 5432, 6379])
def test_workers_of_planners_without_an_endpoint_reach_nothing_outside(policies, port):
    for address in (PLANNER.address, *PRIVATE):
        assert not calls(policies, source=PLAIN, target=Host(address=address), port=port), address


def test_workers_that_call_endpoints_reach_no_private_or_reserved_address(policies):
    for address in PRIVATE:
        assert not calls(policies, source=CALLING, target=Host(address=address), port=443), address


def test_workers_that_call_endpoints_go_out_by_the_proxy_the_gateway_or_directly():
    of = {name: [one for one in build(*parts) if one["kind"] == "NetworkPolicy"] for name, parts in VARIANTS.items()}
    assert calls(of["production"], source=CALLING, target=PLANNER, port=443)
    assert not allowed(of["production"], source=CALLING, target=PLANNER, port=443)
    assert not allowed(of["production"], source=CALLING, target=GATEWAY, port=443)
    assert allowed(of["production with a gateway"], source=CALLING, target=GATEWAY, port=443)
    assert not allowed(of["production with a gateway"], source=CALLING, target=PLANNER, port=443)
    for direct in ("dev", "production without proxy"):
        assert allowed(of[direct], source=CALLING, target=PLANNER, port=443)
    assert not any(allowed(found, source=PLAIN, target=GATEWAY, port=443) for found in of.values())


def test_a_worker_reaches_the_model_server_of_its_own_evaluation_on_its_one_port(with_models):
    assert allowed(with_models, source=LOADING, target=MODEL_SERVER, port=PORT)
    assert allowed(with_models, source=OTHER_LOADING, target=OTHER_MODEL_SERVER, port=PORT)
    for port in (22, 80, 443, 8000, PORT - 1, PORT + 1):
        assert not allowed(with_models, source=LOADING, target=MODEL_SERVER, port=port), port
    assert not allowed(with_models, source=LOADING, target=MODEL_SERVER, port=PORT, protocol="UDP")


def test_nobody_else_reaches_a_model_server(with_models):
    strangers = [
        OTHER_LOADING, OTHER_MODEL_SERVER, MODEL_SERVER, *SITE, MIRROR, GATEWAY, *DNS, *PROMETHEUS,
        Pod(namespace="planarena-jobs"), Pod(namespace="default", labels=LOADING.labels),
        Pod(namespace="planarena", labels=LOADING.labels), Host(address="10.0.0.1"), PLANNER,
    ]  # fmt: skip
    for source in strangers:
        assert not allowed(with_models, source=source, target=MODEL_SERVER, port=PORT), source


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_model_server_reaches_nothing_not_even_a_name_server(with_models, protocol):
    targets = [
        LOADING, OTHER_LOADING, OTHER_MODEL_SERVER, *SITE, MIRROR, GATEWAY, *DNS, *PROMETHEUS, NODE_LOCAL_DNS, GITHUB,
        HUB, PLANNER, PLANNER_6, ANYWHERE_IN_VPC, *(Host(address=address) for address in PRIVATE),
    ]  # fmt: skip
    for port in (22, 53, 80, 443, 5432, 6379, 6443, PORT, 8000, 8080):
        for target in targets:
            assert not allowed(with_models, source=MODEL_SERVER, target=target, port=port, protocol=protocol), target


def test_model_servers_without_their_policies_are_shut_off(policies):
    # As while they are created, or if somebody deletes them.
    assert not allowed(policies, source=LOADING, target=MODEL_SERVER, port=PORT)
    assert not allowed(policies, source=MODEL_SERVER, target=DNS[0], port=53, protocol="UDP")


def test_the_policies_of_one_evaluation_open_nothing_for_workers_of_another(with_models):
    assert not allowed(with_models, source=LOADING, target=OTHER_MODEL_SERVER, port=PORT)
    for target in (OTHER_LOADING, LOADING, QUEUE):
        assert not allowed(with_models, source=LOADING, target=target, port=PORT)


def test_workers_reach_the_pods_of_programs_on_one_port_and_nobody_else_does(with_models):
    for source in (PLAIN, CALLING, LOADING):
        assert allowed(with_models, source=source, target=PROGRAMS, port=7071)
        for port in (22, 80, 443, 7070, 7072, 8000):
            assert not allowed(with_models, source=source, target=PROGRAMS, port=port), port
    strangers = [
        MODEL_SERVER, PROGRAMS, *SITE, MIRROR, GATEWAY, PROXY, *DNS, *PROMETHEUS, Pod(namespace="planarena-jobs"),
        Pod(namespace="default", labels=PLAIN.labels), Host(address="10.0.0.1"), PLANNER,
    ]  # fmt: skip
    for source in strangers:
        assert not allowed(with_models, source=source, target=PROGRAMS, port=7071), source


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_programs_reach_nothing_not_even_a_name_server(with_models, protocol):
    targets = [
        PLAIN, LOADING, MODEL_SERVER, *SITE, MIRROR, GATEWAY, PROXY, *DNS, *PROMETHEUS, NODE_LOCAL_DNS, GITHUB, HUB,
        PLANNER, PLANNER_6, ANYWHERE_IN_VPC, *(Host(address=address) for address in PRIVATE),
    ]  # fmt: skip
    for port in (22, 53, 80, 443, 3128, 5432, 6379, 6443, PORT, 7071, 8000, 8080):
        for target in targets:
            assert not allowed(with_models, source=PROGRAMS, target=target, port=port, protocol=protocol), target


def in_production():
    return [one for one in build("overlays/production") if one["kind"] == "NetworkPolicy"]


def test_in_production_nobody_but_the_proxy_reaches_the_internet():
    policies = in_production()
    for source in (*SITE, PLAIN, CALLING):
        for target in (PLANNER, PLANNER_6, GITHUB, HUB):
            for port in (22, 53, 80, 443, 1024, 6443, 8000, 8443, 65535):
                assert not allowed(policies, source=source, target=target, port=port), (source, target, port)
    assert allowed(policies, source=PROXY, target=PLANNER, port=443)


def test_the_proxy_is_asked_by_those_who_call_strangers_and_by_nobody_else():
    policies = in_production()
    asking = [one for one in (*SITE, PLAIN, CALLING) if allowed(policies, source=one, target=PROXY, port=3128)]
    assert asking == [WEB, QUEUE, CALLING]
    strangers = [
        Pod(namespace="default"), Pod(namespace="default", labels=WEB.labels), *DNS, *PROMETHEUS, PLANNER,
        Pod(namespace="planarena-egress"), Pod(namespace="planarena-jobs", labels={"planarena.io/egress": "endpoint"}),
    ]  # fmt: skip
    assert not any(allowed(policies, source=one, target=PROXY, port=3128) for one in strangers)
    assert not any(allowed(policies, source=WEB, target=PROXY, port=port) for port in (22, 80, 443, 3127, 3129))


def test_the_proxy_reaches_nothing_of_the_cluster_but_name_servers():
    policies = in_production()
    assert all(allowed(policies, source=PROXY, target=one, port=53, protocol="UDP") for one in (*DNS, NODE_LOCAL_DNS))
    for port in (22, 53, 80, 443, 3128, 5432, 6379, 6443, 8000, 8080):
        for target in (
            *SITE,
            PLAIN,
            CALLING,
            MIRROR,
            GATEWAY,
            ANYWHERE_IN_VPC,
            *(Host(address=one) for one in PRIVATE),
        ):
            assert not allowed(policies, source=PROXY, target=target, port=port), (target, port)
    assert not any(allowed(policies, source=PROXY, target=PLANNER, port=port) for port in (22, 25, 53, 445, 1023))


SQUID = next(
    item["data"]["squid.conf"]
    for item in build("overlays/production")
    if item["kind"] == "ConfigMap" and item["metadata"]["name"] == "planarena-egress-proxy"
)
NETWORKS = [ip_network(word) for line in re.findall(r"^acl special dst (.*)$", SQUID, re.M) for word in line.split()]
(ISATAP,) = map(re.compile, re.findall(r"^acl isatap dstdom_regex -n (.*)$", SQUID, re.M))


def squid_refuses(address):
    found = ip_address(address.partition("%")[0])
    # As Squid keeps them.
    found = getattr(found, "ipv4_mapped", None) or found
    host = f"[{found}]" if found.version == 6 else str(found)
    in_network = any(found in network for network in NETWORKS if network.version == found.version)
    return in_network or ISATAP.search(host) is not None


def test_the_proxy_s_rules_refuse_the_addresses_that_the_client_refuses():
    own = [found for found in SPECIAL if found != "::ffff:8.8.8.8"]
    assert [address for address in own if not squid_refuses(address)] == []
    assert [address for address in PUBLIC if squid_refuses(address)] == []


@pytest.mark.parametrize("prefix", ["2a01::", "2a01:1:2:3:", "2400:cb00:2048:1:"])
@pytest.mark.parametrize("bits", ["0", "100", "200", "300"])
@pytest.mark.parametrize("embedded", ["10.0.0.1", "169.254.169.254", "127.0.0.1", "8.8.8.8"])
def test_the_proxy_refuses_isatap_as_the_client_does(prefix, bits, embedded):
    address = str(ip_address(f"{prefix}{bits}:5efe:{embedded}"))
    assert not is_public(address)
    assert squid_refuses(address)


@pytest.mark.parametrize(
    "address",
    ["2a01:0:5efe::1", "2a01:1:2:3:400:5efe:808:808", "2a01:1:2:0:5efe:1:2:3", "2a01::5efe:1:2:3", "2a01::5efe"],
)
def test_the_proxy_refuses_no_public_address_that_only_resembles_isatap(address):
    assert is_public(address)
    assert not squid_refuses(address)


def test_the_proxy_s_rules_do_not_cover_the_form_in_which_it_keeps_ipv4_addresses():
    mapped = ip_network("::ffff:0:0/96")
    assert not [one for one in NETWORKS if one.version == 6 and one.overlaps(mapped)]


def test_the_proxy_opens_tunnels_only_and_to_the_ports_that_the_client_calls():
    rules = re.findall(r"^http_access (.*)$", SQUID, re.M)
    assert rules == ["deny !CONNECT", "deny !allowed_ports", "deny isatap", "deny special", "allow all"]
    (ports,) = re.findall(r"^acl allowed_ports port (.*)$", SQUID, re.M)
    assert parse_ports(ports.replace(" ", ",")) == parse_ports(DEFAULT_PORTS)


def test_the_site_and_its_workers_know_the_proxy_by_its_service():
    manifests = build("overlays/production")
    (settings,) = [one["data"] for one in manifests if one["metadata"]["name"] == "planarena-settings"]
    (service,) = [
        one for one in manifests if one["kind"] == "Service" and one["metadata"]["name"] == "planarena-egress-proxy"
    ]
    proxy = egress_policy(settings).proxy
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    assert (proxy.host, proxy.port) == (f"{name}.{namespace}.svc", service["spec"]["ports"][0]["port"])
    without = build("overlays/production", "-components/egress-proxy")
    assert not [one for one in without if one["metadata"].get("namespace") == "planarena-egress"]
