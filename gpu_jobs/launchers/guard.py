"""`python -m gpu_jobs.launchers.guard ... -- COMMAND`: runs a worker and kills it when it uses too much memory.

When its time is over it gets SIGTERM, and is killed if it does not stop.

A process of its own, because one that is short of memory or hangs in foreign code cannot watch itself. It passes on
SIGTERM, SIGINT and SIGUSR1 and ends with the worker's exit code.

Memory is what the worker and its children hold for themselves, looked at several times a second. RLIMIT_AS does not
fit: it counts addresses, of which torch and CUDA reserve far more than they use, and mapped files of weights, which can
be read again at any time.
"""

import argparse
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

import psutil

KILLED_EXIT = 137
_LOOK_EVERY_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1
_FIRST_TO_GO = "500"
_HELD = ("RssAnon", "RssShmem", "HugetlbPages", "VmSwap", "VmPTE")
"""Of `/proc/PID/status`. A process that only reads 512 GB of empty memory has 1 GB of page tables."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command within its limits, and return its exit code, or 137 if it was killed here."""
    options = _parser().parse_args(arguments)
    worker = subprocess.Popen(options.command, preexec_fn=_prepare)  # noqa: S603 - the launcher's command
    _pass_on_signals(worker)
    started = time.monotonic()
    while worker.poll() is None:
        if why := _too_much_memory(worker, memory=options.memory):
            _kill(worker, why=why, note=Path(options.note))
            return KILLED_EXIT
        if options.seconds and time.monotonic() - started > options.seconds:
            why = f"it ran for longer than the {options.seconds:g} seconds that a worker may"
            if not _ends_by_itself(worker, within=options.grace):
                _kill(worker, why=why, note=Path(options.note))
                return KILLED_EXIT
            break
        with suppress(subprocess.TimeoutExpired):
            worker.wait(_LOOK_EVERY_SECONDS)
    code = int(worker.wait())
    return code if code >= 0 else 128 - code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpu_jobs.launchers.guard")
    parser.add_argument("--memory", type=int, default=0, help="bytes; 0: no limit")
    parser.add_argument("--seconds", type=float, default=0, help="of wall-clock time; 0: no limit")
    parser.add_argument("--grace", type=float, default=30, help="seconds to end by itself when its time is over")
    parser.add_argument("--note", required=True, help="file for the reason, as part of a sentence")
    parser.add_argument("command", nargs="+")
    return parser


def _prepare() -> None:
    """In the worker's process, before it becomes the worker."""
    # No core file: it would hold the token and may fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # It must not outlive its guard, and goes before the site's own processes when the machine is out of memory.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _pass_on_signals(worker: "subprocess.Popen[bytes]") -> None:
    def pass_on(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal's signature
        worker.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGINT, pass_on)
    signal.signal(signal.SIGUSR1, pass_on)


def _ends_by_itself(worker: "subprocess.Popen[bytes]", *, within: float) -> bool:
    """Whether it ends when it is told to, with what it has done sent and the rest given back."""
    worker.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        worker.wait(within)
    return worker.poll() is not None


def _too_much_memory(worker: "subprocess.Popen[bytes]", *, memory: int) -> str:
    """How much it uses, as part of a sentence; empty if it may."""
    if memory and (used := _memory(worker.pid)) > memory:
        return f"it used {used / 1e6:.0f} MB of memory, more than the {memory / 1e6:.0f} MB that a worker may"
    return ""


def _memory(pid: int) -> int:
    """Bytes that a process and its children hold for themselves."""
    try:
        process = psutil.Process(pid)
        return sum(own_memory(one) for one in [process, *process.children(recursive=True)])
    except psutil.NoSuchProcess:
        return 0


def own_memory(process: psutil.Process) -> int:
    """Bytes that a process holds for itself, swapped out or not, with its page tables: without mapped files where the
    system tells them apart."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        with suppress(psutil.Error):
            return int(process.memory_info().rss)
        return 0
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return sum(int(fields[name].split()[0]) * 1024 for name in _HELD if name in fields)


def _kill(worker: "subprocess.Popen[bytes]", *, why: str, note: Path) -> None:
    # Before the kill: who finds it dead asks for the reason at once.
    draft = note.with_suffix(".reason-draft")
    draft.write_text(why)
    draft.replace(note)
    sys.stdout.write(f"The worker is killed: {why}.\n")
    sys.stdout.flush()
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(worker.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
    worker.kill()
    worker.wait()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
