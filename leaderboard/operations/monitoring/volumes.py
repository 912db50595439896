"""The site's stores: damaged files, and the space on their volumes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from evaluator.execution.engine.store import StoreUnavailableError
from leaderboard.operations.backups.losses import CHECKPOINTS, STORES
from leaderboard.operations.backups.repair import quarantined
from leaderboard.platform.storage.bucket import store_problem


def damage_figures() -> Iterator[Metric]:
    """Of the stores: a quarantine is empty unless something is wrong."""
    files = GaugeMetricFamily(
        "planarena_store_quarantined", "Damaged files in the quarantine of the site's stores.", labels=["store"]
    )
    lost = GaugeMetricFamily(
        "planarena_store_lost", "Objects whose damaged file is in quarantine and that no store has.", labels=["store"]
    )
    available = GaugeMetricFamily(
        "planarena_store_available", "1 while the site's bucket takes data, else 0; always 1 with folders."
    )
    problem = store_problem()
    available.add_metric([], 0.0 if problem else 1.0)
    yield available
    try:
        found = quarantined()
    except StoreUnavailableError:
        # Nobody knows: no value is better than a wrong one.
        return
    for store in (*STORES, CHECKPOINTS):
        of_store = [one for one in found if one.store == store]
        files.add_metric([store], len(of_store))
        lost.add_metric([store], len({one.file.digest for one in of_store if not one.is_repaired}))
    yield from (files, lost)


def space_figures() -> Iterator[Metric]:
    """Of the volumes that hold the data folder, the stores and the uploads; several names may be of one volume."""
    free = GaugeMetricFamily("planarena_volume_free_bytes", "Space that is left to the site.", labels=["volume"])
    size = GaugeMetricFamily("planarena_volume_size_bytes", "Size of the volume.", labels=["volume"])
    for name, folder in _folders().items():
        # The volume that a folder will be on when it is made.
        there = next((path for path in (folder, *folder.parents) if path.exists()), None)
        if there is not None:
            usage = shutil.disk_usage(there)
            free.add_metric([name], usage.free)
            size.add_metric([name], usage.total)
    yield from (free, size)


def _folders() -> dict[str, Path]:
    return {"data": settings.DATA_DIR, "store": settings.STORE_DIR, "uploads": settings.UPLOADS_DIR}
