"""What the processes of a run do: the site, Celery's worker, Celery's beat, and the worker that the launcher starts.

Each is a fork of one warm process (`zygote.py`), which has imported everything and opened nothing.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.crash.effects import Instrument, install
from tests.upgrade.migrating import migrate

RUN = "run.json"
IN_TURNS = "toy-turns"
"""A suite in turns, which a run with `is_real` evaluates."""
FACTS = "facts.json"
JUMP = "jump"
"""File in a run's folder with the seconds by which the clocks of web server and workers have jumped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what its processes share."""

    folder: Path
    database: dict[str, Any]
    broker: str
    port: int
    lose_messages: bool = False
    """Whether no message that asks for a reconcile arrives: then sweeps do everything."""
    visibility_seconds: float = 2.0
    """Of Redis: a message that was not acknowledged comes again after so long."""
    lease_seconds: int = 3
    pace: float = 0.0
    """Seconds that a task takes."""
    instrumented: bool = True
    is_real: bool = False
    """Whether the site and its workers have the real evaluator; else fakes of it."""
    worker_clock_ahead: float = 0.0
    """Seconds by which the clock of workers is ahead of the site's."""
    web_clock_ahead: float = 0.0
    """Seconds by which the clock of the web server's host is ahead of that of all others."""
    bucket: str = ""
    """`s3://bucket` that holds the site's store below the name of the run; empty: a folder holds it."""
    s3_endpoint: str = ""
    """Of that bucket's service."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further settings."""

    def save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / RUN).write_text(json.dumps({**asdict(self), "folder": str(self.folder)}))

    @classmethod
    def load(cls, folder: Path) -> "Run":
        raw = json.loads((folder / RUN).read_text())
        return cls(**{**raw, "folder": Path(raw["folder"])})


def jumped(folder: Path) -> float:
    try:
        return float((folder / JUMP).read_text() or 0)
    except FileNotFoundError:
        return 0.0


def begin(*, role: str, run: Run) -> None:
    """Make this process one of the run."""
    configure(run)
    if run.instrumented:
        _instrument(role=role, run=run)


def configure(run: Run) -> None:
    """The run's database, broker and folders in place of those of the warm process."""
    from django.conf import settings
    from django.db import connections

    from leaderboard.platform.celery import app

    connections.settings["default"].update(run.database)
    settings.DATABASES["default"].update(run.database)
    settings.DATA_DIR = run.folder
    settings.STORE_DIR = run.folder / "store"
    settings.API_URL = f"http://127.0.0.1:{run.port}"
    settings.LEASE_SECONDS = run.lease_seconds
    if run.is_real:
        settings.EVALUATOR = "leaderboard.catalog.library.Library"
    if run.bucket:
        os.environ.update(credentials(run.s3_endpoint))
        settings.STORE_URL = f"{run.bucket}/{run.folder.name}"
    for name, value in run.extra.items():
        setattr(settings, name, value)
    app.conf.update(broker_url=run.broker, broker_transport_options=_transport_options(run))


def credentials(endpoint: str) -> dict[str, str]:
    """Variables of a user of the fake service."""
    return {
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-central-1",
        "PLANARENA_S3_ENDPOINT": endpoint,
    }  # fmt: skip


def _transport_options(run: Run) -> dict[str, Any]:
    if run.broker.startswith("redis:"):
        # Celery's worker looks at every tenth of its intervals of ten seconds otherwise.
        soon = {"unacked_restore_interval": 0.5, "unacked_restore_throttle": 1}
        return {"visibility_timeout": run.visibility_seconds, "unacked_restore_limit": 1, **soon}
    messages, control = run.folder / "messages", run.folder / "control"
    for folder in (messages, control):
        folder.mkdir(exist_ok=True)
    return {
        "data_folder_in": str(messages), "data_folder_out": str(messages), "control_folder": str(control),
        "store_processed": False, "polling_interval": 0.05,
    }  # fmt: skip


_INSTRUMENT: dict[str, Instrument] = {}


def _instrument(*, role: str, run: Run) -> None:
    instrument = Instrument(role=role, folder=run.folder)
    # A worker is a fork of Celery's: what is wrapped already only changes its name.
    wrapped = bool(_INSTRUMENT)
    _INSTRUMENT["current"] = instrument
    if not wrapped:
        install(instrument=_Current(), lose_messages=run.lose_messages)  # type: ignore[arg-type]


class _Current:
    """The instrument of whichever process this is."""

    def effect(self, what: str) -> Any:
        return _INSTRUMENT["current"].effect(what)


