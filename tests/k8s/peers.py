"""Who speaks to whom in an installation: pods as the chart labels them, and hosts outside."""

from tests.k8s.chart import JOBS, PRODUCTION, VARIANTS, VOLUME, merged, of_kind, render
from tests.k8s.policies import Host, Pod, allowed

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


PORT = 7070
MODELS = {"kind": "pod"}
POOLS = merged(PRODUCTION, {"pools": [
    {"name": "plain"},
    {"name": "calling", "endpoints": True},
    {"name": "loading", "takes": ["judged", "models"], "modelServer": MODELS},
    {"name": "other", "takes": ["judged", "models"], "modelServer": MODELS},
]})  # fmt: skip
"""Pools of every kind, to be installed in each way."""
WAYS = {
    name: {key: value for key, value in merged(VARIANTS[name], VOLUME).items() if key != "pools"}
    for name in ("dev", "production", "production without proxy", "production with a gateway")
}


def worker(pool, **further):
    return Pod(namespace=JOBS, labels={"app.kubernetes.io/component": "worker", "planarena.io/pool": pool, **further})


def model_server(pool):
    return Pod(namespace=JOBS, labels={"app.kubernetes.io/component": "model-server", "planarena.io/pool": pool})


def policies_of(way, **further):
    manifests = render(merged(WAYS[way], {"pools": POOLS["pools"]}, further))
    return of_kind(manifests, "NetworkPolicy")


WEB, QUEUE, BEAT, WATCH = map(site, ("web", "queue", "beat", "watch"))
MIGRATE = site("migrate")
SITE = (WEB, QUEUE, BEAT, WATCH, MIGRATE)
PLAIN = worker("plain")
CALLING, LOADING, OTHER_LOADING = (
    worker(pool, **{"planarena.io/egress": "endpoint"}) for pool in ("calling", "loading", "other")
)
MODEL_SERVER, OTHER_MODEL_SERVER = map(model_server, ("loading", "other"))
PROGRAMS = Pod(namespace="planarena-jobs", labels={"app.kubernetes.io/component": "programs"})
PROXY = Pod(namespace="planarena-egress", labels={"app.kubernetes.io/component": "egress-proxy"})
GATEWAY = Pod(namespace="planarena-egress", labels={"app.kubernetes.io/component": "egress-gateway"})
MIRROR = site("model-mirror")
# As CoreDNS is labelled by kubeadm, by its Helm chart, and by a distribution of its own.
DNS = [
    Pod(namespace="kube-system", labels=labels)
    for labels in ({"k8s-app": "kube-dns"}, {"k8s-app": "coredns", "app.kubernetes.io/name": "coredns"}, {"app": "dns"})
]
KEDA = Pod(namespace="keda", labels={"app": "keda-operator"})
PROMETHEUS = [
    Pod(namespace="monitoring", labels={"app.kubernetes.io/name": "prometheus", "prometheus": "k8s"}),
    Pod(namespace="observability", labels={"app.kubernetes.io/name": "prometheus"}),
]


def calls(policies, *, source, target, port):
    """Whether a pod reaches a server, itself or through the proxy."""
    through = allowed(policies, source=source, target=PROXY, port=3128)
    # Without it no policy selects such a pod: there is no such namespace.
    has_proxy = any(one["metadata"]["namespace"] == PROXY.namespace for one in policies)
    return allowed(policies, source=source, target=target, port=port) or (
        has_proxy and through and allowed(policies, source=PROXY, target=target, port=port)
    )
