"""Torch devices: memory, precision, and what decides the bytes that they compute. Imports no torch for a CPU."""

import gc
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from threading import RLock

from evaluator.core.process import import_without_collection

_NO_ROOM_ON_CPU = "DefaultCPUAllocator: "
"""How torch says that the host's memory is exhausted: a plain RuntimeError, recognisable only by its text."""
_PROCESSOR = ("vendor_id", "flags", "CPU implementer", "Features")
"""Lines of /proc/cpuinfo on x86 and ARM."""
_VECTORS = ("avx", "amx", "fma", "f16c", "sve", "asimd", "bf16", "i8mm")
"""Beginnings of the names of the instructions among which kernels are chosen."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is exhausted, on the device or on the host."""
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
    """Free memory that nothing refers to any more."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and device.startswith("cuda"):
        torch.cuda.empty_cache()


@cache
def device_class(device: str) -> Mapping[str, str]:
    """What the bytes that a device computes depend on. Devices of one class compute equal bytes for equal batches.

    Args:
        device: as torch names it; its number does not matter.

    Returns:
        `kind` (`cpu` or `cuda`) and the version of torch. For CUDA also card, compute capability, and the versions of
        CUDA and cuDNN; for a CPU machine, vendor and vector instructions, among which its libraries choose kernels.
    """
    kind = device.partition(":")[0]
    if kind == "cuda":
        torch = import_without_collection("torch")
        major, minor = torch.cuda.get_device_capability(device)
        facts = {"card": torch.cuda.get_device_name(device), "capability": f"{major}.{minor}",
                 "cuda": str(torch.version.cuda), "cudnn": str(torch.backends.cudnn.version())}  # fmt: skip
    else:
        facts = {"machine": platform.machine(), **_processor(_cpuinfo())}
    return {"kind": kind, "torch": _torch_version(), **facts}


def _torch_version() -> str:
    """Empty where torch is not installed: experts by rules need none."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def _cpuinfo() -> str:
    """Empty where the system has no such file: there the machine's name says it all."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _processor(cpuinfo: str) -> Mapping[str, str]:
    """Vendor and vector instructions of the first processor."""
    pairs = (line.partition(":") for line in cpuinfo.partition("\n\n")[0].splitlines())
    facts = {name.strip(): value.strip() for name, _, value in pairs}
    known = [facts.get(name, "") for name in _PROCESSOR]
    vectors = sorted(flag for flag in f"{known[1]} {known[3]}".split() if flag.startswith(_VECTORS))
    return {"vendor": known[0] or known[2], "vectors": " ".join(vectors)}


_LOCK = RLock()


@contextmanager
def loading() -> Iterator[None]:
    """Make or load a network within this, wherever in the process.

    While `transformers` loads a model it replaces `PreTrainedModel.tie_weights`, the initialisers of `torch.nn.init`
    and torch's default dtype, for the whole process. Two loads at a time put back each other's replacements: from then
    on no model with tied weights can be loaded, and networks that another thread makes meanwhile get another dtype.

    Networks in float32 compute in float32 afterwards: torch lets cuDNN round their inputs to 10 bits (TF32) unless
    told otherwise.
    """
    with _LOCK:
        try:
            yield
        finally:
            torch = sys.modules.get("torch")
            if torch is not None:
                torch.backends.cuda.matmul.allow_tf32 = False
                torch.backends.cudnn.allow_tf32 = False
