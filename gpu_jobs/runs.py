"""Runs of the workbench: one request, whose events a worker sends while it works.

A run is leased like a shard and ends like one: a worker that is killed sends no more calls, and another one starts the
run again, which finds the executed steps in the store.
"""

import logging
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, Self

from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Artefact, MediaType, Value, decode
from evaluator.execution.engine.store import Store
from evaluator.workbench.events import Ending, Event, artefacts_of, ended
from evaluator.workbench.files import FileRefusedError, UploadedFile, read_upload
from evaluator.workbench.running import RunRequest
from gpu_jobs import bundles
from gpu_jobs.client import ApiClient, AttemptOverError, RefusedError, UnreachableError
from gpu_jobs.contract import MOST_EVENTS_PER_CALL, RunEvents, RunFile, RunLease

logger = logging.getLogger(__name__)


class RequestRunner(Protocol):
    """Runs requests."""

    store: Store
    """Has the artefacts that events name."""

    def run_request(self, lease: RunLease, request: RunRequest) -> Iterator[Event]:
        """The events of a run.

        Raises:
            LeaseRefusedError: this worker cannot run it.
        """
        ...


def work_on_run(lease: RunLease, *, client: ApiClient, runner: RequestRunner) -> None:
    """Run a request, and send its events.

    Raises:
        AttemptOverError: it was cancelled or lost.
        UnreachableError: the site could not be reached.
    """
    sent = 0
    known: set[str] = set()
    with _Pulse(client=client, lease=lease) as pulse:
        for event in _events(lease, client=client, runner=runner):
            pulse.check()
            shown = event.to_json()
            _send_artefacts(shown, lease=lease, client=client, store=runner.store, known=known)
            client.run_events(lease=lease, events=RunEvents(first=sent, events=(shown,)))
            sent += 1
            if sent > MOST_EVENTS_PER_CALL * 10:
                raise RefusedError("a run has too many events")


def _events(lease: RunLease, *, client: ApiClient, runner: RequestRunner) -> Iterator[Event]:
    try:
        files = {file.name: _value(file, data=client.run_file(lease=lease, number=file.number)) for file in lease.files}
    except FileRefusedError as error:
        yield ended(ending=Ending.FAILED, text=str(error))
        return
    request = RunRequest(text=lease.request, files=files, plan=lease.plan, history=list(lease.history))
    yield from runner.run_request(lease, request)


def _value(file: RunFile, *, data: bytes) -> tuple[ResourceType, Value]:
    if not file.media_type:
        return read_upload(UploadedFile(name=file.name, data=data))
    try:
        return ResourceType(file.type), decode(Artefact(data=data, media_type=MediaType(file.media_type)))
    except (ValueError, OSError):
        raise FileRefusedError(f"{file.name}, a result of an earlier run, cannot be read any more.") from None


def _send_artefacts(
    event: dict[str, JsonValue], *, lease: RunLease, client: ApiClient, store: Store, known: set[str]
) -> None:
    new = [digest for digest, _ in artefacts_of(event) if digest not in known]
    for group in bundles.bundles(map(store.get, new)):
        client.run_objects(lease=lease, artefacts=group)
    known.update(new)


class _Pulse:
    """Sends heartbeats of a run in the background, and learns from them when it has ended."""

    def __init__(self, *, client: ApiClient, lease: RunLease) -> None:
        self._client, self._lease = client, lease
        self._over: AttemptOverError | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="run-heartbeats", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()

    def check(self) -> None:
        """Check that the run goes on.

        Raises:
            AttemptOverError: it has ended.
        """
        if self._over is not None:
            raise self._over

    def _run(self) -> None:
        while not self._stopping.wait(self._lease.heartbeat_seconds):
            try:
                self._client.run_events(lease=self._lease, events=RunEvents(), patience=0.0)
            except AttemptOverError as error:
                self._over = error
                return
            except (UnreachableError, RefusedError) as error:
                logger.warning("a heartbeat of a run failed: %s", error)
