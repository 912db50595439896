"""Opens an arbiter by its name, and caches its verdicts for all planners and shards that share a store."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from cachetools import LRUCache

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact, MediaType
from evaluator.scoring.arbiters.base import Arbiter, ArbiterName, Question, Settled

if TYPE_CHECKING:
    from evaluator.execution.engine.store import Store


_CACHE_SIZE = 50_000
_OUTPUT = "settled"
LONGEST_TEXT = 2000
"""Most characters of a text for an arbiter, since texts of plans are untrusted."""


class CachingArbiter:
    """An arbiter whose final verdicts are cached, in memory and in a store if there is one.

    The key of a verdict is the SHA-256 over the arbiter's identity and the pair.
    """

    def __init__(self, *, arbiter: Arbiter, open_store: "Callable[[], Store] | None" = None) -> None:
        self._arbiter = arbiter
        self._open_store = None if open_store is None else cache(open_store)
        self._cache: LRUCache[str, Settled] = LRUCache(maxsize=_CACHE_SIZE)
        self._identity = arbiter.identity()

    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the cached arbiter."""
        return self._identity

    def settle(self, questions: Sequence[Question]) -> Sequence[Settled]:
        """See `Arbiter`. Texts longer than `LONGEST_TEXT` are not settled."""
        return [self._settle(question) for question in questions]

    def _settle(self, question: Question) -> Settled:
        if max(len(question.wanted), len(question.given)) > LONGEST_TEXT:
            return Settled(verdict="undecided", problem=f"A text has more than {LONGEST_TEXT} characters.")
        # JSON may have lone surrogates, which UTF-8 cannot encode.
        # Without the request, which no cached arbiter reads.
        texts = {"kind": question.kind, "wanted": question.wanted, "given": question.given}
        pair = {name: text.encode("utf-8", "backslashreplace").decode() for name, text in texts.items()}
        key = digest({"arbiter": dict(self._identity), "pair": pair})
        if (settled := self._cache.get(key) or self._stored(key)) is None:
            (settled,) = self._arbiter.settle([question])
            if settled.is_final:
                self._store(key=key, settled=settled)
        if settled.is_final:
            self._cache[key] = settled
        return settled

    def _stored(self, key: str) -> Settled | None:
        if self._open_store is None:
            return None
        from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError

        try:
            store = self._open_store()
            reference = (store.get_step(key) or {}).get(_OUTPUT)
            return None if reference is None else _read(store.get(reference.digest).data)
        except (ObjectMissingError, ObjectDamagedError, OSError):
            return None

    def _store(self, *, key: str, settled: Settled) -> None:
        if self._open_store is None:
            return
        fields = {"verdict": settled.verdict, "answers": list(settled.answers), "problem": settled.problem}
        artefact = Artefact(data=json.dumps(fields).encode(), media_type=MediaType.TEXT)
        # A verdict that cannot be stored is computed again.
        with suppress(OSError):
            store = self._open_store()
            reference = ArtefactReference(digest=store.put(artefact), media_type=MediaType.TEXT)
            store.put_step(key=key, outputs={_OUTPUT: reference})


def _read(data: bytes) -> Settled | None:
    """A stored verdict; None if the data is invalid."""
    try:
        fields = json.loads(data)
        if fields["verdict"] not in {"same", "different", "undecided"}:
            return None
        answers = tuple(str(answer) for answer in fields["answers"])
        return Settled(verdict=fields["verdict"], answers=answers, problem=str(fields["problem"]))
    except (ValueError, KeyError, TypeError):
        return None


def open_arbiter(
    name: ArbiterName, *, api_key: str = "", device: str = "cpu", open_store: "Callable[[], Store] | None" = None
) -> Arbiter:
    """The arbiter with this name. Its model is loaded with the first pair.

    Args:
        name: name of the arbiter.
        api_key: API key of a chat endpoint.
        device: torch device of a cross-encoder.
        open_store: opens the store for verdicts; None: only in memory.

    Raises:
        ArbiterError: a folder has no weights.
    """
    if name.kind == "chat":
        from evaluator.scoring.arbiters.chat import ChatArbiter

        return CachingArbiter(arbiter=ChatArbiter(name=name, api_key=api_key), open_store=open_store)
    from evaluator.scoring.arbiters.cross_encoder import CrossEncoder

    return CachingArbiter(arbiter=CrossEncoder(name=name, device=device), open_store=open_store)
