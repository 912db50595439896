"""What this process measures itself."""

import os

from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

_SEVERAL_PROCESSES = "PROMETHEUS_MULTIPROC_DIR"
REGISTRY = CollectorRegistry()
"""Its metrics; their modules add them."""


def measured() -> CollectorRegistry:
    """What was measured: by this process, or by all that share the folder PROMETHEUS_MULTIPROC_DIR."""
    if not os.environ.get(_SEVERAL_PROCESSES):
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)
    return shared
