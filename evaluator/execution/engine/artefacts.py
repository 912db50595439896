"""Values and their artefacts between engine and store: an in-memory cache for reads, write-behind for writes.

Writes to disks and buckets are slow. Reads see objects that are still being written, and the engine yields a result
only when everything it names is written.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager

from evaluator.core.records import ArtefactReference
from evaluator.core.sounds import Sound
from evaluator.core.values import Artefact, Clip, Image, Masks, Value, decode, encode
from evaluator.execution.engine.store import Store

CACHE_BYTES = 256 * 2**20
_ITEM_BYTES = 400
"""Approximate size of an item in a list of findings."""


_LARGE_PICTURE = 128 * 128
"""In pixels. Smaller ones are encoded in less time than a thread takes."""
_FEWEST_LARGE = 2
_ENCODERS = 8
_READERS = 8
_MOST_AHEAD = 256
"""Values that are read before somebody asks for them."""


class Artefacts:
    """Converts values to references and back. Values are shared between callers: do not modify them."""

    def __init__(self, *, store: Store, cache_bytes: int = CACHE_BYTES) -> None:
        """Args:
        store: the store of artefacts.
        cache_bytes: size of the cache of decoded values.
        """
        # Imported here: installations that only list suites lack it.
        import cachetools

        self._store = store
        self._values: cachetools.LRUCache[str, Value] = cachetools.LRUCache(maxsize=cache_bytes, getsizeof=_weight)
        self._sizes: dict[str, tuple[int, int]] = {}
        self._encoded: dict[int, tuple[Image, Artefact]] = {}
        """Pictures that `keep` is about to get, by their ids."""
        self._ahead: dict[str, Future[Value]] = {}
        """By digest, values that threads read."""
        self._readers: ThreadPoolExecutor | None = None

    def read_ahead(self, references: Iterable[ArtefactReference]) -> None:
        """Read and decode values in threads, beside an expert that runs, for `value` and `extent`."""
        for reference in references:
            digest = reference.digest
            if digest in self._values or digest in self._ahead or len(self._ahead) >= _MOST_AHEAD:
                continue
            if self._readers is None:
                self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="read")
            self._ahead[digest] = self._readers.submit(self._read, digest)

    def close(self) -> None:
        """Forget what was read ahead and nobody asked for."""
        ahead, self._ahead = self._ahead, {}
        for future in ahead.values():
            future.cancel()
        if self._readers is not None:
            self._readers.shutdown(wait=True)
            self._readers = None

    def prepare(self, values: Iterable[object]) -> None:
        """Encode the large pictures among values in threads, for `keep`: Pillow encodes without Python's lock."""
        large = [value for value in values if isinstance(value, Image) and value.width * value.height >= _LARGE_PICTURE]
        self._encoded = {}
        if len(large) < _FEWEST_LARGE:
            return
        with ThreadPoolExecutor(min(len(large), _ENCODERS), thread_name_prefix="encode") as threads:
            artefacts = list(threads.map(encode, large))
        self._encoded = {id(value): (value, artefact) for value, artefact in zip(large, artefacts, strict=True)}

    def keep(self, value: Value) -> ArtefactReference:
        """Put a value into the store and return its reference.

        Raises:
            TypeError: the object is no value.
        """
        _, artefact = self._encoded.pop(id(value), (None, None))
        artefact = artefact or encode(value)
        reference = ArtefactReference(digest=self._store.put(artefact), media_type=artefact.media_type)
        # Equals the decoded artefact: PNG is lossless for RGB images. Findings are not cached, since they are rounded.
        if isinstance(value, Image):
            self._remember(digest=reference.digest, value=value.convert("RGB"))
        elif isinstance(value, str | Clip | Sound):
            self._remember(digest=reference.digest, value=value)
        return reference

    def value(self, reference: ArtefactReference) -> Value:
        """The value that a reference names.

        Raises:
            ObjectMissingError: it is not in the store.
            ObjectDamagedError: its stored bytes have another digest.
        """
        cached = self._values.get(reference.digest)
        if cached is not None:
            return cached
        ahead = self._ahead.pop(reference.digest, None)
        value = ahead.result() if ahead is not None else self._read(reference.digest)
        self._remember(digest=reference.digest, value=value)
        return value

    def _read(self, digest: str) -> Value:
        return decode(self._store.get(digest))

    def extent(self, reference: ArtefactReference) -> tuple[int, int] | int:
        """Width and height of an image or clip in pixels, the number of characters of a text or samples of a sound, or
        0 for findings.

        Raises the errors of `value`.
        """
        size = self._sizes.get(reference.digest)
        if size is not None:
            return size
        value = self.value(reference)
        if isinstance(value, Image | Clip):
            return value.size
        if isinstance(value, Sound):
            return len(value.samples)
        return len(value) if isinstance(value, str) else 0

    def _remember(self, *, digest: str, value: Value) -> None:
        if digest in self._values:
            return
        if isinstance(value, Image | Clip):
            self._sizes[digest] = value.size
        if _weight(value) <= self._values.maxsize:
            self._values[digest] = value


