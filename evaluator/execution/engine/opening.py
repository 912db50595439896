"""Opens the store of a setting: a folder, or `s3://bucket/prefix` with a folder as its cache."""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from evaluator.core import canonical_json
from evaluator.core.records import ArtefactReference
from evaluator.core.values import Artefact
from evaluator.execution.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError, Store

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_size(text: str) -> int:
    """Bytes from `6GB`, `512 MiB` or a plain number; ValueError for other texts."""
    match = _SIZE.fullmatch(text)
    unit = match[2].upper() if match else None
    if match is None or unit not in _UNITS:
        raise ValueError(f"{text!r} is no size; write for example 6GB, 512MB or 2GiB")
    return int(float(match[1]) * _UNITS[unit])


def open_store(*, where: str, data: Path, max_bytes: int | None = None) -> Store:
    """The store of a setting.

    Args:
        where: a folder, or `s3://bucket/prefix`. `PLANARENA_S3_ENDPOINT` is the endpoint of a service other than
            Amazon's; credentials and region come from the usual AWS variables and files.
        data: folder of the local copies of buckets.
        max_bytes: limit of the folder or local copy; buckets have no limit.

    Raises:
        ValueError: the URL names no bucket, or its scheme is not `s3`.
    """
    if "://" not in where:
        return LocalStore(Path(where), max_bytes=max_bytes)
    if not where.startswith("s3://"):
        raise ValueError(f"{where!r} names no store; give a folder or s3://bucket/prefix")
    # Imported here: folders do not need boto3.
    from evaluator.execution.engine.s3.bucket import Bucket, place_from
    from evaluator.execution.engine.s3.store import S3Store

    place = place_from(where)
    near = data / "s3-copies" / canonical_json.digest([place.endpoint, where.rstrip("/")])[:16]
    return CachedStore(near=LocalStore(near, max_bytes=max_bytes), far=S3Store(Bucket(place=place)))


class CachedStore:
    """A remote store with a local store as its cache.

    The remote store has everything, so the cache may lose objects. An object that is deleted remotely while it is
    cached remains usable and is not written again.
    """

    def __init__(self, *, near: LocalStore, far: Store) -> None:
        """Args:
        near: the cache, used for this remote store only.
        far: the remote store.
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
