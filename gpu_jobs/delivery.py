"""Sends results while the work on a lease goes on: records in batches, preceded by their artefacts.

Artefacts are sent to the site or uploaded directly to its bucket, by requests that the site has signed. If a direct
upload fails, the artefact is sent to the site.
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
from evaluator.network.authorities import bundled_authorities
from evaluator.network.transient import (
    Backoff,
    TransientError,
    asked_to_wait,
    is_transient,
    retried,
    server_error,
)
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
"""Pause of direct uploads after the bucket could not be reached."""


class Known:
    """Cache of the artefacts that the site is known to have: leases share many.

    The site has a store for each split. If a store was replaced, an entry may be wrong: then the site names the missing
    artefacts in its response to the results.
    """

    def __init__(self, *, most: int = _MOST_KNOWN) -> None:
        self._most = most
        self._of_split: dict[str, dict[str, None]] = {}

    def unknown(self, *, split: str, digests: Iterable[str]) -> list[str]:
        """The artefacts that are not in the cache."""
        known = self._of_split.get(split, {})
        return [digest for digest in digests if digest not in known]

    def add(self, *, split: str, digests: Iterable[str]) -> None:
        """Add artefacts; the oldest ones are evicted."""
        known = self._of_split.setdefault(split, {})
        known.update(dict.fromkeys(digests))
        for digest in list(known)[: max(0, len(known) - self._most)]:
            del known[digest]

    def forget(self, *, split: str, digests: Iterable[str]) -> None:
        """Remove artefacts."""
        for digest in digests:
            self._of_split.get(split, {}).pop(digest, None)


class DirectUploads:
    """Uploads artefacts directly to the site's bucket. Reusable for many leases."""

    def __init__(
        self, *, transport: httpx.BaseTransport | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Args:
        transport: for tests.
        sleep: for tests.
        """
        self._transport = transport
        self._sleep = sleep
        self._again_at = 0.0
        """End of the pause, by the monotonic clock."""

    def send(self, *, client: ApiClient, lease: Lease, artefacts: Sequence[Artefact]) -> list[Artefact]:
        """Upload artefacts, which are free of secrets.

        Returns:
            Artefacts that were not uploaded, to be sent to the site.
        """
        if time.monotonic() < self._again_at:
            return list(artefacts)
        try:
            offers = {offer.digest: offer for offer in client.uploads(lease=lease, artefacts=artefacts)}
        except RefusedError as error:
            logger.warning("the site offers no direct uploads: %s", error)
            return list(artefacts)
        offered = [artefact for artefact in artefacts if artefact.digest in offers]
        if not offered:
            return list(artefacts)
        # Redirects are not followed: the offer is for one address. No credentials of the site are sent.
        with (
            httpx.Client(
                timeout=httpx.Timeout(60.0, connect=5.0),
                transport=self._transport,
                verify=bundled_authorities(),
                trust_env=False,
            ) as http,
            ThreadPoolExecutor(_THREADS, thread_name_prefix="upload") as pool,
        ):
            done = list(pool.map(lambda item: self._is_uploaded(http, offers[item.digest], item), offered))
        uploaded = {artefact.digest for artefact, is_done in zip(offered, done, strict=True) if is_done}
        return [artefact for artefact in artefacts if artefact.digest not in uploaded]

    def _is_uploaded(self, http: httpx.Client, offer: OfferedUpload, artefact: Artefact) -> bool:
        def once(_: int) -> str:
            """A permanent problem; empty if there is none."""
            try:
                response = http.put(offer.url, content=artefact.data, headers=offer.headers)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                self._again_at = time.monotonic() + _UNREACHED_SECONDS
                return type(error).__name__
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # Without the message, which may contain the signed address.
                raise TransientError(type(error).__name__) from None
            # Without the store's words, which may repeat the signature.
            status = "" if response.is_success else server_error(response.status_code).in_short
            if status and is_transient(response.status_code):
                raise TransientError(status, asked=asked_to_wait(response.headers))
            return status

        try:
            problem = retried(once, backoff=_BACKOFF, tries=_TRIES, sleep=self._sleep)
        except TransientError as error:
            problem = str(error)
        if problem:
            logger.warning("artefact %s is sent to the site: the direct upload failed (%s)", artefact.digest, problem)
        return not problem


class Delivery:
    """Sends records in batches in the background, each after its artefacts."""

    def __init__(
        self, *, client: ApiClient, lease: Lease, store: Store, known: Known | None = None,
        redact: Redactor | None = None, uploads: DirectUploads | None = None, every_seconds: float = 0.5,
    ) -> None:  # fmt: skip
        """Args:
        client: the API.
        lease: of the records.
        store: has the artefacts of the records.
        known: artefacts that the site has.
        redact: removes secrets from artefacts; None: no secrets are known.
        uploads: for direct uploads; None: a new one.
        every_seconds: interval of batches.
        """
        self.error: Exception | None = None
        """Permanent error of the background thread."""
        self._client = client
        self._lease = lease
        self._store = store
        self._known = known or Known()
        self._redact = redact or Redactor()
        self._uploads = uploads or DirectUploads()
        self._replaced: dict[str, str] = {}
        """Digests of artefacts with secrets, and of their replacements."""
        self._every = every_seconds
        self._waiting: queue.SimpleQueue[ResultRecord] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._keeps_the_rest = False
        self._attempt = traceparent()
        """The attempt's span, the parent of uploads."""
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
            AttemptOverError, RefusedError, UnreachableError: sending an earlier one failed permanently.
        """
        self._raise()
        self._waiting.put(record)

    def finish(self, *, timeout: float | None = None) -> None:
        """Send waiting records, and stop.

        Raises:
            AttemptOverError, RefusedError, UnreachableError: sending failed permanently.
            TimeoutError: it takes longer than `timeout` seconds.
        """
        self._closing.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError("sending the last results takes too long")
        self._raise()

    def rest(self) -> list[ResultRecord]:
        """Stop, send all records except the last batch, and return that after sending its artefacts.

        Raises:
            AttemptOverError, RefusedError, UnreachableError: sending failed permanently.
        """
        self._keeps_the_rest = True
        self.finish()
        batch = self._next_batch()
        while not self._waiting.empty():
            self._send(batch)
            batch = self._next_batch()
        return self._send_artefacts(batch)

    def send_missing(self, digests: Sequence[str]) -> None:
        """Send artefacts that the site was wrongly assumed to have."""
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
        except Exception as error:  # noqa: BLE001 - raised again in the main thread
            self.error = error

    def _flush(self) -> None:
        while batch := self._next_batch():
            self._send(batch)

    def send_each(self, batch: Sequence[ResultRecord]) -> None:
        """Send the records of a refused batch one by one. A record that is refused again becomes a fault of its task.

        Raises:
            AttemptOverError, RefusedError, UnreachableError: sending failed permanently.
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
        """Send artefacts of the records that the site does not have.

        Returns:
            The records, with the digests of redacted artefacts.
        """
        batch = [with_digests(record, replaced=self._replaced) for record in batch]
        named = dict.fromkeys(artefact.digest for record in batch for artefact in record.artefacts())
        digests = self._known.unknown(split=self._lease.split, digests=named)
        for start in range(0, len(digests), _DIGESTS_PER_CALL):
            some = digests[start : start + _DIGESTS_PER_CALL]
            answer = self._client.missing(lease=self._lease, digests=some)
            self._send_all(answer.missing, directly=answer.takes_uploads)
            self._known.add(split=self._lease.split, digests=[item for item in some if item not in self._replaced])
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
        """The redacted artefact. A replacement is stored, so that it can be sent again."""
        artefact = self._store.get(digest)
        clean = self._redact.in_artefact(artefact)
        if clean is not artefact:
            logger.warning("a secret of this attempt was removed from an artefact")
            self._replaced[digest] = clean.digest
            self._store.put(clean)
        return clean


def sendable(record: ResultRecord) -> ResultRecord:
    """The record, or a fault instead if it is not valid JSON, so that the other records can be sent."""
    try:
        canonical_json.dumps(record.model_dump(mode="json")).encode()
    except (ValueError, TypeError, RecursionError) as error:
        logger.error("the record of task %s cannot be sent: %s", record.task, error)
        why = "The record of this task was dropped: it contains a number or a text that cannot be stored."
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
