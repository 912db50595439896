"""Folders of weights: their files and digests, and verification before loading. Imports no torch."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock

from evaluator.core import canonical_json
from evaluator.core.expert import ExpertError

_NOT_COUNTED = frozenset({"card.md", "training.json"})
"""Files that document a model without affecting its output."""
_UNFETCHED = "unfetched:"


class WeightsError(ExpertError):
    """A folder of weights is missing, incomplete or not the expected one."""


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal. Streams, since checkpoints may exceed the memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class FileDigests:
    """SHA-256 of files, computed once for each identity of a file: path, device, inode, size, and the times of the last
    changes of content and status. The system keeps the last one, and nobody can set it back.

    Kept in memory, so that every process reads a file at least once; at most `MOST_DIGESTS`, and each for
    `DIGEST_SECONDS`. Threads may share an object.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, ...], tuple[float, str]] = OrderedDict()
        """By identity, when the file was read, in seconds of the monotonic clock, and the digest."""

    def __call__(self, path: Path) -> str:
        """SHA-256 of a file in hexadecimal; OSError if it cannot be read."""
        identity = _identity(path)
        with self._lock:
            read, digest = self._kept.get(identity, (-DIGEST_SECONDS, ""))
        began = time.monotonic()
        if digest and began - read < DIGEST_SECONDS:
            return digest
        digest = file_digest(path)
        # A change during the same tick of the file system's clock would leave the identity as it is.
        is_settled = time.time() - path.stat().st_ctime > SETTLED_SECONDS
        with self._lock:
            self._kept.pop(identity, None)
            if is_settled and _identity(path) == identity:
                self._kept[identity] = began, digest
            while len(self._kept) > MOST_DIGESTS:
                self._kept.popitem(last=False)
        return digest

    def forget(self) -> None:
        """Have every file read again."""
        with self._lock:
            self._kept.clear()


MOST_DIGESTS = 4096
DIGEST_SECONDS = 7 * 24 * 3600.0
SETTLED_SECONDS = 2.0
"""Age from which the times of a file identify its content. File systems count in up to two seconds."""


def _identity(path: Path) -> tuple[str, ...]:
    status = path.stat()
    facts = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return (str(path.resolve()), *map(str, facts))


known_digest = FileDigests()
"""The digests of the files that this process has read."""


def has_weights(folder: Path) -> bool:
    """Whether a folder has a model in the layout of `transformers`, possibly sharded, or of `diffusers`."""
    single = ("model.safetensors", "model.safetensors.index.json", "diffusion_pytorch_model.safetensors")
    if any((folder / name).is_file() for name in single):
        return True
    return (folder / "model_index.json").is_file() and any(folder.glob("*/*.safetensors"))


def weights_files(folder: Path, *, digest_of: Callable[[Path], str] = file_digest) -> dict[str, str]:
    """SHA-256 of each file that affects a model's output, by its path in the folder, with `/` as separator.

    Args:
        folder: folder of the model.
        digest_of: returns the SHA-256 of a file, which a caller may have cached.

    Raises:
        WeightsError: the folder does not exist or has no weights.
    """
    files = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    counted = {
        name.as_posix(): path
        for name, path in files.items()
        if path.name not in _NOT_COUNTED and not any(part.startswith(".") for part in name.parts)
    }
    if not has_weights(folder):
        raise WeightsError(f"there are no weights (model.safetensors, or model_index.json and its parts) in {folder}")
    return {name: digest_of(path) for name, path in counted.items()}


def digest_of_files(files: Mapping[str, str]) -> str:
    """SHA-256 over names and digests of the files of a folder, in hexadecimal."""
    return canonical_json.digest(dict(files))


def weights_digest(folder: Path, *, digest_of: Callable[[Path], str] = file_digest) -> str:
    """SHA-256 in hexadecimal over the names and contents of `weights_files`, with the same arguments and errors."""
    return digest_of_files(weights_files(folder, digest_of=digest_of))


def unfetched_digest(*, profile: str, source: str) -> str:
    """The placeholder digest of weights before their fetch: profile and source."""
    return f"{_UNFETCHED}{profile}:{source}"


def is_unfetched(digest: str) -> bool:
    """Whether a digest is a placeholder of weights that were not fetched."""
    return digest.startswith(_UNFETCHED)


def verify_weights(*, folder: Path, expected: str) -> None:
    """Raise WeightsError, with the remedy, unless a folder has exactly the weights of a profile.

    Reads files that this process has read and that did not change since only weekly (`known_digest`).
    """
    if is_unfetched(expected):
        profile, source = expected.removeprefix(_UNFETCHED).split(":", 1)
        raise WeightsError(f"{source} was not fetched yet; run `planarena profiles fetch {profile}`")
    digest = weights_digest(folder, digest_of=known_digest)
    if digest != expected:
        raise WeightsError(
            f"the weights in {folder} are not those of the profile: digest {digest[:16]}..., expected "
            f"{expected[:16]}... (a file was altered, added or removed; restore the folder, or train again "
            "and write a new lock file)"
        )
