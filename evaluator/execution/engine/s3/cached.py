"""A store that is far away, with a local one in front of it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact
from evaluator.execution.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError, Store


class CachedStore:
    """A store that is far away, with a local one in front of it.

    Everything is in the far one, so that the near one may lose anything. What is deleted in the far one while the near
    one has it stays usable here and is not written again.
    """

    def __init__(self, *, near: LocalStore, far: Store) -> None:
        """Args:
        near: a folder that serves this far store only.
        far: where everything is kept.
        """
        self._near = near
        self._far = far
        self.parallel_writes = far.parallel_writes

    def has(self, digest: str) -> bool:
        return self._near.has(digest) or self._far.has(digest)

    def lacking(self, digests: Sequence[str]) -> list[str]:
        return [digest for digest in digests if not self.has(digest)]

    def get(self, digest: str) -> Artefact:
        try:
            return self._near.get(digest)
        except (ObjectMissingError, ObjectDamagedError):
            artefact = self._far.get(digest)
        self._near.put(artefact)
        return artefact

    def put(self, artefact: Artefact) -> str:
        digest = artefact.digest
        if not self._near.has(digest):
            self._far.put(artefact)
            self._near.put(artefact)
        return digest

    def put_all(self, artefacts: Sequence[Artefact]) -> list[str]:
        return [self.put(artefact) for artefact in artefacts]

    def get_step(self, key: str) -> dict[str, ArtefactReference] | None:
        outputs = self._near.get_step(key)
        if outputs is not None:
            return outputs
        outputs = self._far.get_step(key)
        if outputs is None:
            return None
        try:
            for output in outputs.values():
                self.get(output.digest)
        except (ObjectMissingError, ObjectDamagedError):
            return None
        self._near.put_step(key=key, outputs=outputs)
        return outputs

    def put_step(self, *, key: str, outputs: Mapping[str, ArtefactReference]) -> None:
        self._far.put_step(key=key, outputs=outputs)
        self._near.put_step(key=key, outputs=outputs)

    def held(self) -> AbstractContextManager[None]:
        return self._near.held()
