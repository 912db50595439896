"""Values and their artefacts between engine and store: an in-memory cache for reads, write-behind for writes.

Disks and buckets take their time over each object. A read finds an object that is still being written, and the engine
hands a result out only when everything it names is written.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager

from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact, Clip, Image, Masks, Value, decode, encode
from evaluator.execution.engine.store import Store

CACHE_BYTES = 256 * 2**20
_ITEM_BYTES = 400
"""About what one item of a list of findings takes."""


class Artefacts:
    """Turns values into references and back. Everybody gets the same object, so nobody may change one in place."""

    def __init__(self, *, store: Store, cache_bytes: int = CACHE_BYTES) -> None:
        """Args:
        store: where artefacts are.
        cache_bytes: how much of decoded values is kept in memory.
        """
        # Only what executes plans has it; suites are listed without.
        import cachetools

        self._store = store
        self._values: cachetools.LRUCache[str, Value] = cachetools.LRUCache(maxsize=cache_bytes, getsizeof=_weight)
        self._sizes: dict[str, tuple[int, int]] = {}

    def keep(self, value: Value) -> ArtefactReference:
        """Put a value into the store and return its reference.

        Raises:
            TypeError: the object is no value.
        """
        artefact = encode(value)
        reference = ArtefactReference(digest=self._store.put(artefact), media_type=artefact.media_type)
        # The same as decoding what was stored: PNG keeps every pixel of an RGB image. Findings are rounded.
        if isinstance(value, Image):
            self._remember(digest=reference.digest, value=value.convert("RGB"))
        elif isinstance(value, str | Clip):
            self._remember(digest=reference.digest, value=value)
        return reference

    def value(self, reference: ArtefactReference) -> Value:
        """The value that a reference names.

        Raises:
            ObjectMissingError: it is not in the store.
            ObjectDamagedError: what is there is something else.
        """
        cached = self._values.get(reference.digest)
        if cached is not None:
            return cached
        value = decode(self._store.get(reference.digest))
        self._remember(digest=reference.digest, value=value)
        return value

    def extent(self, reference: ArtefactReference) -> tuple[int, int] | int:
        """Width and height of an image or of a clip's frames in pixels, or the number of characters of a text, 0 for
        findings. Raises as `value` does."""
        size = self._sizes.get(reference.digest)
        if size is not None:
            return size
        value = self.value(reference)
        if isinstance(value, Image | Clip):
            return value.size
        return len(value) if isinstance(value, str) else 0

    def _remember(self, *, digest: str, value: Value) -> None:
        if digest in self._values:
            return
        if isinstance(value, Image | Clip):
            self._sizes[digest] = value.size
        if _weight(value) <= self._values.maxsize:
            self._values[digest] = value


def _weight(value: Value) -> int:
    """Bytes in memory."""
    if isinstance(value, str):
        return 4 * len(value)
    if isinstance(value, Image):
        return 3 * value.width * value.height
    if isinstance(value, Clip):
        return value.frames.nbytes
    masks = sum(one.pixels.nbytes for one in value.items) if isinstance(value, Masks) else 0
    return masks + _ITEM_BYTES * (1 + len(value.items))


WAITING_BYTES = 64 * 2**20
"""Of objects under way; whoever puts more waits, so that a slow disk does not fill the memory."""


class WritesBehind:
    """A store in front of another one. Reads find what is still to be written; `put` and `put_step` return at once.

    What a write raises is raised by `written` and `flush`, until `close`. A store that says 0 is written at once.
    """

    def __init__(self, store: Store) -> None:
        """Args:
        store: where everything is written; says by `parallel_writes` how many at a time.
        """
        self._store = store
        self._waiting: dict[str, Artefact] = {}
        self._writes: deque[Future[None]] = deque()
        """In the order in which they were asked for, without those that are over at the left."""
        self._asked = 0
        self._over = 0
        self._error: BaseException | None = None
        self._bytes = 0
        self._less = threading.Condition()
        """Guards the number of bytes under way, and says when there are fewer."""
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
    def asked(self) -> int:
        """How many writes were asked for so far: what `written` takes."""
        return self._asked

    def written(self, asked: int) -> bool:
        """Whether the first so many writes are over. Raises what one of them raised."""
        while self._writes and self._writes[0].done():
            self._settle(self._writes.popleft())
        if self._error is not None:
            raise self._error
        return self._over >= asked

    def flush(self) -> None:
        """Wait until everything is written. Raises what a write raised."""
        self._finish()
        self.written(self._asked)

    def close(self) -> None:
        """Wait until nothing is under way, whether it succeeded or not, and forget what failed: a new run may."""
        self._finish()
        self._error = None

    def _finish(self) -> None:
        while self._writes:
            write = self._writes.popleft()
            write.exception()
            self._settle(write)

    @property
    def parallel_writes(self) -> int:
        """As many as the store's."""
        return self._store.parallel_writes

    def _settle(self, write: "Future[None]") -> None:
        self._over += 1
        self._error = self._error or write.exception()

    def _begin(self, write: Callable[..., None], *arguments: object) -> None:
        self._asked += 1
        if self._threads is None and self.parallel_writes:
            self._threads = ThreadPoolExecutor(self.parallel_writes, thread_name_prefix="store")
        if self._threads is None:
            write(*arguments)
            self._over += 1
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
        # Another thread may be about to write these; a step must not be there before its objects.
        for output in outputs.values():
            artefact = self._waiting.get(output.digest)
            if artefact is not None:
                self._store.put(artefact)
        self._store.put_step(key=key, outputs=outputs)
