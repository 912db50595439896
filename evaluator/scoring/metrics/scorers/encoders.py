"""The encoders behind scorers: their precision, and the embeddings of references, cached."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from cachetools import LRUCache

Embedding = TypeVar("Embedding")

MOST = 4096
"""How many embeddings a scorer caches; with the largest ones, of tokens, some hundred megabytes."""


class EmbeddingCache(LRUCache[str, Embedding]):
    """Embeddings by digest of the value. A cached embedding is the very tensor that was computed, so that scores do
    not depend on what is cached."""

    def __init__(self, *, maxsize: int = MOST) -> None:
        super().__init__(maxsize=maxsize)

    def all_of(
        self, *, digests: Iterable[str], references: Iterable[str], compute: Callable[[list[str]], list[Embedding]]
    ) -> dict[str, Embedding]:
        """The embedding of every digest. Computes what is missing in one call and caches it if it is a reference's.

        Args:
            compute: from digests to embeddings in the same order.
        """
        unique = list(dict.fromkeys(digests))
        embeddings = {digest: self[digest] for digest in unique if digest in self}
        missing = [digest for digest in unique if digest not in embeddings]
        if missing:
            embeddings |= zip(missing, compute(missing), strict=True)
        for digest in dict.fromkeys(references):
            self[digest] = embeddings[digest]
        return embeddings


_LARGEST = 100_000_000
"""Parameters. Larger models would need too much memory and time."""


def for_scoring(model: Any, *, device: str) -> Any:
    """The model in double precision on a CPU, if it is small enough; else as it is.

    In single precision a score's eighth digit depends on the number of threads, and a score next to the edge between
    two recorded values is rounded one way or the other.
    """
    small = sum(parameter.numel() for parameter in model.parameters()) <= _LARGEST
    return model.double() if small and torch.device(device).type == "cpu" else model
