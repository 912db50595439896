"""Sending what is done while the work on a lease goes on: records in batches, and before them their artefacts.

Artefacts go to the site, or past it to the bucket that it keeps them in, by requests that the site has signed. Whatever
does not work there goes through the site, as does all for which the bucket's address is not reached.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import httpx

from evaluator.core import canonical_json
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.values import Artefact
from evaluator.execution.engine.store import Store
from evaluator.network.transient import Backoff, TransientError, asked_to_wait, is_transient, retried
from gpu_jobs import bundles
from gpu_jobs.client import ApiClient, ObjectsMissingError, RefusedError
from gpu_jobs.contract import Lease, OfferedUpload
from gpu_jobs.redaction import Redactor, with_digests
from gpu_jobs.tracing.spans import span, traceparent

logger = logging.getLogger(__name__)
_RECORDS_PER_CALL = 25
_DIGESTS_PER_CALL = 1000
_MOST_KNOWN = 20_000
_THREADS = 4
_TRIES = 3
_BACKOFF = Backoff(longest=1.0, longest_asked=10.0)
_UNREACHED_SECONDS = 300.0
"""For so long a bucket that was not reached at all is not tried again."""


class Known:
    """Artefacts that the site has, as far as a worker has seen: leases share many, and each need not ask again.

    The site has a store for each split. What is said here may be wrong, where a store was replaced: then the site names
    what it lacks when results come.
    """

    def __init__(self, *, most: int = _MOST_KNOWN) -> None:
        self._most = most
        self._of_split: dict[str, dict[str, None]] = {}

    def unknown(self, *, split: str, digests: Iterable[str]) -> list[str]:
        """Those of the artefacts of which nothing is known."""
        known = self._of_split.get(split, {})
        return [digest for digest in digests if digest not in known]

    def add(self, *, split: str, digests: Iterable[str]) -> None:
        """The site has these. What was added first is forgotten where there are too many."""
        known = self._of_split.setdefault(split, {})
        known.update(dict.fromkeys(digests))
        for digest in list(known)[: max(0, len(known) - self._most)]:
            del known[digest]

    def forget(self, *, split: str, digests: Iterable[str]) -> None:
        """The site does not have these."""
        for digest in digests:
            self._of_split.get(split, {}).pop(digest, None)


class DirectUploads:
    """Uploads what a site offers to take. May be kept for many leases."""

    def __init__(
        self, *, transport: httpx.BaseTransport | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Args:
        transport: how requests are sent; tests give a fake.
        sleep: how to wait between tries.
        """
        self._transport = transport
        self._sleep = sleep
        self._again_at = 0.0
        """Since the bucket was not reached, on the monotonic clock."""

    def send(self, *, client: ApiClient, lease: Lease, artefacts: Sequence[Artefact]) -> list[Artefact]:
        """Upload artefacts, which are free of secrets.

        Returns:
            Those that were not uploaded: they go through the site.
        """
        if time.monotonic() < self._again_at:
            return list(artefacts)
        try:
            offered = {one.digest: one for one in client.uploads(lease=lease, artefacts=artefacts)}
        except RefusedError as error:
            logger.warning("the site offers no direct uploads: %s", error)
            return list(artefacts)
        going = [artefact for artefact in artefacts if artefact.digest in offered]
        if not going:
            return list(artefacts)
        # No redirection is followed: the offer is for one address. Nothing of the site's is sent but the offer.
        with (
            httpx.Client(timeout=httpx.Timeout(60.0, connect=5.0), transport=self._transport, trust_env=False) as http,
            ThreadPoolExecutor(_THREADS, thread_name_prefix="upload") as pool,
        ):
            done = list(pool.map(lambda one: self._is_uploaded(http, offered[one.digest], one), going))
        uploaded = {artefact.digest for artefact, is_done in zip(going, done, strict=True) if is_done}
        return [artefact for artefact in artefacts if artefact.digest not in uploaded]

    def _is_uploaded(self, http: httpx.Client, offer: OfferedUpload, artefact: Artefact) -> bool:
        def once(_: int) -> str:
            """What is wrong, and will be; empty if nothing is."""
            try:
                answer = http.put(offer.url, content=artefact.data, headers=offer.headers)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                self._again_at = time.monotonic() + _UNREACHED_SECONDS
                return type(error).__name__
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # Without its message: that may hold the address, which is signed.
                raise TransientError(type(error).__name__) from None
            said = "" if answer.is_success else f"HTTP {answer.status_code}"
            if said and is_transient(answer.status_code):
                raise TransientError(said, asked=asked_to_wait(answer.headers))
            return said

        try:
            problem = retried(once, backoff=_BACKOFF, tries=_TRIES, sleep=self._sleep)
        except TransientError as error:
            problem = str(error)
        if problem:
            logger.warning("artefact %s goes through the site: uploading it failed (%s)", artefact.digest, problem)
        return not problem


