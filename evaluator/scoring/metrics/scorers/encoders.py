"""Encoders of scorers: their precision, and a cache for embeddings of references."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from cachetools import LRUCache

Embedding = TypeVar("Embedding")

MOST = 4096
"""Most embeddings in the cache of a scorer; token embeddings, the largest, take some hundred megabytes."""


class EmbeddingCache(LRUCache[str, Embedding]):
    """Embeddings by digest of the value. Cached tensors are unchanged, so that the cache does not affect scores."""

    def __init__(self, *, maxsize: int = MOST) -> None:
        super().__init__(maxsize=maxsize)

    def all_of(
        self, *, digests: Iterable[str], references: Iterable[str], compute: Callable[[list[str]], list[Embedding]]
    ) -> dict[str, Embedding]:
        """The embedding of every digest. Computes the missing ones in one call, and caches those of references.

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
"""Parameters. Larger models would need too much memory and time in double precision."""


def for_scoring(model: Any, *, device: str) -> Any:
    """The model in double precision on a CPU, if it is small enough; else unchanged.

    In single precision the eighth digit of a score depends on the number of threads, and rounded scores may
    differ.
    """
    small = sum(parameter.numel() for parameter in model.parameters()) <= _LARGEST
    return model.double() if small and torch.device(device).type == "cpu" else model
