"""Scores in the store: who has the same answers and references again loads no scorer.

Kept as the output of a step whose inputs are the pairs, and evicted like one.
"""

import json
from collections.abc import Mapping, Sequence

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError, Store

_OUTPUT = "scores"

Pairs = Sequence[tuple[str, str]]
"""Digests of an answer and of its reference."""


def stored_scores(*, store: Store, facts: Mapping[str, JsonValue], pairs: Pairs) -> list[float] | None:
    """The scores of these pairs, in order; None if they are not known.

    Args:
        store: where they may be.
        facts: everything that they depend on besides the pairs (`metrics.scorers.scorer_facts`).
        pairs: what is compared.
    """
    found = store.get_step(_key(facts=facts, pairs=pairs))
    if found is None or _OUTPUT not in found:
        return None
    try:
        scores = json.loads(store.get(found[_OUTPUT].digest).data)
    except (ObjectMissingError, ObjectDamagedError, ValueError):
        return None
    is_whole = isinstance(scores, list) and len(scores) == len(pairs)
    return scores if is_whole and all(isinstance(score, float) for score in scores) else None


def store_scores(*, store: Store, facts: Mapping[str, JsonValue], pairs: Pairs, scores: Sequence[float]) -> None:
    """Keep the scores of these pairs, in order."""
    data = canonical_json.dumps([float(score) for score in scores]).encode()
    artefact = Artefact(data=data, media_type=MediaType.TEXT)
    digest = store.put(artefact)
    reference = ArtefactReference(digest=digest, media_type=artefact.media_type)
    store.put_step(key=_key(facts=facts, pairs=pairs), outputs={_OUTPUT: reference})


def _key(*, facts: Mapping[str, JsonValue], pairs: Pairs) -> str:
    return canonical_json.digest({"score": dict(facts), "pairs": [list(pair) for pair in pairs]})
