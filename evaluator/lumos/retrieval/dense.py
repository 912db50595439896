"""Dense retrieval: an article's paragraphs by the cosine of their embeddings with that of the query.

LUMOS ranks them by `dpr-reader-multiset-base`. Here an operator names a checkpoint of sentence-transformers, such as
all-MiniLM-L6-v2; without one, paragraphs are ranked by BM25. It runs on the processor, so that a GPU does not change
results.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import JsonValue
from evaluator.lumos.retrieval.articles import MAX_QUERY, VERSION, Ranking, RankingError

if TYPE_CHECKING:
    from evaluator.execution.experts.sentence_encoder import SentenceEncoder
    from evaluator.lumos.retrieval.articles import Ranker

VARIABLE = "PLANARENA_LUMOS_ENCODER"
DENSE_VERSION = 1
"""Version of the ranking; increase it when the results of a query may change."""
_DECIMALS = 5
"""Cosines that differ less are ties, because processors add in different orders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retriever:
    """The operator's choice of how `ParagraphRetrieve` ranks."""

    identity: JsonValue
    """Everything on which results depend; the version of the ranking by BM25."""
    facts: dict[str, JsonValue]
    """The model, for provenance; empty: BM25."""
    ranked: "Callable[[Sequence[str]], Ranker]"


class DenseRanking:
    """Ranks texts by their embeddings. The model is loaded with the first query."""

    def __init__(self, texts: Sequence[str], *, folder: Path, digest: str) -> None:
        self._texts, self._folder, self._digest = tuple(texts), folder, digest

    def best(self, query: str, *, count: int) -> tuple[int, ...]:
        """See `Ranker`: all texts match, and ties keep their order."""
        asked = query[:MAX_QUERY].strip()
        if not asked:
            return ()
        encoder = _encoder(self._folder, self._digest)
        cosines = [round(encoder.similarity(asked, text), _DECIMALS) for text in self._texts]
        return tuple(sorted(range(len(cosines)), key=lambda place: -cosines[place])[:count])


def configured_retriever() -> Retriever:
    """The retriever of the environment. Loads no model.

    Raises:
        LookupError: the folder has no model, or an unsupported one.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return Retriever(identity=VERSION, facts={}, ranked=Ranking)
    # Imported here, because most installations need no numpy for it.
    from evaluator.execution.experts.sentence_encoder import EmbeddingError, checkpoint_digest

    folder = Path(named)
    try:
        digest = checkpoint_digest(folder)
    except EmbeddingError as error:
        raise LookupError(f"{VARIABLE}: {error}") from None
    return Retriever(
        identity={"bm25": VERSION, "dense": DENSE_VERSION, "weights": digest},
        facts={"paragraph_encoder": {"name": folder.name, "weights": digest}},
        ranked=lambda texts: DenseRanking(texts, folder=folder, digest=digest),
    )


@lru_cache(maxsize=1)
def _encoder(folder: Path, digest: str) -> "SentenceEncoder":
    from evaluator.execution.experts.sentence_encoder import EmbeddingError, SentenceEncoder

    try:
        encoder = SentenceEncoder(folder=folder)
    except EmbeddingError:
        # The reason names a folder of the operator.
        raise RankingError(f"The embedding model {digest[:12]} of ParagraphRetrieve cannot be loaded.") from None
    if encoder.digest != digest:
        raise RankingError(f"The embedding model {digest[:12]} of ParagraphRetrieve has changed since the start.")
    return encoder
