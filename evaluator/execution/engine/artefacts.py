"""Values and their artefacts, with the values used last kept in memory, so that the store is read once for each."""

from evaluator.core.records import ArtefactReference
from evaluator.core.values import Clip, Image, Masks, Value, decode, encode
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
        found = self._values.get(reference.digest)
        if found is not None:
            return found
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
