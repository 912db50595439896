"""Opening an arbiter by its name, with its verdicts cached for all planners and shards that share a store.

Loaded when an evaluation begins: torch or a network client follows.
"""

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


_MOST_KEPT = 50_000
_OUTPUT = "settled"
LONGEST_TEXT = 2000
"""Characters of a text that an arbiter sees: what a plan says is a stranger's."""


class CachingArbiter:
    """An arbiter whose final verdicts are cached, in memory and in a store if there is one.

    The key of a verdict is the SHA-256 over the arbiter's identity and the pair.
    """

    def __init__(self, *, arbiter: Arbiter, open_store: "Callable[[], Store] | None" = None) -> None:
        self._arbiter = arbiter
        self._open_store = None if open_store is None else cache(open_store)
        self._kept: LRUCache[str, Settled] = LRUCache(maxsize=_MOST_KEPT)
        self._identity = arbiter.identity()

    def identity(self) -> Mapping[str, JsonValue]:
        """See `Arbiter`: that of the arbiter itself."""
        return self._identity

    def settle(self, questions: Sequence[Question]) -> Sequence[Settled]:
        """See `Arbiter`. Texts longer than `LONGEST_TEXT` are not settled."""
        return [self._settle(question) for question in questions]

    def _settle(self, question: Question) -> Settled:
        if max(len(question.wanted), len(question.given)) > LONGEST_TEXT:
            return Settled(verdict="undecided", problem=f"A text has more than {LONGEST_TEXT} characters.")
        key = self._key(question)
        if (settled := self._kept.get(key) or self._stored(key)) is None:
            (settled,) = self._arbiter.settle([question])
            if settled.is_final:
                self._store(key=key, settled=settled)
        if settled.is_final:
            self._kept[key] = settled
        return settled

    def _key(self, question: Question) -> str:
        texts = {"kind": question.kind, "wanted": question.wanted, "given": question.given}
        # Lone surrogates, which JSON can carry in, have no bytes.
        safe = {name: text.encode("utf-8", "backslashreplace").decode() for name, text in texts.items()}
        return digest({"arbiter": dict(self._identity), "pair": safe})

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
        # What cannot be kept is asked for once more.
        with suppress(OSError):
            store = self._open_store()
            reference = ArtefactReference(digest=store.put(artefact), media_type=MediaType.TEXT)
            store.put_step(key=key, outputs={_OUTPUT: reference})


def _read(data: bytes) -> Settled | None:
    """A stored verdict; None where the store has something else."""
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
    """The arbiter with this name. Its model is loaded, and its endpoint asked, only when there is a pair to settle.

    Args:
        name: of the arbiter.
        api_key: of a chat endpoint.
        device: torch device of a cross-encoder.
        open_store: opens what verdicts are kept in; None: they are kept in memory.

    Raises:
        ArbiterError: a folder has no weights.
    """
    if name.kind == "chat":
        from evaluator.scoring.arbiters.chat import ChatArbiter

        return CachingArbiter(arbiter=ChatArbiter(name=name, api_key=api_key), open_store=open_store)
    from evaluator.scoring.arbiters.cross_encoder import CrossEncoder

    return CachingArbiter(arbiter=CrossEncoder(name=name, device=device), open_store=open_store)
