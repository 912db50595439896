"""Every place where an effect leaves a process, wrapped: recorded in order, and where the process kills itself.

Only the processes of these tests install this; the product knows nothing of it. An effect has a name made of what it
does and of the functions of the product that led to it, so that points survive changes elsewhere in the code:

    sql UPDATE evaluations_shard @ leasing.LeaseView.post > leases.lease > next_shard._attempt
"""

import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ARMED = "armed"
"""Folder in that of a run: a file for each point at which a process kills itself. Whoever does removes it first."""
RECORDED = "effects.jsonl"

_PRODUCT = tuple(f"{ROOT / package}{os.sep}" for package in ("leaderboard", "gpu_jobs", "evaluator"))
_WRITES = re.compile(r'\s*(INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)|\s*(SELECT pg_notify)', re.IGNORECASE)
_WORKERS_MAIN = "__main__.main"
_RUN = re.compile(r"\bcrash-\w+")
_KEYS = re.compile(r"[0-9a-f]{2}/[0-9a-f]{62}")
_IDS = re.compile(r"[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Effect:
    """The `ordinal`-th effect of this name in a process of this role."""

    role: str
    name: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class Point:
    """Just before or just after an effect."""

    effect: Effect
    moment: str

    def of_any_role(self) -> "Point":
        """The same in whichever process comes first: who makes an exchange, say, is a race."""
        return replace(self, effect=replace(self.effect, role=""))

    def covers(self, other: "Point") -> bool:
        """Whether this is the other one, in its role or in any; a name without a place is the beginning of others."""
        if " @ " not in self.effect.name and other.effect.name.startswith(self.effect.name):
            other = replace(other, effect=replace(other.effect, name=self.effect.name))
        return other == self or (not self.effect.role and other.of_any_role() == self)

    def __str__(self) -> str:
        return f"{self.effect.role} {self.moment} {self.effect.name} #{self.effect.ordinal}"


class Instrument:
    """Records the effects of this process, and kills it at the armed point."""

    def __init__(self, *, role: str, folder: Path) -> None:
        self._role = role
        self._folder = folder
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._armed = armed(folder)

    @contextmanager
    def effect(self, what: str) -> Iterator[None]:
        """Around the code that has the effect."""
        name = f"{what} @ {_place()}"
        with self._lock:
            self._counts[name] += 1
            effect = Effect(role=self._role, name=name, ordinal=self._counts[name])
            self._note(effect)
        self._reach(Point(effect=effect, moment="before"))
        yield
        self._reach(Point(effect=effect, moment="after"))

    def _note(self, effect: Effect) -> None:
        with (self._folder / RECORDED).open("a") as file:
            file.write(json.dumps(asdict(effect)) + "\n")

    def _reach(self, point: Point) -> None:
        for file, fatal in self._armed.items():
            if fatal.covers(point):
                try:
                    file.unlink()
                except FileNotFoundError:
                    # Another process of this role was killed here already.
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)


def arm(*, folder: Path, points: Iterable[Point]) -> None:
    """Let the next process that comes to one of these points kill itself there, once for each."""
    (folder / ARMED).mkdir()
    for number, point in enumerate(points):
        (folder / ARMED / str(number)).write_text(json.dumps(asdict(point)))


def armed(folder: Path) -> dict[Path, Point]:
    """The points to which nobody came yet."""
    found = {}
    for file in (folder / ARMED).glob("*"):
        # Somebody may come to it at this moment.
        with suppress(FileNotFoundError):
            raw = json.loads(file.read_text())
            found[file] = Point(effect=Effect(**raw["effect"]), moment=raw["moment"])
    return found


def recorded(folder: Path) -> list[Effect]:
    """The effects of all processes of a run, in order."""
    return [Effect(**json.loads(line)) for line in (folder / RECORDED).read_text().splitlines()]


def _place() -> str:
    """The functions of the product that are running, outermost first."""
    names: list[str] = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_PRODUCT) and not code.co_name.startswith("<"):
            name = f"{Path(code.co_filename).stem}.{code.co_qualname}"
            if not names or names[-1] != name:
                names.append(name)
            if name == _WORKERS_MAIN:
                # What is outside of it belongs to the process that this one is a fork of.
                break
        frame = frame.f_back  # type: ignore[assignment]
    return " > ".join(reversed(names)) or "outside"


