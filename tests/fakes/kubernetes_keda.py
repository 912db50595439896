"""KEDA, as far as worker pools depend on it: ScaledObjects with one trigger `metrics-api` change Deployments' replicas.

Active while the value is above 0: then as many replicas as the value divided by the target, and down only after the
HPA's five minutes; inactive: to the minimum after the cool-down period. A value that cannot be read changes nothing.
"""

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.fakes.kubernetes_cluster import FakeCluster

Json = dict[str, Any]
_DOWN_AFTER = timedelta(minutes=5)


class FakeKeda:
    """Looks at every tick of its cluster."""

    def __init__(self, cluster: FakeCluster, *, fetch: Callable[[str], Json]) -> None:
        """Args:
        cluster: whose Deployments it scales.
        fetch: the JSON at a URL; raises OSError.
        """
        self._cluster = cluster
        self._fetch = fetch
        self._wanted: dict[str, list[tuple[datetime, int]]] = {}
        cluster.controllers.append(self.look)

    def look(self) -> None:
        """Poll once for each ScaledObject."""
        for scaled in self._cluster.api.all("scaledobjects"):
            self._scale(scaled)

    def _scale(self, scaled: Json) -> None:
        spec = scaled["spec"]
        (trigger,) = spec["triggers"]
        assert trigger["type"] == "metrics-api", trigger
        try:
            value = float(self._fetch(trigger["metadata"]["url"])[trigger["metadata"]["valueLocation"]])
        except OSError as error:
            self._say(scaled, ready=False, message=f"error fetching metrics: {error}")
            return
        self._say(scaled, ready=True, message="ScaledObject is defined correctly and is ready for scaling")
        target, least, most = float(trigger["metadata"]["targetValue"]), spec.get("minReplicaCount", 0), 100
        wanted = min(spec.get("maxReplicaCount", most), max(least, math.ceil(value / target)))
        name, now = spec["scaleTargetRef"]["name"], self._cluster.now
        after = _DOWN_AFTER if wanted else timedelta(seconds=spec.get("cooldownPeriod", 300))
        recent = [(at, count) for at, count in self._wanted.get(name, []) if now - at < after]
        self._wanted[name] = [*recent, (now, wanted)]
        # Never less than was wanted a moment ago.
        self._cluster.scale(name, max(count for _, count in self._wanted[name]))

    def _say(self, scaled: Json, *, ready: bool, message: str) -> None:
        condition = {"type": "Ready", "status": str(ready), "message": message}
        self._cluster.api.put("scaledobjects", {**scaled, "status": {"conditions": [condition]}})
