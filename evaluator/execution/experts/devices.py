"""Torch devices: memory, precision, and the properties that affect results. Imports no torch for a CPU."""

import ctypes
import gc
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from threading import RLock
from typing import Any

from evaluator.core.process import import_without_collection

_NO_ROOM_ON_CPU = "DefaultCPUAllocator: "
"""Identifies torch's error for exhausted host memory, a plain RuntimeError."""
_CPUINFO = Path("/proc/cpuinfo")
_PROCESSOR = ("vendor_id", "flags", "CPU implementer", "Features")
"""Lines of /proc/cpuinfo on x86 and ARM."""
_VECTORS = ("avx", "amx", "fma", "f16c", "sve", "asimd", "bf16", "i8mm")
"""Prefixes of the CPU flags that affect the choice of kernels."""
_LONGEST_VERSION = 80
"""`NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE` of NVML."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory is exhausted, on the device or the host."""
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


def card_memory(device: str) -> int:
    """Total memory of a CUDA device in bytes, whatever of it is free; 0 elsewhere."""
    if not device.startswith("cuda"):
        return 0
    return int(import_without_collection("torch").cuda.get_device_properties(device).total_memory)


def peak_bytes(device: str) -> int | None:
    """The most bytes that tensors occupied on a CUDA device since `reset_peak`; None elsewhere."""
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda"):
        return None
    return int(torch.cuda.max_memory_allocated(device))


def reset_peak(device: str) -> None:
    """Have `peak_bytes` count from now on."""
    torch = sys.modules.get("torch")
    if torch is not None and device.startswith("cuda") and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats(device)


def free_bytes(device: str) -> dict[str, int]:
    """`free` and `total` bytes of a CUDA device, other programs' included; empty elsewhere."""
    if not device.startswith("cuda"):
        return {}
    free, total = import_without_collection("torch").cuda.mem_get_info(device)
    return {"free": int(free), "total": int(total)}


def release_memory(device: str) -> None:
    """Free unreferenced memory."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and device.startswith("cuda"):
        torch.cuda.empty_cache()


class DeviceMemory:
    """The memory of a torch device, as far as torch knows it. Tests have stand-ins."""

    def __init__(self, device: str) -> None:
        self._device = device

    def allocated(self) -> int | None:
        """Bytes that tensors occupy; None where torch does not count them."""
        return allocated_bytes(self._device)

    def free(self) -> int | None:
        """Free bytes of the device; None if unknown."""
        return free_bytes(self._device).get("free")

    def release(self) -> None:
        """Free unreferenced memory."""
        release_memory(self._device)


@cache
def device_class(device: str) -> Mapping[str, str]:
    """The properties of a device that affect results. Devices of one class compute equal bytes for equal batches.

    Args:
        device: a torch device; its number is ignored.

    Returns:
        `kind` (`cpu` or `cuda`) and the version of torch. For CUDA also card, compute capability, the versions of CUDA
        and cuDNN, and the flags that `_fix_precision` sets, as `on` or `off`; `driver` only if it compiles the kernels
        (`_driver_compiles`). For a CPU machine, vendor and vector instructions, which affect the choice of kernels.
    """
    kind = device.partition(":")[0]
    if kind == "cuda":
        torch = import_without_collection("torch")
        _fix_precision(torch)
        major, minor = torch.cuda.get_device_capability(device)
        facts = {"card": torch.cuda.get_device_name(device), "capability": f"{major}.{minor}",
                 "cuda": str(torch.version.cuda), "cudnn": str(torch.backends.cudnn.version()),
                 **_precision(torch)}  # fmt: skip
        if _driver_compiles(torch.cuda.get_arch_list(), capability=(major, minor)):
            facts["driver"] = driver_version(device)
    else:
        try:
            cpuinfo = _CPUINFO.read_text(encoding="utf-8", errors="replace")
        except OSError:
            cpuinfo = ""
        facts = {"machine": platform.machine(), **_processor(cpuinfo)}
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        version = ""  # experts by rules need no torch
    return {"kind": kind, "torch": version, **facts}


def device_facts(device: str, *, of_class: Mapping[str, str]) -> dict[str, Any]:
    """What provenance says of a device of this class: `device_class` and, on CUDA, `driver`."""
    driver = driver_version(device)
    return {"device_class": dict(of_class), **({"driver": driver} if driver else {})}


@cache
def driver_version(device: str) -> str:
    """The version of NVIDIA's driver, such as `570.86.15`; empty for other devices and if it cannot be asked."""
    if not device.startswith("cuda"):
        return ""
    version = ctypes.create_string_buffer(_LONGEST_VERSION)
    try:
        # torch has no call for it. `libnvidia-ml` belongs to the driver, also where containers hide /proc/driver.
        nvml = _driver_library()
        if nvml.nvmlInit_v2():
            return ""
        nvml.nvmlSystemGetDriverVersion(version, _LONGEST_VERSION)
        nvml.nvmlShutdown()
    except (OSError, AttributeError):
        return ""
    return version.value.decode("ascii", errors="replace")