def install(*, instrument: Instrument, lose_messages: bool = False) -> None:
    """Wrap every way out of this process.

    Args:
        instrument: what is told of each effect.
        lose_messages: whether messages that ask for a reconcile never reach the broker.
    """
    _wrap_database(instrument)
    _wrap_broker(instrument, lose_messages=lose_messages)
    _wrap_files(instrument)
    _wrap_http(instrument)
    _wrap_s3(instrument)


def _wrap_database(instrument: Instrument) -> None:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.backends.signals import connection_created

    def execute(run: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        found = _WRITES.match(sql)
        if found is None:
            return run(sql, params, many, context)
        context["connection"].has_written = True
        with instrument.effect(f"sql {found[3] or found[1].split()[0].upper()} {found[2] or ''}".strip()):
            return run(sql, params, many, context)

    def connected(connection: Any, **_: Any) -> None:
        if execute not in connection.execute_wrappers:
            connection.execute_wrappers.append(execute)

    # Django's signals forget what nobody else holds.
    connection_created.connect(connected, weak=False)
    commit = BaseDatabaseWrapper._commit

    @wraps(commit)
    def committing(self: Any) -> Any:
        if not getattr(self, "has_written", False):
            return commit(self)
        self.has_written = False
        with instrument.effect("sql COMMIT"):
            return commit(self)

    BaseDatabaseWrapper._commit = committing  # type: ignore[method-assign]


def _wrap_broker(instrument: Instrument, *, lose_messages: bool) -> None:
    from kombu.message import Message
    from kombu.messaging import Producer

    publish, acknowledge = Producer._publish, Message.ack

    @wraps(publish)
    def publishing(self: Any, *args: Any, **options: Any) -> Any:
        # Positions of kombu 5: body, priority, content_type, content_encoding, headers.
        headers = options.get("headers") or (args[4] if len(args) > 4 else {})
        task = _task_of(headers)
        if lose_messages and task == "reconcile_evaluation":
            return None
        with instrument.effect(f"broker publish {task}"):
            return publish(self, *args, **options)

    @wraps(acknowledge)
    def acknowledging(self: Any, *args: Any, **options: Any) -> Any:
        with instrument.effect(f"broker ack {_task_of(self.headers)}"):
            return acknowledge(self, *args, **options)

    Producer._publish, Message.ack = publishing, acknowledging


def _task_of(headers: Any) -> str:
    return str((headers or {}).get("task", "?")).rsplit(".", 1)[-1]


def _wrap_files(instrument: Instrument) -> None:
    """Objects and the launcher's notes are written beside their place and renamed into it."""
    write, rename = Path.write_bytes, Path.replace

    @wraps(write)
    def writing(self: Path, data: Any) -> int:
        if not self.parent.exists():
            # It will fail: that is no effect.
            return write(self, data)
        with instrument.effect("file write"):
            return write(self, data)

    @wraps(rename)
    def renaming(self: Path, target: Any) -> Path:
        with instrument.effect("file rename"):
            return rename(self, target)

    Path.write_bytes, Path.replace = writing, renaming  # type: ignore[method-assign, assignment]


def _wrap_http(instrument: Instrument) -> None:
    import httpx

    send = httpx.Client.send

    @wraps(send)
    def sending(self: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
        path = _RUN.sub("RUN", _IDS.sub("ID", _KEYS.sub("ID", request.url.path)))
        with instrument.effect(f"http {request.method} {path}"):
            return send(self, request, **options)

    httpx.Client.send = sending  # type: ignore[method-assign]


def _wrap_s3(instrument: Instrument) -> None:
    from botocore.httpsession import URLLib3Session

    send = URLLib3Session.send

    @wraps(send)
    def sending(self: Any, request: Any) -> Any:
        if request.method not in {"PUT", "DELETE"}:
            return send(self, request)
        # Below the name of the run, without digests.
        path = _KEYS.sub("ID", "/".join(request.url.partition("?")[0].split("/")[5:]))
        with instrument.effect(f"s3 {request.method} {path}"):
            return send(self, request)

    URLLib3Session.send = sending  # type: ignore[method-assign]
