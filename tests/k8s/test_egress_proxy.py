"""The egress proxy's rules are those of the client; who reaches it and what it reaches is in `test_policies.py`."""

import re
from functools import cache
from ipaddress import ip_address, ip_network

from evaluator.network.egress_policy import DEFAULT_PORTS, egress_policy, parse_ports
from evaluator.network.public_addresses import is_public
from tests.evaluator.network.test_public_addresses import PUBLIC, SPECIAL
from tests.k8s.chart import (
    EGRESS,
    PRODUCTION,
    build,
    containers_of,
    environment_of,
    merged,
    named,
    of_each,
    of_kind,
    render,
)
from tests.k8s.peers import PLANNER, PROXY
from tests.k8s.policies import allowed


@cache
def rules(kind):
    """What stands behind lines of the proxy's configuration that begin so."""
    squid = named(build("production"), "ConfigMap", "planarena-egress-proxy")["data"]["squid.conf"]
    return re.findall(rf"^{kind} (.*)$", squid, re.M)


@cache
def networks():
    return [ip_network(word) for line in rules("acl special dst") for word in line.split()]


def squid_refuses(address):
    found = ip_address(address.partition("%")[0])
    # As Squid keeps them.
    found = getattr(found, "ipv4_mapped", None) or found
    host = f"[{found}]" if found.version == 6 else str(found)
    in_network = any(found in network for network in networks() if network.version == found.version)
    (isatap,) = rules("acl isatap dstdom_regex -n")
    return in_network or re.search(isatap, host) is not None


def test_the_proxy_s_rules_refuse_the_addresses_that_the_client_refuses():
    own = [found for found in SPECIAL if found != "::ffff:8.8.8.8"]
    assert [address for address in own if not squid_refuses(address)] == []
    assert [address for address in PUBLIC if squid_refuses(address)] == []


@of_each(
    prefix=["2a01::", "2a01:1:2:3:", "2400:cb00:2048:1:"],
    bits=["0", "100", "200", "300"],
    embedded=["10.0.0.1", "169.254.169.254", "127.0.0.1", "8.8.8.8"],
)
def test_the_proxy_refuses_isatap_as_the_client_does(prefix, bits, embedded):
    address = str(ip_address(f"{prefix}{bits}:5efe:{embedded}"))
    assert not is_public(address)
    assert squid_refuses(address)


@of_each(
    address=["2a01:0:5efe::1", "2a01:1:2:3:400:5efe:808:808", "2a01:1:2:0:5efe:1:2:3", "2a01::5efe:1:2:3", "2a01::5efe"]
)
def test_the_proxy_refuses_no_public_address_that_only_resembles_isatap(address):
    assert is_public(address)
    assert not squid_refuses(address)


def test_the_proxy_s_rules_do_not_cover_the_form_in_which_it_keeps_ipv4_addresses():
    mapped = ip_network("::ffff:0:0/96")
    assert not [one for one in networks() if one.version == 6 and one.overlaps(mapped)]


def test_the_proxy_opens_tunnels_only_and_to_the_ports_that_the_client_calls():
    assert rules("http_access") == ["deny !CONNECT", "deny !allowed_ports", "deny isatap", "deny special", "allow all"]
    (ports,) = rules("acl allowed_ports port")
    assert parse_ports(ports.replace(" ", ",")) == parse_ports(DEFAULT_PORTS)


def test_other_ports_are_the_proxy_s_the_policies_and_the_client_s():
    values = merged(PRODUCTION, {"egress": {"ports": [443, [9000, 9010]]}})
    manifests = render(values)
    squid = named(manifests, "ConfigMap", "planarena-egress-proxy")["data"]["squid.conf"]
    assert "acl allowed_ports port 443 9000-9010\n" in squid
    settings = named(manifests, "ConfigMap", "planarena-settings")["data"]
    assert parse_ports(settings["PLANARENA_EGRESS_PORTS"]) == parse_ports("443,9000-9010")
    policies = of_kind(manifests, "NetworkPolicy")
    assert [allowed(policies, source=PROXY, target=PLANNER, port=port) for port in (80, 443, 9005, 9011)] == [
        False, True, True, False,
    ]  # fmt: skip
    before = named(build("production"), "Deployment", "planarena-egress-proxy")["spec"]["template"]
    assert named(manifests, "Deployment", "planarena-egress-proxy")["spec"]["template"] != before, "it reads them once"


def test_the_site_and_its_workers_know_the_proxy_by_its_service():
    manifests = build("production")
    settings = named(manifests, "ConfigMap", "planarena-settings")["data"]
    service = named(manifests, "Service", "planarena-egress-proxy")
    worker = environment_of(containers_of(named(manifests, "Deployment", "planarena-pool-cpu"))[0])
    for environment in (settings, worker):
        proxy = egress_policy(environment).proxy
        name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
        assert (proxy.host, proxy.port) == (f"{name}.{namespace}.svc", service["spec"]["ports"][0]["port"])
    without = build("production without proxy")
    assert not [one for one in without if one["metadata"].get("namespace") == EGRESS]
    assert egress_policy(named(without, "ConfigMap", "planarena-settings")["data"]).proxy is None
