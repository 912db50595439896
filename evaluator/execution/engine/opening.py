"""Opening the store that a setting names: a folder, or `s3://bucket/prefix` with a folder in front of it."""

import re
from pathlib import Path

from evaluator.core import canonical_json
from evaluator.execution.engine.store import LocalStore, Store

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_size(text: str) -> int:
    """Bytes from `6GB`, `512 MiB` or a plain number.

    Raises:
        ValueError: the text is no size.
    """
    found = _SIZE.fullmatch(text)
    unit = found[2].upper() if found else None
    if found is None or unit not in _UNITS:
        raise ValueError(f"{text!r} is no size; write for example 6GB, 512MB or 2GiB")
    return int(float(found[1]) * _UNITS[unit])


def open_store(*, where: str, data: Path, max_bytes: int | None = None) -> Store:
    """The store that a setting names.

    Args:
        where: a folder, or `s3://bucket/prefix`. The endpoint of another service than Amazon's is taken from
            `PLANARENA_S3_ENDPOINT`, credentials and region from the usual AWS variables and files.
        data: folder in which the local copy of a bucket is kept.
        max_bytes: size of the folder, or of the local copy; a bucket has no limit here.

    Raises:
        ValueError: the URL names no bucket, or has another scheme than `s3`.
    """
    if "://" not in where:
        return LocalStore(Path(where), max_bytes=max_bytes)
    if not where.startswith("s3://"):
        raise ValueError(f"{where!r} names no store; give a folder or s3://bucket/prefix")
    # Imported here: folders do not need it.
    from evaluator.execution.engine.s3.bucket import Bucket, place_from
    from evaluator.execution.engine.s3.cached import CachedStore
    from evaluator.execution.engine.s3.store import S3Store

    place = place_from(where)
    near = data / "s3-copies" / canonical_json.digest([place.endpoint, where.rstrip("/")])[:16]
    return CachedStore(near=LocalStore(near, max_bytes=max_bytes), far=S3Store(Bucket(place=place)))
