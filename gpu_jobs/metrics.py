"""Metrics of a worker or model server in Prometheus's text format, on a port of its own.

Off unless a variable names the port. By the standard library: images of workers have no Prometheus client.
"""

import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from evaluator.core.records import ResultRecord
from gpu_jobs.contract import Phase
from gpu_jobs.heartbeats import CurrentPhase

logger = logging.getLogger(__name__)

PORT = "PLANARENA_WORKER_METRICS_PORT"
"""Variable with the port. The processes of a worker with several GPUs listen on this port and the following ones."""
_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SCORING = "scoring"
"""Label of the time within `executing` that is spent on scoring; it is counted there, too."""


class MetricsPortError(ValueError):
    """The variable names no port."""


class Metrics:
    """Counters and gauges with at most one label. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._help: dict[str, tuple[str, str]] = {}
        self._values: dict[str, dict[tuple[str, str] | None, float]] = {}
        self.measured: list[tuple[str, Callable[[], float | None]]] = []
        """Gauges that are read at each scrape."""

    def declare(self, name: str, *, kind: str, about: str, label: str = "", values: Iterable[str] = ()) -> None:
        """Add a metric, whose series begin at 0.

        Args:
            name: with `_total` if it is a counter.
            kind: `counter` or `gauge`.
            about: its description.
            label: its label; empty: none.
            values: all values of the label.
        """
        self._help[name] = kind, about
        self._values[name] = {(label, value): 0.0 for value in values} if label else {None: 0.0}

    def measure(self, name: str, *, about: str, read: Callable[[], float | None]) -> None:
        """Add a gauge that is read at each scrape; None: it has no value now."""
        self._help[name] = "gauge", about
        self.measured.append((name, read))

    def add(self, name: str, amount: float = 1.0, **label: str) -> None:
        """Increase a series; one that was not declared is an error."""
        key = next(iter(label.items()), None)
        with self._lock:
            self._values[name][key] += amount

    def set(self, name: str, value: float) -> None:
        """Set a gauge without a label."""
        with self._lock:
            self._values[name][None] = value

    def text(self) -> str:
        """All series in Prometheus's text format."""
        with self._lock:
            found = {name: dict(series) for name, series in self._values.items()}
        found |= {name: {None: value} for name, read in self.measured if (value := read()) is not None}
        lines = []
        for name, series in found.items():
            kind, about = self._help[name]
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            for key, value in series.items():
                labels = "" if key is None else f'{{{key[0]}="{key[1]}"}}'
                lines.append(f"{name}{labels} {value!r}")
        return "\n".join(lines) + "\n"


class WorkerMetrics(Metrics):
    """What a worker counts."""

    def __init__(self) -> None:
        super().__init__()
        how = ("completed", "released", "failed", "refused", "over")
        self.declare(
            "planarena_worker_leases_total", kind="counter", about="Leases that have ended, by how.", label="how",
            values=how,
        )  # fmt: skip
        self.declare(
            "planarena_worker_phase_seconds_total", kind="counter",
            about="Time of leases by phase; scoring is a part of executing.", label="phase",
            values=[*(phase.value for phase in Phase), _SCORING],
        )  # fmt: skip
        self.declare(
            "planarena_worker_steps_total", kind="counter", label="cached", values=("yes", "no"),
            about="Steps of finished tasks; cached ones were in the store.",
        )  # fmt: skip
        self.declare("planarena_worker_tasks_total", kind="counter", about="Finished tasks.")
        self.declare("planarena_worker_busy", kind="gauge", about="1 while the worker holds a lease, else 0.")
        self.measure("planarena_worker_memory_bytes", about="Resident memory of the process.", read=resident_bytes)
        self.measure(
            "planarena_worker_device_memory_bytes", about="Memory of the CUDA device that torch has reserved.",
            read=device_bytes,
        )  # fmt: skip

    def count(self, record: ResultRecord) -> None:
        """Count a finished task and its steps."""
        self.add("planarena_worker_tasks_total")
        for step in (step for sample in record.samples for step in sample.steps):
            self.add("planarena_worker_steps_total", cached="yes" if step.cached else "no")

    def lease_ended(self, how: str) -> None:
        """Count a lease: `completed`, `released`, `failed`, `refused`, or `over` if the site ended it."""
        self.add("planarena_worker_leases_total", how=how)


class MeasuredPhase(CurrentPhase):
    """A current phase that adds its time to metrics."""

    def __init__(self, metrics: WorkerMetrics, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        metrics: of the worker.
        clock: monotonic clock in seconds.
        """
        super().__init__()
        self._metrics, self._clock = metrics, clock
        self._measured: tuple[Phase, float] | None = None
        """The phase whose time runs, and since when."""

    def begin(self) -> None:
        super().begin()
        self._follow_time()

    def enter(self, phase: Phase) -> None:
        super().enter(phase)
        if self._measured is None:
            self._follow_time()

    def end(self) -> None:
        super().end()
        if self._measured is not None:
            phase, since = self._measured
            self._metrics.add("planarena_worker_phase_seconds_total", self._clock() - since, phase=phase.value)
            self._metrics.set("planarena_worker_busy", 0.0)
            self._measured = None

    def _follow_time(self) -> None:
        self._measured = self.now, self._clock()
        self._metrics.set("planarena_worker_busy", 1.0)

    def note_scoring(self, seconds: float) -> None:
        super().note_scoring(seconds)
        self._metrics.add("planarena_worker_phase_seconds_total", seconds, phase=_SCORING)


def resident_bytes() -> float:
    """Resident memory of this process; the largest that it had where the system does not tell the present one."""
    try:
        return float(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def device_bytes() -> float | None:
    """Bytes that torch has reserved on the CUDA device; None while it uses none. Never initialises CUDA."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return float(torch.cuda.memory_reserved())


def metrics_port(environment: Mapping[str, str]) -> int | None:
    """The port of the environment; None: no metrics.

    Raises:
        MetricsPortError: it is no port.
    """
    text = environment.get(PORT, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise MetricsPortError(f"{PORT} is {text!r}: it must be a port from 1 to 65535")
    return int(text)


def serve(metrics: Metrics, *, port: int, host: str = "") -> ThreadingHTTPServer:
    """Answer `GET /metrics` in the background, and nothing else.

    Args:
        metrics: to show.
        port: 0 for a free one.
        host: address to listen at; empty: all.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = 5
        server_version = "planarena"

        def do_GET(self) -> None:
            found = self.path == "/metrics"
            body = metrics.text().encode() if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", _CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent: a scrape is no event."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def serve_from(metrics: Metrics, *, environment: Mapping[str, str] = os.environ) -> None:
    """`serve` on the port of the environment, if it names one. A port that is taken is logged and no reason to end.

    Raises:
        MetricsPortError: the variable names no port.
    """
    port = metrics_port(environment)
    if port is None:
        return
    try:
        serve(metrics, port=port)
    except OSError as error:
        logger.warning("no metrics: port %d cannot be used (%s)", port, error)
