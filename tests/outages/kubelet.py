"""What a node does with a container of a manifest: start it, ask its probes, and replace it if one says so."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.processes import Program, tails


class Container:
    """A container of a manifest with its probes. It is started again whenever it ends, or its liveness probe fails."""

    def __init__(
        self, spec: Mapping[str, Any], *, name: str, command: Sequence[str], environment: Mapping[str, str],
        folder: Path, port: int = 0,
    ) -> None:  # fmt: skip
        """Args:
        spec: of the manifest, for its probes.
        name: of the pod.
        command: of the manifest, with the ports of this machine.
        environment: all its variables.
        folder: in place of its `/tmp`, also in probes.
        port: where its probes ask.
        """
        self.name = name
        self.port = port
        self.is_ready = False
        self.killed_by_probes: list[str] = []
        """Why probes had it replaced."""
        self.ended: list[int] = []
        """Exit codes with which it ended by itself."""
        self._spec = spec
        self._command = list(command)
        self._environment = dict(environment)
        self._folder = folder
        self._held = threading.Event()
        self._over = threading.Event()
        self._starts = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._program = self._started()
        self._thread = threading.Thread(target=self._watch, name=f"kubelet-{name}", daemon=True)
        self._thread.start()

    def said(self) -> str:
        """The ends of the output of its processes."""
        return tails(sorted(self._folder.glob("*.log")))

    def take_away(self) -> None:
        """Kill it, as if its node were gone; it does not come back before `give_back`."""
        self._held.set()
        self.is_ready = False
        for process in reversed(self._program.family()):
            with suppress(Exception):
                process.kill()
        self._program.process.wait()

    def give_back(self) -> None:
        """Let it start again."""
        self._held.clear()

    def stop(self) -> None:
        """End it for good."""
        self._over.set()
        self._thread.join(timeout=60)
        if self._program.process.poll() is None:
            self._program.stop()

    def _started(self) -> Program:
        for mark in self._folder.iterdir():
            if mark.is_file() and mark.suffix != ".log":
                mark.unlink()
        self._starts += 1
        return Program(self._command, log=self._folder / f"{self._starts}.log", environment=self._environment)

    def _watch(self) -> None:
        """One start after the other."""
        while not self._over.is_set():
            if not self._held.is_set():
                if self._program.process.poll() is not None:
                    self._program = self._started()
                self._run()
            self._over.wait(0.2)

    def _run(self) -> None:
        """Ask the probes until the process is to be replaced, taken away or ended."""
        startup = _Probe(self._spec.get("startupProbe"), ask=self._ask)
        while self._goes_on() and not startup.has_passed:
            if startup.ask_when_due() is False:
                self._replace("startupProbe")
                return
            time.sleep(0.1)
        liveness = _Probe(self._spec.get("livenessProbe"), ask=self._ask)
        readiness = _Probe(self._spec.get("readinessProbe"), ask=self._ask)
        while self._goes_on():
            if liveness.ask_when_due() is False:
                self._replace("livenessProbe")
                return
            if (answer := readiness.ask_when_due()) is not None:
                self.is_ready = answer
            time.sleep(0.1)
        self.is_ready = False
        if not self._held.is_set() and not self._over.is_set():
            self.ended.append(self._program.process.wait())

    def _goes_on(self) -> bool:
        return not (self._over.is_set() or self._held.is_set() or self._program.process.poll() is not None)

    def _replace(self, probe: str) -> None:
        self.killed_by_probes.append(probe)
        self.is_ready = False
        self._program.stop()

    def _ask(self, probe: Mapping[str, Any]) -> bool:
        seconds = probe.get("timeoutSeconds", 1)
        try:
            if (get := probe.get("httpGet")) is not None:
                answer = httpx.get(f"http://127.0.0.1:{self.port}{get['path']}", timeout=seconds, trust_env=False)
                return 200 <= answer.status_code < 400
            command = [part.replace("/tmp/", f"{self._folder}/") for part in probe["exec"]["command"]]
            return subprocess.run(command, timeout=seconds, capture_output=True).returncode == 0
        except (httpx.HTTPError, subprocess.TimeoutExpired):
            return False


class _Probe:
    """A probe with its period and thresholds, as Kubernetes defines them; none always passes."""

    def __init__(self, probe: Mapping[str, Any] | None, *, ask: Callable[[Mapping[str, Any]], bool]) -> None:
        self._probe = probe
        self._ask = ask
        self._failures = 0
        self._due = time.monotonic() + (probe or {}).get("initialDelaySeconds", 0)
        self.has_passed = probe is None

    def ask_when_due(self) -> bool | None:
        """True if it passes now, False if it has failed too often, None where nothing changes."""
        if self._probe is None:
            return True
        if time.monotonic() < self._due:
            return None
        self._due = time.monotonic() + self._probe.get("periodSeconds", 10)
        if self._ask(self._probe):
            self._failures, self.has_passed = 0, True
            return True
        self._failures += 1
        return False if self._failures >= self._probe.get("failureThreshold", 3) else None
