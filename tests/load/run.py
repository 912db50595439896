"""One load test: start everything, submit, watch until all has ended, and make the report."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

from leaderboard.operations.demo.processes import interruptible
from tests.load.installation import installation
from tests.load.processes import Processes
from tests.load.report import report_of
from tests.processes import free_port

_SAMPLE_SECONDS = 1.0
_TELL_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How large a load test is."""

    evaluations: int = 2000
    users: int = 10
    workers: int = 8
    tasks: int = 1
    """Of each evaluation; each is a shard of its own."""
    minutes: float = 0.0
    """For so long more is submitted whenever less than the first number of evaluations waits; then all of it ends."""
    pace: float = 0.0
    """Seconds that the runner takes for a task."""
    ended: int = 0
    """Evaluations that had ended before; those of the users together."""
    broker: str = "filesystem://localhost//"
    patience: float = 300.0
    """Seconds without any change after which the test gives up."""


@dataclass(slots=True)
class Watched:
    """What was seen from time to time."""

    memory: list[dict[str, float]] = field(default_factory=list)
    oldest: dict[str, float] = field(default_factory=dict)
    """Seconds of the oldest evaluation that was ever seen in a state."""
    used: dict[str, float] = field(default_factory=dict)
    """The most of a state's deadline that was ever used up, as a ratio."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Seconds that each kind of process used while workers ran."""


def measure(options: Options) -> dict[str, Any]:
    """Run the load test in a folder of its own, and return the report. Nothing is left behind, also on Ctrl-C."""
    folder = Path(tempfile.mkdtemp(prefix="planarena-load-"))
    with interruptible():
        try:
            return _measure_in(folder, options=options)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _measure_in(folder: Path, *, options: Options) -> dict[str, Any]:
    port = free_port()
    settings = {
        "BROKER_URL": options.broker, "PLANARENA_API_URL": f"http://127.0.0.1:{port}", "PLANARENA_MAIL_OWNERS": "0",
        "PLANARENA_EVALUATOR": "tests.fakes.evaluator.FakeEvaluator",
        "PLANARENA_LAUNCHER": "leaderboard.queue.launching.no_launcher", "PLANARENA_TASKS_PER_SHARD": "1",
        "PLANARENA_QUOTA_PER_DAY": "0", "PLANARENA_QUOTA_PER_SUITE_AND_DAY": "0",
    }  # fmt: skip
    with installation(folder, **settings):
        processes = Processes(logs=folder / "logs", environment=os.environ)
        try:
            return _Test(folder=folder, port=port, options=options, processes=processes).run()
        finally:
            processes.stop()


class _Test:
    """The stages of one load test."""

    def __init__(self, *, folder: Path, port: int, options: Options, processes: Processes) -> None:
        from tests.load import database

        self._database = database
        self._folder = folder
        self._port = port
        self._options = options
        self._processes = processes
        self._watched = Watched()
        self._began = time.monotonic()

    def run(self) -> dict[str, Any]:
        """From an empty database to the report."""
        options, database = self._options, self._database
        self._tell(f"preparing the database and the site in {self._folder}")
        suite = database.prepare(tasks=options.tasks)
        if options.ended:
            database.add_history(suite=suite, users=options.users, total=options.ended)
        self._processes.measure_too(what="database", pid=database.server_pid())
        self._start_site()
        counts = database.unequal(total=options.evaluations, users=options.users)
        self._tell(f"submitting {options.evaluations} evaluations of {options.users} users: {counts}")
        seconds = {"submitting": self._timed(lambda: database.submit_all(suite=suite, counts=counts))}
        # Only what has left `queued` can be leased: before, not every user would have work that waits.
        seconds["launching"] = self._timed(lambda: self._wait(lambda states: "queued" not in states))
        self._start_workers()
        before = self._processes.cpu()
        seconds["working"] = self._timed(lambda: self._work(suite=suite, counts=counts))
        after = self._processes.cpu()
        self._watched.cpu = {what: after[what] - before[what] for what in after}
        self._tell("all have ended")
        times = sorted(self._folder.glob("times-*.jsonl"))
        log = self._folder / "logs" / "celery.log"
        submitted = sum(database.states().values())
        told = {**asdict(options), "evaluations": submitted}
        return report_of(options=told, watched=self._watched, seconds=seconds, times=times, log=log)

    def _work(self, *, suite: str, counts: Sequence[int]) -> None:
        """Wait until all has ended. Before, keep workers busy for the time that is wanted."""
        until = time.monotonic() + 60 * self._options.minutes
        enough = self._options.evaluations * self._options.tasks
        while time.monotonic() < until:
            self._sample()
            if self._database.waiting_shards() < enough:
                self._database.submit_all(suite=suite, counts=counts)
            time.sleep(_SAMPLE_SECONDS)
        self._wait(self._all_have_ended)

    def _start_site(self) -> None:
        """Web server, Celery and beat, as the demo starts them."""
        address = ["--host", "127.0.0.1", "--port", str(self._port)]
        site = ["leaderboard.wiring.asgi:application", *address, "--timeout-graceful-shutdown", "2", "--no-access-log"]
        celery = ["-A", "leaderboard.platform.celery:app"]
        worker = [*celery, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle", "--loglevel=info"]
        self._processes.start(what="site", name="site", module="uvicorn", arguments=site)
        self._processes.start(what="celery", name="celery", module="celery", arguments=worker)
        self._processes.start(what="beat", name="beat", module="celery", arguments=[*celery, "beat"])
        until = time.monotonic() + 60
        while not self._answers():
            self._processes.check()
            assert time.monotonic() < until, f"the site does not answer:\n{self._processes.tails()}"
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self._port}/health/live", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def _start_workers(self) -> None:
        for number in range(self._options.workers):
            name = f"worker-{number}"
            arguments = ["--url", f"http://127.0.0.1:{self._port}", "--name", name, "--pace", str(self._options.pace),
                         "--times", str(self._folder / f"times-{number}.jsonl")]  # fmt: skip
            self._processes.start(what="workers", name=name, module="tests.load.worker", arguments=arguments)

    def _all_have_ended(self, states: Mapping[str, int]) -> bool:
        from leaderboard.evaluations.states import FINAL

        return set(states) <= {state.value for state in FINAL}

    def _wait(self, condition: Any) -> None:
        """Look and sample regularly until the states fulfil the condition."""
        told = changed = time.monotonic()
        seen: dict[str, int] = {}
        while True:
            states = self._database.states()
            self._sample()
            now = time.monotonic()
            if states != seen:
                seen, changed = states, now
            if condition(states):
                return
            assert now - changed < self._options.patience, f"nothing moves: {states}\n{self._processes.tails()}"
            if now - told >= _TELL_SECONDS:
                told = now
                self._tell(", ".join(f"{count} {state}" for state, count in sorted(states.items())))
            time.sleep(_SAMPLE_SECONDS)

    def _sample(self) -> None:
        self._processes.check()
        for state, (age, used) in self._database.ages().items():
            self._watched.oldest[state] = max(age, self._watched.oldest.get(state, 0.0))
            self._watched.used[state] = max(used, self._watched.used.get(state, 0.0))
        memory = self._processes.memory()
        if "workers" in memory:
            self._watched.memory.append(memory)

    def _timed(self, stage: Any) -> float:
        began = time.monotonic()
        stage()
        return time.monotonic() - began

    def _tell(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:7.1f} s  {text}", file=sys.stderr, flush=True)
