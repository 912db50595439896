"""A runner without experts: a score that follows from the task, one small artefact per task, at a given pace."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from evaluator.core.records import ArtefactReference, Outcome, ResultRecord, SampleResult
from evaluator.core.values import Artefact, encode
from evaluator.execution.engine.store import MemoryStore, Store
from evaluator.workbench.events import Ending, Event, ended, given
from evaluator.workbench.running import RunRequest
from gpu_jobs.contract import Lease, RunLease
from gpu_jobs.heartbeats import CurrentPhase
from gpu_jobs.planners import LeaseRefusedError


class FakeRunner:
    """Takes `pace` seconds for a task; refuses profiles with another digest, if one is given; may fail at a task."""

    def __init__(
        self,
        *,
        pace: float = 0.0,
        profile_digest: str = "",
        fails_at: str = "",
        store: Store | None = None,
        error: BaseException | None = None,
        makes: Callable[[str], Artefact] = lambda task: encode(f"answer to {task}"),
    ) -> None:
        self.store: Store = store or MemoryStore()
        self.phase = CurrentPhase()
        self.ran: list[str] = []
        self.received: list[RunRequest] = []
        self.idled = 0
        self.ready_for: list[tuple[str, str]] = []
        self._pace = pace
        self._profile_digest = profile_digest
        self._fails_at = fails_at
        self._makes = makes
        self._error = error or RuntimeError("the expert fell over")

    def run(self, lease: Lease) -> Iterator[ResultRecord]:
        if self._profile_digest and lease.profile_digest != self._profile_digest:
            raise LeaseRefusedError("the profiles differ.")
        for task in lease.tasks:
            time.sleep(self._pace)
            if task == self._fails_at:
                raise self._error
            self.ran.append(task)
            yield self._record(lease=lease, task=task)

    def run_request(self, lease: RunLease, request: RunRequest) -> Iterator[Event]:
        """Draws the request's text, and answers with it."""
        time.sleep(self._pace)
        if request.text == self._fails_at:
            raise self._error
        self.ran.append(request.text)
        self.received.append(request)
        artefact = self._makes(request.text)
        self.store.put(artefact)
        reference = ArtefactReference(digest=artefact.digest, media_type=artefact.media_type)
        yield given({name: (str(kind), reference) for name, (kind, _) in request.files.items()}, marks=request.marks)
        yield ended(ending=Ending.MADE, text=f"I echoed {request.text}.", answers=[reference])

    def get_ready(self, *, suite: str, profile: str) -> None:
        self.ready_for.append((suite, profile))

    def idle(self) -> None:
        self.idled += 1

    def provenance(self) -> dict[str, Any]:
        return {"fake": True}

    def _record(self, *, lease: Lease, task: str) -> ResultRecord:
        artefact = self._makes(task)
        self.store.put(artefact)
        reference = ArtefactReference(digest=artefact.digest, media_type=artefact.media_type)
        score = score_of(task)
        return ResultRecord(
            suite=lease.suite,
            task=task,
            request=f"Request {task}",
            metric="vit",
            outcome=Outcome.SCORED,
            score=score,
            samples=[SampleResult(index=0, score=score, inputs={}, reference=None, answer=reference, steps=[])],
        )


def score_of(task: str) -> float:
    """The score that the fake gives a task."""
    return int(task) / 100
