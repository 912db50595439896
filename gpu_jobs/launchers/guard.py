"""`python -m gpu_jobs.launchers.guard ... -- COMMAND`: runs a worker within memory and time limits.

A worker that uses too much memory is killed. After its time limit it gets SIGTERM, and is killed if it does not stop.

This is a separate process, because a process that is short of memory or hangs in native code cannot watch itself. It
forwards SIGTERM, SIGINT and SIGUSR1, and exits with the worker's exit code.

The private memory of the worker and its children is checked several times a second. RLIMIT_AS is unsuitable: it counts
addresses, of which torch and CUDA reserve far more than they use, and mapped files of weights, which can be evicted.
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
"""Fields of `/proc/PID/status`. A process that only reads 512 GB of empty memory has 1 GB of page tables."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command within its limits, and return its exit code, or 137 if it was killed here."""
    options = _parser().parse_args(arguments)
    worker = subprocess.Popen(options.command, preexec_fn=_prepare)  # noqa: S603 - the launcher's command

    def forward(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal's signature
        worker.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, forward)
    started = time.monotonic()
    while worker.poll() is None:
        if options.memory and (used := _memory(worker.pid)) > options.memory:
            allowed = f"{options.memory / 1e6:.0f} MB"
            why = f"it used {used / 1e6:.0f} MB of memory, more than the {allowed} that a worker may"
            _kill(worker, why=why, note=Path(options.note))
            return KILLED_EXIT
        if options.seconds and time.monotonic() - started > options.seconds:
            why = f"it ran for longer than the {options.seconds:g} seconds that a worker may"
            # The worker sends finished results and returns the rest.
            worker.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                worker.wait(options.grace)
            if worker.poll() is None:
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
    parser.add_argument("--seconds", type=float, default=0, help="wall-clock time; 0: no limit")
    parser.add_argument("--grace", type=float, default=30, help="seconds between SIGTERM and SIGKILL")
    parser.add_argument("--note", required=True, help="file for the reason, as part of a sentence")
    parser.add_argument("command", nargs="+")
    return parser


def _prepare() -> None:
    """Runs in the child process before the command."""
    # A core file would contain the token, and may fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # It must not outlive this process, and is killed before the site's processes if memory runs out.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _memory(pid: int) -> int:
    """Bytes of private memory of a process and its children."""
    try:
        process = psutil.Process(pid)
        return sum(own_memory(member) for member in [process, *process.children(recursive=True)])
    except psutil.NoSuchProcess:
        return 0


def own_memory(process: psutil.Process) -> int:
    """Bytes of private memory of a process, including swap and page tables, and excluding mapped files if the system
    distinguishes them."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        with suppress(psutil.Error):
            return int(process.memory_info().rss)
        return 0
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return sum(int(fields[name].split()[0]) * 1024 for name in _HELD if name in fields)


def _kill(worker: "subprocess.Popen[bytes]", *, why: str, note: Path) -> None:
    # Before the kill: a reader that finds the worker dead looks for the reason at once.
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
