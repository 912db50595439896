"""How busy a GPU is, sampled while something runs."""

import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import fmean
from threading import Event, Thread

Read = Callable[[], float | None]
"""Returns the share of the last moment in which the GPU was busy, in [0, 1]; None: unknown."""
_SECONDS = 0.2
_TIMEOUT = 5.0


def reader_for(device: str) -> Read:
    """How to read the utilisation of a torch device: by torch, which needs NVIDIA's library, else by `nvidia-smi`."""
    if not device.startswith("cuda"):
        return lambda: None
    read = next((read for read in (_by_torch, _by_command) if read(device) is not None), None)
    return (lambda: None) if read is None else partial(read, device)


def _by_torch(device: str) -> float | None:
    torch = sys.modules.get("torch")
    try:
        return None if torch is None else float(torch.cuda.utilization(device)) / 100
    except (ImportError, RuntimeError, OSError, AttributeError):
        return None


def _by_command(device: str) -> float | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    number = device.partition(":")[2] or "0"
    command = [program, f"--id={number}", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        # The program of the system, without input from outside.
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=True)  # noqa: S603
        return float(done.stdout.strip()) / 100
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


class Utilisation:
    """Samples of a GPU's utilisation, by what ran."""

    def __init__(self) -> None:
        self._samples: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, name: str, share: float) -> None:
        """Add a sample in [0, 1]."""
        self._samples[name].append(share)

    def of(self, name: str) -> float | None:
        """Mean utilisation while a name ran; None without samples."""
        return fmean(self._samples[name]) if self._samples.get(name) else None

    @property
    def mean(self) -> float | None:
        """Mean of all samples; None without any."""
        values = [share for shares in self._samples.values() for share in shares]
        return fmean(values) if values else None


@contextmanager
def sampled(*, read: Read, running: Callable[[], str]) -> Iterator[Utilisation]:
    """Sample in a thread during the context.

    Args:
        read: reads the utilisation.
        running: names what runs now.
    """
    utilisation, over = Utilisation(), Event()

    def sample() -> None:
        while not over.wait(_SECONDS):
            name = running()
            share = read()
            if share is not None:
                utilisation.add(name, share)

    thread = Thread(target=sample, name="utilisation", daemon=True)
    thread.start()
    try:
        yield utilisation
    finally:
        over.set()
        thread.join()
