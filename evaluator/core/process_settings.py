"""Settings of native libraries and of the garbage collector for this process.

Imports no native library: some read theirs when they are loaded.

Measured on two cores. Beside other processes, threads of OpenMP that spin while they wait for each other took three
quarters of all processor time. With plans that make large pictures, the kernel took 38 % of it, to map and clear memory
that had just been given back: every tensor above 32 MB, and the top of the heap again and again. Records are many small
objects and hardly any of them is garbage: searching them took a quarter of the time of an evaluation from a full store.
"""

import ctypes
import gc
import sys
from collections.abc import MutableMapping
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of glibc's `mallopt`."""
_KEPT_BYTES = 2**29
"""Unused memory that the allocator keeps, and the largest block that it takes from there."""
_SPINS = "1000"
"""Of the order of microseconds; GNU OpenMP's own default is milliseconds."""
_ALLOCATIONS = 10_000
"""Objects made and not freed, before the collector looks at the new ones; Python's default is 700."""
_OF_ALLOCATOR = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def settle_process(environment: MutableMapping[str, str]) -> None:
    """Keep freed memory for the next tensor, let waiting threads sleep, and search for garbage more rarely.

    What the user has set stays. Must be called before torch is imported. No result of a model depends on it.

    Args:
        environment: of this process. The setting of threads is written there, for child processes too.
    """
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
    if "OMP_WAIT_POLICY" not in environment:
        environment.setdefault("GOMP_SPINCOUNT", _SPINS)
    if sys.platform == "linux" and not any(name in environment for name in _OF_ALLOCATOR):
        keep_freed_memory()


def keep_freed_memory() -> bool:
    """Raise the thresholds of glibc's allocator. False where the C library is another one, or refuses."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        trims_late, maps_little = (mallopt(option, _KEPT_BYTES) for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))
        return bool(trims_late and maps_little)
    return False