class Delivery:
    """Sends records in batches while the next tasks run: first their artefacts, then the records."""

    def __init__(
        self, *, client: ApiClient, lease: Lease, store: Store, known: Known | None = None,
        redact: Redactor | None = None, uploads: DirectUploads | None = None, every_seconds: float = 0.5,
    ) -> None:  # fmt: skip
        """Args:
        client: the API.
        lease: what the records are of.
        store: has the artefacts that they name.
        known: artefacts that the site has.
        redact: takes secrets out of artefacts before they are sent; None: none are known.
        uploads: sends what may go past the site; None: one for this lease.
        every_seconds: how long records wait for others.
        """
        self.error: Exception | None = None
        """Why nothing more is sent."""
        self._client = client
        self._lease = lease
        self._store = store
        self._known = known or Known()
        self._redact = redact or Redactor()
        self._uploads = uploads or DirectUploads()
        self._replaced: dict[str, str] = {}
        """Digests of artefacts that held secrets, and those of what is sent in their place."""
        self._every = every_seconds
        self._waiting: queue.SimpleQueue[ResultRecord] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._keeps_the_rest = False
        self._attempt = traceparent()
        """The attempt's span, of which uploads are parts."""
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()

    def add(self, record: ResultRecord) -> None:
        """Send this record with the next batch.

        Raises:
            AttemptOverError, RefusedError, UnreachableError: sending an earlier one failed for good.
        """
        self._raise()
        self._waiting.put(record)

    def finish(self, *, timeout: float | None = None) -> None:
        """Send what waits, and stop.

        Raises:
            AttemptOverError, RefusedError, UnreachableError: sending failed for good.
            TimeoutError: it takes longer than `timeout` seconds.
        """
        self._closing.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError("sending the last results takes too long")
        self._raise()

    def rest(self) -> list[ResultRecord]:
        """Stop, send all but what fits into one call, and return that, ready to be sent and with its artefacts there.

        Raises:
            AttemptOverError, RefusedError, UnreachableError: sending failed for good.
        """
        self._keeps_the_rest = True
        self.finish()
        batch = self._next_batch()
        while not self._waiting.empty():
            self._send(batch)
            batch = self._next_batch()
        return self._send_artefacts(batch)

    def send_missing(self, digests: Sequence[str]) -> None:
        """Send artefacts that the site was thought to have."""
        self._known.forget(split=self._lease.split, digests=digests)
        self._send_all(digests)

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while not self._closing.wait(self._every):
                self._flush()
            if not self._keeps_the_rest:
                self._flush()
        except Exception as error:  # noqa: BLE001 - it is raised where the work is done
            self.error = error

    def _flush(self) -> None:
        while batch := self._next_batch():
            self._send(batch)

    def send_each(self, batch: Sequence[ResultRecord]) -> None:
        """Send records that were refused together one by one. One that is refused alone, too, costs its own task.

        Raises:
            AttemptOverError, RefusedError, UnreachableError: sending failed for good.
        """
        for record in batch:
            try:
                self._send_results([record])
            except RefusedError as error:
                if not error.is_about_content:
                    raise
                logger.error("the record of task %s was refused: %s", record.task, error)
                self._send_results([_fault_instead_of(record, why="The site refused the record of this task.")])

    def _send(self, batch: Sequence[ResultRecord]) -> None:
        with span("upload", parent=self._attempt, attributes={"records": len(batch)}):
            self._upload(batch)

    def _upload(self, batch: Sequence[ResultRecord]) -> None:
        batch = self._send_artefacts(batch)
        try:
            self._send_results(batch)
        except RefusedError as error:
            if not error.is_about_content:
                raise
            self.send_each(batch)

    def _send_results(self, batch: Sequence[ResultRecord]) -> None:
        try:
            self._client.results(lease=self._lease, records=batch)
        except ObjectsMissingError as error:
            self.send_missing(error.digests)
            self._client.results(lease=self._lease, records=batch)

    def _next_batch(self) -> list[ResultRecord]:
        batch: list[ResultRecord] = []
        while len(batch) < _RECORDS_PER_CALL:
            try:
                batch.append(sendable(self._waiting.get_nowait()))
            except queue.Empty:
                break
        return batch

    def _send_artefacts(self, batch: Sequence[ResultRecord]) -> list[ResultRecord]:
        """Send what the site lacks of the records' artefacts.

        Returns:
            The records as they are to be sent: they name what was sent in the place of artefacts with secrets.
        """
        batch = [with_digests(record, replaced=self._replaced) for record in batch]
        named = dict.fromkeys(artefact.digest for record in batch for artefact in record.artefacts())
        digests = self._known.unknown(split=self._lease.split, digests=named)
        for start in range(0, len(digests), _DIGESTS_PER_CALL):
            some = digests[start : start + _DIGESTS_PER_CALL]
            found = self._client.missing(lease=self._lease, digests=some)
            self._send_all(found.missing, directly=found.takes_uploads)
            self._known.add(split=self._lease.split, digests=[one for one in some if one not in self._replaced])
        return [with_digests(record, replaced=self._replaced) for record in batch]

    def _send_all(self, digests: Sequence[str], *, directly: bool = False) -> None:
        for group in bundles.bundles(self._without_secrets(digest) for digest in digests):
            rest = group
            if directly:
                rest = self._uploads.send(client=self._client, lease=self._lease, artefacts=group)
            if rest:
                self._client.send(lease=self._lease, artefacts=rest)
            self._known.add(split=self._lease.split, digests=[artefact.digest for artefact in group])

    def _without_secrets(self, digest: str) -> Artefact:
        """The artefact as it may be sent. What replaces one is kept, so that it can be sent again."""
        artefact = self._store.get(digest)
        clean = self._redact.in_artefact(artefact)
        if clean is not artefact:
            logger.warning("an artefact held a secret of this attempt, which was taken out")
            self._replaced[digest] = clean.digest
            self._store.put(clean)
        return clean


def sendable(record: ResultRecord) -> ResultRecord:
    """The record, or a fault in its place if it cannot be written as JSON: it must not take the others with it."""
    try:
        canonical_json.dumps(record.model_dump(mode="json")).encode()
    except (ValueError, TypeError, RecursionError) as error:
        logger.error("the record of task %s cannot be sent: %s", record.task, error)
        why = "The record of this task holds a number or a text that cannot be kept, so that it was dropped."
        return _fault_instead_of(record, why=why)
    return record


def _fault_instead_of(record: ResultRecord, *, why: str) -> ResultRecord:
    return ResultRecord(
        suite=record.suite,
        task=record.task,
        request=record.request,
        metric=record.metric,
        outcome=Outcome.INFRA_FAULT,
        reason=Reason.INTERNAL_ERROR,
        reason_text=why,
    )
