"""A worker's default share of this machine."""

from pathlib import Path

import psutil

_SHARE = 0.8
"""Of the machine's memory, for all workers together. The site and its database need the rest."""
_LEAST = 2 * 1024**3
"""Bytes. A worker of the profile `lilliput` needs half of it."""
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def default_worker_memory(*, workers: int) -> int:
    """Bytes that each of so many workers may use on this machine, or in this container."""
    return memory_of_each(total=machine_memory(), workers=workers)


def memory_of_each(*, total: int, workers: int) -> int:
    """Bytes for each of so many workers, of a machine with so many."""
    return max(_LEAST, int(total * _SHARE / workers))


def machine_memory(*, limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int:
    """Bytes of memory that the machine has, or that its container may use."""
    total = int(psutil.virtual_memory().total)
    for path in limits:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        # "max", or in version 1 a number beyond all memory: no limit.
        if text.isdigit():
            total = min(total, int(text))
    return total
