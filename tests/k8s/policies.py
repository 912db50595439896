"""What NetworkPolicies allow, as the API defines it: whether a packet may go from here to there.

A pod that a policy selects for a direction is isolated in this direction; then only what some rule of these policies
allows may pass. A flow between two pods needs both ends. Addresses in `ipBlock` are those outside the cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod, by its labels."""

    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Host:
    """An address outside the pod network: on the internet, of a node, or of a node's own daemon."""

    address: str


Peer = Pod | Host


def allowed(
    policies: Sequence[Json], *, source: Peer, target: Peer, port: int, protocol: str = "TCP",
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
) -> bool:  # fmt: skip
    """Whether `source` may open a connection to this port of `target`.

    Args:
        policies: NetworkPolicies of all namespaces.
        source: who begins.
        target: who is called.
        port: of the target.
        protocol: TCP or UDP.
        namespaces: further labels of namespaces; each has `kubernetes.io/metadata.name`.
    """
    labels = namespaces or {}
    ends = (("Egress", "egress", "to", source, target), ("Ingress", "ingress", "from", target, source))
    return all(
        _end_allows(policies, end=end, other=other, kind=kind, rules=rules, peers=peers, port=port, protocol=protocol,
                    labels=labels)
        for kind, rules, peers, end, other in ends
    )  # fmt: skip


def _end_allows(
    policies: Sequence[Json], *, end: Peer, other: Peer, kind: str, rules: str, peers: str, port: int, protocol: str,
    labels: Mapping[str, Mapping[str, str]],
) -> bool:  # fmt: skip
    if isinstance(end, Host):
        return True
    isolating = [one for one in policies if _selects(one, pod=end, kind=kind)]
    if not isolating:
        return True
    return any(
        _has_port(rule.get("ports"), port=port, protocol=protocol)
        and _has_peer(rule.get(peers), peer=other, namespace=end.namespace, labels=labels)
        for policy in isolating
        for rule in policy["spec"].get(rules) or []
    )


def _selects(policy: Json, *, pod: Pod, kind: str) -> bool:
    spec = policy["spec"]
    kinds = spec.get("policyTypes") or ["Ingress", *(["Egress"] if "egress" in spec else [])]
    same = policy["metadata"]["namespace"] == pod.namespace
    return same and kind in kinds and matches(spec.get("podSelector", {}), pod.labels)


def _has_port(ports: Sequence[Json] | None, *, port: int, protocol: str) -> bool:
    # An absent or empty list is every port.
    return not ports or any(
        one.get("protocol", "TCP") == protocol
        and one.get("port", port) <= port <= one.get("endPort", one.get("port", port))
        for one in ports
    )


def _has_peer(
    peers: Sequence[Json] | None, *, peer: Peer, namespace: str, labels: Mapping[str, Mapping[str, str]]
) -> bool:
    return not peers or any(_is_peer(one, peer=peer, namespace=namespace, labels=labels) for one in peers)


def _is_peer(one: Json, *, peer: Peer, namespace: str, labels: Mapping[str, Mapping[str, str]]) -> bool:
    if "ipBlock" in one:
        return isinstance(peer, Host) and _in_block(one["ipBlock"], peer.address)
    if isinstance(peer, Host):
        return False
    if "namespaceSelector" in one:
        of_namespace = {"kubernetes.io/metadata.name": peer.namespace, **labels.get(peer.namespace, {})}
        if not matches(one["namespaceSelector"], of_namespace):
            return False
    elif peer.namespace != namespace:
        return False
    return matches(one.get("podSelector", {}), peer.labels)


def _in_block(block: Json, address: str) -> bool:
    found = ip_address(address)
    networks = [ip_network(block["cidr"]), *map(ip_network, block.get("except", []))]
    inside, *excepted = [network.version == found.version and found in network for network in networks]
    return inside and not any(excepted)


def matches(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches; an empty one matches everything.

    Raises:
        KeyError: it has an operator that is not known here.
    """
    plain = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return plain and all(
        {
            "In": lambda one: labels.get(one["key"]) in one["values"],
            "NotIn": lambda one: labels.get(one["key"]) not in one["values"],
            "Exists": lambda one: one["key"] in labels,
            "DoesNotExist": lambda one: one["key"] not in labels,
        }[one["operator"]](one)
        for one in selector.get("matchExpressions", [])
    )
