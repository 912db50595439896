"""Runs of the workbench: one request, whose events a worker sends while it works.

A run is leased like a shard and ends like one: a worker that is killed sends no more calls, and another one starts the
run again, which finds the executed steps in the store.
"""

from collections.abc import Iterator
from typing import Protocol

from evaluator.core.canonical_json import JsonValue
from evaluator.core.marks import MarkError, mark_of, placed
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Artefact, MediaType, decode
from evaluator.execution.engine.store import Store
from evaluator.workbench.events import Ending, Event, artefacts_of, ended
from evaluator.workbench.files import FileRefusedError, ReadFile, UploadedFile, read_upload
from evaluator.workbench.running import RunRequest
from gpu_jobs import bundles
from gpu_jobs.client import ApiClient, RefusedError
from gpu_jobs.contract import MOST_EVENTS_PER_CALL, RunEvents, RunFile, RunLease
from gpu_jobs.heartbeats import Heartbeats


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
    heartbeats = Heartbeats(
        beat=lambda: client.run_events(lease=lease, events=RunEvents(), patience=0.0),
        seconds=lease.heartbeat_seconds,
        name=f"run {lease.run}",
    )
    with heartbeats:
        for event in _events(lease, client=client, runner=runner):
            heartbeats.check()
            shown = event.to_json()
            _send_artefacts(shown, lease=lease, client=client, store=runner.store, known=known)
            client.run_events(lease=lease, events=RunEvents(first=sent, events=(shown,)))
            sent += 1
            if sent > MOST_EVENTS_PER_CALL * 10:
                raise RefusedError("a run has too many events")


def _events(lease: RunLease, *, client: ApiClient, runner: RequestRunner) -> Iterator[Event]:
    try:
        read = {file.name: _read(file, data=client.run_file(lease=lease, number=file.number)) for file in lease.files}
        files = {name: (file.type, file.value) for name, file in read.items()}
        sizes = {name: file.size for name, file in read.items() if file.size is not None}
        marks = [mark_of(mark.type, picture=mark.picture, at=mark.at) for mark in lease.marks]
        marked = placed(marks, files=files, sizes=sizes)
    except (FileRefusedError, MarkError) as error:
        yield ended(ending=Ending.FAILED, text=str(error))
        return
    request = RunRequest(
        text=lease.request, files={**files, **marked.resources}, marks=marked.given, sizes=sizes,
        plan=lease.plan, history=list(lease.history),
    )  # fmt: skip
    yield from runner.run_request(lease, request)


def _read(file: RunFile, *, data: bytes) -> ReadFile:
    if not file.media_type:
        return read_upload(UploadedFile(name=file.name, data=data))
    try:
        return ReadFile(ResourceType(file.type), decode(Artefact(data=data, media_type=MediaType(file.media_type))))
    except (ValueError, OSError):
        raise FileRefusedError(f"{file.name}, a result of an earlier run, cannot be read any more.") from None


def _send_artefacts(
    event: dict[str, JsonValue], *, lease: RunLease, client: ApiClient, store: Store, known: set[str]
) -> None:
    new = [digest for digest, _ in artefacts_of(event) if digest not in known]
    for group in bundles.bundles(map(store.get, new)):
        client.run_objects(lease=lease, artefacts=group)
    known.update(new)
