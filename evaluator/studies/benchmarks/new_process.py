"""An evaluation in a process of its own, from its start to its end: imports, reading the suite, and reports count."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.records import ResultRecord
from evaluator.episodes.executed import Prepared


class ProcessFailedError(RuntimeError):
    """The process did not end as it should; the message is what it wrote to standard error."""


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """What a process took, and the document that it wrote (`evaluation/1`)."""

    wall: float
    cpu: float
    """Of all its threads, system time included."""
    peak_rss: int
    """As `resource` reports it: kibibytes on Linux, bytes on macOS."""
    document: dict[str, Any]


def run_in_new_process(*, prepared: Prepared, records: Iterable[ResultRecord], store: Path) -> ProcessRun:
    """Evaluate the plans of some records again with `planarena evaluate`.

    Args:
        prepared: suite, profile and number of samples.
        records: one for each task; their plans are executed, and none may be missing.
        store: folder of the store.

    Raises:
        ProcessFailedError: the command failed.
    """
    plans = {record.task: record.plan for record in records}
    with tempfile.TemporaryDirectory(prefix="planarena-bench-") as folder:
        given, written, said = (Path(folder) / name for name in ("plans.json", "evaluation.json", "errors"))
        given.write_text(json.dumps(plans), encoding="utf-8")
        options = {
            "suite": prepared.suite.slug,
            "planner": f"plans:{given}",
            "profile": prepared.profile.name,
            "split": prepared.split,
            "samples": str(prepared.count),
            "device": prepared.device,
            "tasks": ",".join(plans),
            "store": str(store),
            "output": str(written),
        }
        given_options = [f"--{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", "evaluator", "evaluate", *given_options]
        before = time.perf_counter()
        with said.open("wb") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)  # noqa: S603 - this program
            _, status, usage = os.wait4(process.pid, 0)
        wall, process.returncode = time.perf_counter() - before, os.waitstatus_to_exitcode(status)
        # A planner without a usable plan was measured too.
        if process.returncode not in {ExitCode.PASSED, ExitCode.PLANNER_FAULT}:
            raise ProcessFailedError(said.read_text(encoding="utf-8", errors="replace")[-2000:])
        return ProcessRun(
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            peak_rss=usage.ru_maxrss,
            document=json.loads(written.read_bytes()),
        )


def seconds_since_start() -> tuple[float, float]:
    """Seconds since this process was started, by the clock and of the processor."""
    return max(time.time() - psutil.Process().create_time(), 0.0), time.process_time()
