"""Embeddings of references, computed once and kept for the next call."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Embedding = TypeVar("Embedding")

MOST = 4096
"""How many embeddings a scorer keeps; with the largest ones, of tokens, some hundred megabytes."""


class Kept(Generic[Embedding]):
    """A bounded memory by digest of the value; the one not asked for longest goes first.

    An embedding that is found here is the very tensor that was computed, so scores do not depend on what is kept.
    """

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._entries: OrderedDict[str, Embedding] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def all_of(
        self, *, digests: Iterable[str], references: Iterable[str], compute: Callable[[list[str]], list[Embedding]]
    ) -> dict[str, Embedding]:
        """The embedding of every digest; what is not kept is computed in one call, and kept if it is a reference's.

        Args:
            compute: from digests to embeddings in the same order.
        """
        wanted = list(dict.fromkeys(digests))
        found = {digest: self._entries[digest] for digest in wanted if digest in self._entries}
        missing = [digest for digest in wanted if digest not in found]
        if missing:
            found |= zip(missing, compute(missing), strict=True)
        for digest in dict.fromkeys(references):
            self._entries[digest] = found[digest]
            self._entries.move_to_end(digest)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)
        return found
