"""Reads the memory of a worker's GPU from the driver, without torch.

The driver is called in a process of its own: CUDA that was initialised in this one could not be used by the processes
that it forks.
"""

import subprocess
import sys
from collections.abc import Mapping

from gpu_jobs.model_server import VARIABLE

_SECONDS = 30
_READ = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
device, size = ctypes.c_int(), ctypes.c_size_t()
if driver.cuInit(0) == driver.cuDeviceGet(ctypes.byref(device), 0) == 0:
    if driver.cuDeviceTotalMem_v2(ctypes.byref(size), device) == 0:
        print(size.value)
"""


def gpu_memory_bytes(*, device: str, environment: Mapping[str, str]) -> int | None:
    """Bytes of the GPU, or MIG slice, that loads this worker's models.

    Args:
        device: the worker's torch device.
        environment: says which GPUs are visible.

    Returns:
        None: there is none, its driver does not answer, or a model server elsewhere loads the models.
    """
    if not device.startswith("cuda") or environment.get(VARIABLE):
        return None
    try:
        answer = subprocess.run(  # noqa: S603 - a constant
            [sys.executable, "-I", "-c", _READ], env=dict(environment), capture_output=True, text=True,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    figure = answer.stdout.strip()
    return int(figure) if answer.returncode == 0 and figure.isdecimal() and int(figure) else None