def _weight(value: Value) -> int:
    """Approximate size in memory, in bytes."""
    if isinstance(value, str):
        return 4 * len(value)
    if isinstance(value, Image):
        return 3 * value.width * value.height
    if isinstance(value, Clip):
        return value.frames.nbytes + (value.sound.samples.nbytes if value.sound is not None else 0)
    if isinstance(value, Sound):
        return value.samples.nbytes
    masks = sum(mask.pixels.nbytes for mask in value.items) if isinstance(value, Masks) else 0
    return masks + _ITEM_BYTES * (1 + len(value.items))


WAITING_BYTES = 64 * 2**20
"""Limit of pending objects. Further `put` calls block, so that a slow disk does not fill the memory."""


class WritesBehind:
    """A write-behind store. Reads see pending writes; `put` and `put_step` return at once.

    Errors of writes are raised by `written` and `flush`, until `close`. Writes to a store without `parallel_writes` are
    synchronous.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, Artefact] = {}
        self._writes: deque[Future[None]] = deque()
        """In the order of submission, without the finished ones at the front."""
        self._submitted = 0
        self._finished = 0
        self._error: BaseException | None = None
        self._bytes = 0
        self._less = threading.Condition()
        """Guards the number of pending bytes, and notifies when it falls."""
        self._threads: ThreadPoolExecutor | None = None

    def has(self, digest: str) -> bool:
        return digest in self._waiting or self._store.has(digest)

    def lacking(self, digests: Sequence[str]) -> list[str]:
        return self._store.lacking([digest for digest in digests if digest not in self._waiting])

    def get(self, digest: str) -> Artefact:
        return self._waiting.get(digest) or self._store.get(digest)

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        if digest not in self._waiting:
            with self._less:
                self._less.wait_for(lambda: self._bytes < WAITING_BYTES)
                self._bytes += len(artefact.data)
            self._waiting[digest] = artefact
            self._begin(self._write_object, digest, artefact)
        return digest

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        return [self.put(artefact) for artefact in artefacts]

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        return self._store.get_step(key)

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        self._begin(self._write_step, key, dict(outputs))

    def held(self) -> AbstractContextManager[None]:
        return self._store.held()

    @property
    def submitted(self) -> int:
        """The number of writes submitted so far, the argument of `written`."""
        return self._submitted

    def written(self, count: int) -> bool:
        """Whether the first `count` writes have finished. Raises the error of a failed write."""
        while self._writes and self._writes[0].done():
            self._settle(self._writes.popleft())
        if self._error is not None:
            raise self._error
        return self._finished >= count

    def flush(self) -> None:
        """Wait for all writes. Raises the error of a failed write."""
        self._finish()
        self.written(self._submitted)

    def close(self) -> None:
        """Wait for all writes and clear their error, so that a new run can start."""
        self._finish()
        self._error = None

    def _finish(self) -> None:
        while self._writes:
            write = self._writes.popleft()
            write.exception()
            self._settle(write)

    @property
    def parallel_writes(self) -> int:
        return self._store.parallel_writes

    def _settle(self, write: "Future[None]") -> None:
        self._finished += 1
        self._error = self._error or write.exception()

    def _begin(self, write: Callable[..., None], *arguments: object) -> None:
        self._submitted += 1
        if self._threads is None and self.parallel_writes:
            self._threads = ThreadPoolExecutor(self.parallel_writes, thread_name_prefix="store")
        if self._threads is None:
            write(*arguments)
            self._finished += 1
        else:
            self._writes.append(self._threads.submit(write, *arguments))

    def _write_object(self, digest: str, artefact: Artefact) -> None:
        try:
            self._store.put(artefact)
        finally:
            self._waiting.pop(digest, None)
            with self._less:
                self._bytes -= len(artefact.data)
                self._less.notify()

    def _write_step(self, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        # Other threads may not have written these yet; a step must not exist before its objects.
        for output in outputs.values():
            artefact = self._waiting.get(output.digest)
            if artefact is not None:
                self._store.put(artefact)
        self._store.put_step(key=key, outputs=outputs)
