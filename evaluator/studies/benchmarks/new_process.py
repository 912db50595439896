"""An evaluation in a new process, timed from start to end, including imports, reading the suite and the report."""

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
    """The process failed; the message is its standard error."""


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """The resource usage of a process, and the document that it wrote (`evaluation/1`)."""

    wall: float
    cpu: float
    """User and system time of all threads."""
    peak_rss: int
    """As `resource` reports it: kibibytes on Linux, bytes on macOS."""
    document: dict[str, Any]


def run_in_new_process(*, prepared: Prepared, records: Iterable[ResultRecord], store: Path) -> ProcessRun:
    """Evaluate the plans of some records again with `planarena evaluate`.

    Args:
        prepared: suite, profile and number of samples.
        records: one for each task, all with a plan.
        store: folder of the store.

    Raises:
        ProcessFailedError: the command failed.
    """
    plans = {record.task: record.plan for record in records}
    with tempfile.TemporaryDirectory(prefix="planarena-bench-") as folder:
        input_path, output_path, error_path = (
            Path(folder) / name for name in ("plans.json", "evaluation.json", "errors")
        )
        input_path.write_text(json.dumps(plans), encoding="utf-8")
        options = {
            "suite": prepared.suite.slug,
            "planner": f"plans:{input_path}",
            "profile": prepared.profile.name,
            "split": prepared.split,
            "samples": str(prepared.count),
            "device": prepared.device,
            "tasks": ",".join(plans),
            "store": str(store),
            "output": str(output_path),
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", "evaluator", "evaluate", *arguments]
        before = time.perf_counter()
        with error_path.open("wb") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)  # noqa: S603 - this program
            _, status, usage = os.wait4(process.pid, 0)
        wall, process.returncode = time.perf_counter() - before, os.waitstatus_to_exitcode(status)
        # A run whose planner returned no usable plan counts too.
        if process.returncode not in {ExitCode.PASSED, ExitCode.PLANNER_FAULT}:
            raise ProcessFailedError(error_path.read_text(encoding="utf-8", errors="replace")[-2000:])
        return ProcessRun(
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            peak_rss=usage.ru_maxrss,
            document=json.loads(output_path.read_bytes()),
        )


def seconds_since_start() -> tuple[float, float]:
    """Wall and CPU seconds since the start of this process."""
    return max(time.time() - psutil.Process().create_time(), 0.0), time.process_time()
