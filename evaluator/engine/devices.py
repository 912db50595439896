"""Memory of torch devices. Imports no torch: without a loaded expert there is none in use."""

import gc
import sys

_NO_ROOM_ON_CPU = "DefaultCPUAllocator: "
"""How torch says that the host's memory is at an end: a plain RuntimeError, with nothing but its words to tell."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is at an end, of the device or of the host."""
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and _NO_ROOM_ON_CPU in str(error)


def allocated_bytes(device: str) -> int | None:
    """Bytes that tensors occupy on a CUDA device; None elsewhere, where torch does not count them."""
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda"):
        return None
    return int(torch.cuda.memory_allocated(device))


def release_memory(device: str) -> None:
    """Give back what nothing refers to any more."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and device.startswith("cuda"):
        torch.cuda.empty_cache()