def prepare(run: Run) -> None:
    """Fill an empty database: the tables, two suites and people with tokens."""
    from django.core.management import call_command

    from evaluator.core.suites.registry import suite_of
    from leaderboard.catalog.services import register_suite
    from leaderboard.people.services import create_token
    from leaderboard.queue.workers.tokens import create_worker_token
    from tests.leaderboard.factories import make_suite, make_user

    call_command("migrate", verbosity=0)
    suite = make_suite(slug="mini", runnable=5, not_run=1)
    register_suite(suite_of(IN_TURNS))
    people = [make_user(f"person{number}") for number in range(10)]
    tokens = [create_token(user=person).token for person in people]
    own = create_worker_token(owner=people[0], name="desktop").token
    (run.folder / FACTS).write_text(json.dumps({"suite": suite.slug, "tokens": tokens, "worker_token": own}))


def web(run: Run) -> None:
    """The site."""
    import uvicorn
    from django.utils import timezone

    right = timezone.now
    timezone.now = lambda: right() + timedelta(seconds=run.web_clock_ahead + jumped(run.folder))  # type: ignore[assignment]

    from leaderboard.wiring.asgi import application

    uvicorn.run(application, host="127.0.0.1", port=run.port, log_level="warning", lifespan="off", access_log=False)


def celery(run: Run) -> None:
    """Celery's worker, in one process."""
    from leaderboard.platform.celery import app

    app.Worker(
        pool="solo", concurrency=1, without_gossip=True, without_mingle=True, without_heartbeat=True, loglevel="INFO",
        hostname=f"celery@{run.folder.name}",
    ).start()  # fmt: skip


def beat(run: Run) -> None:
    """Asks for one sweep, as beat does regularly."""
    from leaderboard.queue.tasks import sweep

    sweep.apply_async(expires=60)


def second_worker(run: Run) -> None:
    """A worker that somebody starts by hand on another machine."""
    from django.conf import settings

    arguments = ["worker", "--url", settings.API_URL, "--name", "by-hand", "--idle-seconds", "600"]
    gpu_worker(arguments=arguments, environment={"PLANARENA_WORKER_TOKEN": settings.WORKER_TOKEN}, run=run)


def own_worker(run: Run) -> None:
    """A worker that a researcher starts on their own machine. `extra` has its token."""
    from django.conf import settings

    arguments = ["worker", "--url", settings.API_URL, "--name", "desktop", "--idle-seconds", "600"]
    token = run.extra["OWN_WORKER_TOKEN"]
    gpu_worker(arguments=arguments, environment={"PLANARENA_WORKER_TOKEN": token}, run=run, role="own_worker")


def outcome(run: Run) -> None:
    """Write down what the run came to."""
    from evaluator.execution.engine.store import LocalStore
    from leaderboard.operations.backups.objects import STORES, copy_objects, site_store
    from tests.crash.outcome import outcome_of

    for name in STORES if run.bucket else ():
        copied = copy_objects(source=site_store(name), target=LocalStore(run.folder / "store" / name))
        assert not copied.damaged, copied.damaged
    (run.folder / "outcome.json").write_text(json.dumps(outcome_of(store=run.folder / "store"), indent=1))


def launcher() -> Any:
    """Named by the setting LAUNCHER: the local launcher, whose processes are forks."""
    from django.conf import settings

    from gpu_jobs.launchers import local
    from leaderboard.queue.launching import LocalEnrolments

    local.subprocess = _Subprocess()  # type: ignore[assignment]
    return local.LocalLauncher(
        folder=settings.DATA_DIR / "workers",
        api_url=settings.API_URL,
        store=settings.DATA_DIR / "workers" / "store",
        workers=1,
        environment={},
        enrolments=LocalEnrolments(),
        home=Path(settings.DATA_DIR),
        command=("worker",),
    )


def stuck_launcher() -> Any:
    """Like `launcher`, but starting a worker takes until there is a file `free` in the folder of the run."""
    folder = Path(_data_dir())
    if not (folder / "free").exists():
        (folder / "stuck").touch()
        while not (folder / "free").exists():
            time.sleep(0.05)
    return launcher()


def forgiving_launcher() -> Any:
    """Like `launcher`, but it stops no worker that hangs: for those that wake up again."""
    forgiving = launcher()
    forgiving.stop_one = lambda *, handle: None
    return forgiving


class _Subprocess:
    """What the launcher needs of `subprocess`."""

    DEVNULL = subprocess.DEVNULL
    STDOUT = subprocess.STDOUT

    def Popen(self, arguments: list[str], *, stdin: Any, stdout: Any, env: dict[str, str], **_: Any) -> Any:
        run = Run.load(Path(_data_dir()))
        if run.instrumented:
            with _INSTRUMENT["current"].effect("process start"):
                return _Forked(arguments=arguments, input=stdin.fileno(), output=stdout.fileno(), environment=env)
        return _Forked(arguments=arguments, input=stdin.fileno(), output=stdout.fileno(), environment=env)


