"""Driving one run: start its processes, submit, restart what was killed, and wait until all evaluations have ended."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import psycopg

from leaderboard.platform.environment import parse_database_url
from tests.crash.effects import ROOT, Point, arm, armed
from tests.crash.roles import FACTS, IN_TURNS, Run
from tests.processes import free_port, lives, marked, tails, write_stacks
from tests.processes import kill as kill_all

FINAL = frozenset({"completed", "failed", "cancelled"})
_KEPT_UP = ("web", "celery", "own_worker")


class Zygote:
    """The warm process that all others are forks of."""

    def __init__(self, root: Path = ROOT) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zygote"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root,
            env=marked(os.environ),
        )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, *, role: str, folder: Path) -> int:
        """Fork a process and return its id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps({"role": role, "folder": str(folder)}) + "\n")
            self._process.stdin.flush()
            return int(json.loads(self._process.stdout.readline())["pid"])

    def play(self, *, role: str, folder: Path, seconds: float = 90) -> None:
        """Fork a process and wait until it has done its work."""
        pid = self.start(role=role, folder=folder)
        wait_until(lambda: not lives(pid), what=f"{role} ended", seconds=seconds)

    def close(self) -> None:
        """End it with everything that it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What runs are made of: the warm process, the database server with a filled template, and a person's tokens."""

    zygote: Zygote
    postgres_url: str
    template: str
    tokens: list[str]
    worker_token: str
    """Of the first person's own worker."""
    suite: str
    options: dict[str, Any] = field(default_factory=dict)
    """Of all runs on it."""

    def database(self, name: str) -> dict[str, Any]:
        """Django's settings for a database of this server."""
        found = parse_database_url(self.postgres_url)
        # A pool as in the product: a connection for each request would take most of the time.
        pool = {"min_size": 1, "max_size": 4, "timeout": 15}
        kept = {key: found[key] for key in ("USER", "PASSWORD", "HOST", "PORT")}
        return {**kept, "NAME": name, "OPTIONS": {"pool": pool}}

    def url(self, name: str) -> str:
        """The address of a database of this server."""
        return urlsplit(self.postgres_url)._replace(path=f"/{name}").geturl()


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(condition: Callable[[], Any], *, what: str, seconds: float = 90, every: float = 0.03) -> Any:
    """Poll until the condition holds, and return its value."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"{what}: not within {seconds} s"
        time.sleep(every)
    return found


class Site:
    """The processes of one run."""

    def __init__(self, *, ground: Ground, run: Run) -> None:
        self.ground = ground
        self.run = run
        self.pids: dict[str, int] = {}
        self.restarts = 0
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{run.port}/api/v1/", trust_env=False, timeout=60)
        self._database: psycopg.Connection[Any] | None = None

    def start(self, role: str) -> int:
        """Start a process of this role."""
        self.pids[role] = self.ground.zygote.start(role=role, folder=self.run.folder)
        return self.pids[role]

    def keep_up(self) -> None:
        """Start again what has died."""
        for role in _KEPT_UP:
            if role in self.pids and not lives(self.pids[role]):
                self.restarts += 1
                self.start(role)

    def tick(self) -> None:
        """What beat does from time to time. Killed in between it comes again with the next call."""
        self.ground.zygote.play(role="beat", folder=self.run.folder)

    def query(self, sql: str, *parameters: Any) -> list[Any]:
        """Look into the database, beside all that the site does."""
        if self._database is None or self._database.closed:
            self._database = psycopg.connect(self.ground.url(self.run.database["NAME"]), autocommit=True)
        try:
            return self._database.execute(sql, parameters).fetchall()  # type: ignore[arg-type]
        except psycopg.OperationalError:
            self._database.close()
            raise

    def states(self) -> list[str]:
        return [row[0] for row in self.query("SELECT state FROM evaluations_evaluation ORDER BY created")]

    def ended(self) -> bool:
        states = self.states()
        open_verdicts = self.query("SELECT 1 FROM queue_verification WHERE verdict = 'open'")
        return bool(states) and all(state in FINAL for state in states) and not open_verdicts

    def wait_for_web(self) -> None:
        wait_until(self._answers, what="the site answers")

    def _answers(self) -> bool:
        self.keep_up()
        try:
            return httpx.get(f"http://127.0.0.1:{self.run.port}/health/live", trust_env=False).is_success
        except httpx.TransportError:
            return False

    def submit(self, *, name: str = "planner", person: int = 0, own_worker: bool = False, suite: str = "") -> None:
        """Submit as a careful person does: if no answer comes, look whether it is there before doing it again."""
        headers = {"Authorization": f"Bearer {self.ground.tokens[person]}"}
        planner = {"name": name, "kind": "bundled", "bundled_name": "gold"}
        body = {"planner": planner, "suites": [suite or self.ground.suite], "own_worker": own_worker}
        for _ in range(5):
            self.wait_for_web()
            try:
                if self._client.get("evaluations/?mine=1", headers=headers).json()["results"]:
                    return
                answer = self._client.post("submissions/", json=body, headers=headers)
                assert answer.status_code == 201, answer.text
                return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("submitting never succeeded")

    def finish(self, *, sweeps: bool, seconds: float = 120) -> None:
        """Restart what dies until every evaluation has ended; with `sweeps` beat runs too."""
        until = time.monotonic() + seconds
        last = time.monotonic()
        while not self.ended():
            assert time.monotonic() < until, f"not ended after {seconds} s"
            self.keep_up()
            if sweeps and time.monotonic() - last > 0.5:
                self.tick()
                last = time.monotonic()
            time.sleep(0.04)

    def outcome(self) -> dict[str, Any]:
        """What the run came to."""
        self.ground.zygote.play(role="outcome", folder=self.run.folder)
        found: dict[str, Any] = json.loads((self.run.folder / "outcome.json").read_text())
        return found

    def workers(self) -> list[int]:
        """Process ids of the workers that the launcher knows."""
        files = (self.run.folder / "workers").glob("local-*.json")
        return [pid for file in files if lives(pid := int(json.loads(file.read_text())["pid"]))]

    def describe(self) -> str:
        """Where it stands, and the ends of the logs with the stacks of its processes, which end by that."""
        rows = self.query("SELECT state, reason, reason_text FROM evaluations_evaluation")
        attempts = self.query("SELECT number, state, reason, worker FROM evaluations_attempt ORDER BY leased_at")
        write_stacks(self.processes())
        return f"{rows}\n{attempts}\n{tails([*self.run.folder.glob('*.log'), *self.run.folder.glob('workers/*.log')])}"

    def processes(self) -> list[psutil.Process]:
        """Those of this run, the workers that its launcher started included."""
        forks = psutil.Process(self.ground.zygote.pid).children(recursive=True)
        return [one for one in forks if one.pid in self.pids.values() or _output_is_in(one, self.run.folder)]

    def stop(self) -> None:
        """End every process of this run."""
        if self._database is not None:
            self._database.close()
        self._client.close()
        kill_all(self.processes())


def _output_is_in(process: psutil.Process, folder: Path) -> bool:
    """Forks have one command line: what tells whose they are is where they write."""
    with suppress(OSError):
        return str(Path(f"/proc/{process.pid}/fd/1").readlink()).startswith(f"{folder}{os.sep}")
    return False


@contextmanager
def site(*, ground: Ground, broker: str = "filesystem://localhost//", **options: Any) -> Iterator[Site]:
    """A fresh site with a database of its own; nothing runs yet."""
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    name = folder.name.replace("-", "_").lower()
    with psycopg.connect(ground.postgres_url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{ground.template}"')  # type: ignore[arg-type]
    extra = {"OWN_WORKER_TOKEN": ground.worker_token, **options.pop("extra", {})}
    options = {**ground.options, **options}
    run = Run(
        folder=folder, database=ground.database(name), broker=broker, port=free_port(), extra=extra, **options
    )  # fmt: skip
    run.save()
    made = Site(ground=ground, run=run)
    try:
        yield made
    except AssertionError as error:
        error.add_note(made.describe())
        raise
    finally:
        made.stop()
        with psycopg.connect(ground.postgres_url, autocommit=True) as server:
            server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # type: ignore[arg-type]
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def prepared(postgres_url: str) -> Iterator[Ground]:
    """The warm process and a filled template."""
    zygote = Zygote()
    try:
        yield with_template(zygote=zygote, postgres_url=postgres_url)
    finally:
        zygote.close()


def with_template(*, zygote: Zygote, postgres_url: str) -> Ground:
    """Fill a template in this server."""
    template = f"crash_template_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{template}"')  # type: ignore[arg-type]
    bare = Ground(zygote=zygote, postgres_url=postgres_url, template=template, tokens=[], worker_token="", suite="")
    with tempfile.TemporaryDirectory(prefix="crash-template-") as name:
        folder = Path(name)
        Run(folder=folder, database=bare.database(template), broker="memory://", port=0).save()
        zygote.play(role="prepare", folder=folder, seconds=120)
        assert (folder / FACTS).exists(), (folder / "prepare.log").read_text()
        facts = json.loads((folder / FACTS).read_text())
    return replace(bare, tokens=facts["tokens"], worker_token=facts["worker_token"], suite=facts["suite"])


_AFTER_THE_END = 5.0
"""Seconds in which a point may still be reached when every evaluation has ended."""
JOURNEYS: dict[str, Callable[[Site], None]] = {}
"""Ways from submitting to the published row."""


def _journey(function: Callable[[Site], None]) -> Callable[[Site], None]:
    JOURNEYS[function.__name__] = function
    return function


def _start(site: Site) -> None:
    site.start("web")
    site.start("celery")
    if site.run.broker.startswith("filesystem"):
        # Celery's worker declares the queue and not the web server, which would do so with its first message.
        queue = site.run.folder / "control" / "celery.exchange"
        wait_until(lambda: site.keep_up() or queue.exists(), what="the queue is declared")


@_journey
def by_messages(site: Site) -> None:
    """Every message arrives; beat is needed for nothing."""
    _start(site)
    site.submit()


@_journey
def by_sweeps(site: Site) -> None:
    """No message that asks for a reconcile arrives; beat's sweeps do everything."""
    _start(site)
    site.submit()
    site.tick()
    wait_until(lambda: _somebody_was_killed(site) or _work_is_done(site), what="the tasks are done")
    site.tick()


