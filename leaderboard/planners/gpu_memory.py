"""The GPU memory into which submitted language models must fit."""

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from leaderboard.planners.models import WorkerGpu
from leaderboard.platform.database import database_now

_SEEN_WITHIN = timedelta(days=7)
_GIGABYTE = 1024**3
_UNTIL_REPORTED = 24 * _GIGABYTE


def note_worker_gpu(memory_bytes: int) -> None:
    """Note that a worker of an operator has a GPU with this memory."""
    WorkerGpu.objects.update_or_create(memory_bytes=memory_bytes, defaults={"seen_at": Now()})
    WorkerGpu.objects.filter(seen_at__lt=database_now() - _SEEN_WITHIN).delete()


def workers_memory_bytes() -> int:
    """The memory of the smallest GPU on which a submitted model may be loaded, since any worker may take it.

    `PLANARENA_GPU_MEMORY_GB` if it is set; else what operators' workers have reported lately.
    """
    if settings.GPU_MEMORY_GB:
        return settings.GPU_MEMORY_GB * _GIGABYTE
    seen = WorkerGpu.objects.filter(seen_at__gte=database_now() - _SEEN_WITHIN)
    smallest = seen.order_by("memory_bytes").values_list("memory_bytes", flat=True).first()
    return smallest or _UNTIL_REPORTED