def _data_dir() -> str:
    from django.conf import settings

    return str(settings.DATA_DIR)


class _Forked:
    """A worker as a fork of the process that starts it: importing everything anew would take most of a run."""

    def __init__(self, *, arguments: list[str], input: int, output: int, environment: dict[str, str]) -> None:
        run = Run.load(Path(_data_dir()))
        self.pid = os.fork()
        if not self.pid:
            in_child(
                lambda: gpu_worker(arguments=arguments, environment=environment, run=run), input=input, output=output
            )


def in_child(work: Callable[[], None], *, output: int, input: int | None = None) -> None:
    """Do the work in a process that was just forked, and end it. Nothing of its parent's stays open, as after exec:
    a connection that a child holds would hide from the server that the parent is dead."""
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY) if input is None else input, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.closerange(3, 1024)
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def gpu_worker(*, arguments: list[str], environment: dict[str, str], run: Run, role: str = "worker") -> None:
    """The worker program with records in several deliveries and a first heartbeat soon; its runner is a fake unless the
    run is real.
    """
    from gpu_jobs import __main__ as program
    from gpu_jobs import delivery
    from gpu_jobs.client import ApiClient

    os.environ.update(environment)
    if run.instrumented:
        _instrument(role=role, run=run)
    right = time.time
    time.time = lambda: right() + run.worker_clock_ahead + jumped(run.folder)
    delivery._RECORDS_PER_CALL = 2
    first = threading.Event()
    beating, leasing, finishing = ApiClient.heartbeat, ApiClient.lease, ApiClient.finish

    def heartbeat(self: Any, lease: Any, **said: Any) -> None:
        beating(self, lease, **said)
        first.set()
        lease.__dict__["heartbeat_seconds"] = 1.0

    def soon(lease: Any) -> Any:
        return lease if lease is None or first.is_set() else lease.model_copy(update={"heartbeat_seconds": 0.05})

    def lease(self: Any, request: Any, **options: Any) -> Any:
        answer = leasing(self, request, **options)
        return replace(answer, lease=soon(answer.lease))

    def finish(self: Any, **options: Any) -> Any:
        return soon(finishing(self, **options))

    ApiClient.heartbeat, ApiClient.lease, ApiClient.finish = heartbeat, lease, finish  # type: ignore[method-assign]
    runner = _runner(run=run, role=role, first=first)
    program.EvaluatorRunner = lambda **_: runner  # type: ignore[assignment,misc]
    # It starts processes of its own, which take no part.
    program.report_confinement = lambda: None
    sys.exit(program.main(arguments))


def _runner(*, run: Run, role: str, first: threading.Event) -> Any:
    """The run's, which waits for the first heartbeat: so that every run has one, and at the same place."""
    from evaluator.execution.engine.store import LocalStore
    from gpu_jobs.runner import EvaluatorRunner
    from tests.fakes.runner import FakeRunner

    store = LocalStore(run.folder / "workers" / ("store" if role == "worker" else f"{role}-store"))
    makes = {"makes": picture_of} if run.bucket else {}
    runner: Any = (
        EvaluatorRunner(store=store, device="cpu") if run.is_real else FakeRunner(pace=run.pace, store=store, **makes)
    )
    run_lease = runner.run

    def waiting(lease: Any) -> Iterator[Any]:
        first.wait(timeout=1)
        yield from run_lease(lease)

    runner.run = waiting
    return runner


def picture_of(task: str) -> Any:
    """Noise that is large enough to be uploaded directly."""
    from PIL import Image

    from evaluator.core.values import encode

    return encode(Image.frombytes("RGB", (96, 96), random.Random(task).randbytes(96 * 96 * 3)))


ROLES: dict[str, Callable[[Run], None]] = {
    "prepare": prepare, "migrate": migrate, "web": web, "celery": celery, "beat": beat, "second_worker": second_worker,
    "own_worker": own_worker, "outcome": outcome,
}  # fmt: skip
TAKES_NO_PART = frozenset({"prepare", "migrate", "outcome"})
"""Processes that only look: nothing of them is recorded."""


def play(*, role: str, folder: Path) -> None:
    """Be this process."""
    run = Run.load(folder)
    if role in TAKES_NO_PART:
        configure(run)
    else:
        begin(role=role, run=run)
    started = time.monotonic()
    ROLES[role](run)
    print(f"{role} ended after {time.monotonic() - started:.2f} s", flush=True)