@_journey
def by_own_worker(site: Site) -> None:
    """A researcher's own worker runs the tasks, and a worker of the site runs them again."""
    _start(site)
    site.submit(own_worker=True)
    site.start("own_worker")


@_journey
def in_turns(site: Site) -> None:
    """A suite whose planner acts in turns, by the real evaluator: a worker goes on from the turns in its journal."""
    _start(site)
    site.submit(suite=IN_TURNS)


def options_of(journey: str) -> dict[str, Any]:
    """Of the site on which it takes place."""
    return {"lose_messages": journey == "by_sweeps", "is_real": journey == "in_turns"}


def _work_is_done(site: Site) -> bool:
    return not site.query("SELECT 1 FROM evaluations_shard WHERE state <> 'done'")


def _somebody_was_killed(site: Site) -> bool:
    """Only in runs in which somebody is to be killed."""
    was_armed = site.run.folder / "was-armed"
    return was_armed.exists() and len(armed(site.run.folder)) < int(was_armed.read_text())


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """How a run ended."""

    outcome: dict[str, Any]
    missed: list[Point]
    """Points to which nobody came."""
    seconds: float
    folder: Path


def travel(*, site: Site, journey: str, points: Sequence[Point] = ()) -> Came:
    """Go the journey, with somebody killed at each of these points, and clean up behind them until all has ended."""
    started = time.monotonic()
    if points:
        arm(folder=site.run.folder, points=points)
        (site.run.folder / "was-armed").write_text(str(len(points)))
    JOURNEYS[journey](site)
    if points:
        what = f"one of these points was reached: {', '.join(map(str, points))}"
        wait_until(lambda: _somebody_was_killed(site) or site.ended(), what=what)
        # Some messages are sent by the end itself, and what they cause comes after it.
        until = time.monotonic() + _AFTER_THE_END
        while not _somebody_was_killed(site) and time.monotonic() < until:
            time.sleep(0.04)
    site.finish(sweeps=bool(points))
    missed = list(armed(site.run.folder).values())
    return Came(outcome=site.outcome(), missed=missed, seconds=time.monotonic() - started, folder=site.run.folder)