def _driver_library() -> Any:
    return ctypes.CDLL("libnvidia-ml.so.1")


def _driver_compiles(architectures: Iterable[str], *, capability: tuple[int, int]) -> bool:
    """Whether the driver compiles torch's kernels for a card.

    Drivers load machine code as it is, so two drivers compute equal bytes. Only for a card without machine code in the
    build of torch they compile its PTX, and may then fuse multiplications and additions otherwise in each version
    (https://docs.nvidia.com/cuda/parallel-thread-execution: `mul` and `add` without a rounding modifier). Machine code
    of a major capability runs on cards of the same major and the same or a higher minor one.

    Args:
        architectures: of the build, such as `sm_80` (machine code) and `compute_90` (PTX).
        capability: of the card.
    """
    major, minor = capability
    built = (re.fullmatch(r"sm_(\d+)(\d)[af]?", name) for name in architectures)
    return not any(found and int(found[1]) == major and int(found[2]) <= minor for found in built)


def _processor(cpuinfo: str) -> Mapping[str, str]:
    """Vendor and vector instructions of the first processor."""
    pairs = (line.partition(":") for line in cpuinfo.partition("\n\n")[0].splitlines())
    facts = {name.strip(): value.strip() for name, _, value in pairs}
    known = [facts.get(name, "") for name in _PROCESSOR]
    vectors = sorted(flag for flag in f"{known[1]} {known[3]}".split() if flag.startswith(_VECTORS))
    return {"vendor": known[0] or known[2], "vectors": " ".join(vectors)}


def _fix_precision(torch: Any) -> None:
    """Set the flags of a process with which CUDA computes float32 in float32, and equal batches equally.

    TF32, which torch allows cuDNN by default, rounds the inputs of float32 networks to 10 bits, and makes some of them
    depend on an item's position in the batch. The benchmark of cuDNN chooses kernels by their time on the occasion.
    No effect on a CPU.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True


def _precision(torch: Any) -> Mapping[str, str]:
    """The flags of `_fix_precision` as they are set."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    flags = {
        "tf32": matmul.allow_tf32 or cudnn.allow_tf32,
        "cudnn_benchmark": cudnn.benchmark,
        "cudnn_deterministic": cudnn.deterministic,
    }
    return {name: "on" if value else "off" for name, value in flags.items()}


@contextmanager
def repeatable_attention(device: str) -> Iterator[None]:
    """On CUDA, attention by matrix products only. No effect on a CPU.

    For networks whose results vary between runs of one batch with the fused kernels, at up to half more time.
    """
    if not device.startswith("cuda"):
        yield
        return
    attention = import_without_collection("torch.nn.attention")
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        yield


_LOCK = RLock()


@contextmanager
def loading() -> Iterator[None]:
    """A lock for creating and loading networks anywhere in the process.

    While `transformers` loads a model, it replaces `PreTrainedModel.tie_weights`, the initialisers of `torch.nn.init`
    and torch's default dtype for the whole process. Concurrent loads restore each other's replacements: afterwards,
    models with tied weights cannot be loaded, and networks of other threads get a wrong dtype.

    Also fixes the precision in which CUDA computes (`_fix_precision`), whatever a library set while it was imported.
    """
    with _LOCK:
        try:
            yield
        finally:
            torch = sys.modules.get("torch")
            if torch is not None:
                _fix_precision(torch)
