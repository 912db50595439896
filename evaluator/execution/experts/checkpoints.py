"""The released checkpoints of a profile: source, licence and size. Imports no torch.

`lock.json` beside the weights records each fetch: the commit, and the SHA-256 of every file. Later fetches use the same
commit and refuse other bytes.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.execution.experts.weights import digest_of_files, unfetched_digest

LOCK = "lock.json"


class FetchError(Exception):
    """A checkpoint cannot be fetched or is not the expected one. The message is a sentence for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A released model: a repository of a hub, or a single file at an address."""

    name: str
    """Name of its folder among the profile's weights."""
    licence: str
    """The authors' licence of the weights; if there is none, a remark and the licence of their code."""
    values: int
    """Number of parameters of the network as built here; times the bytes of a value, the memory that it takes."""
    repo: str | None = None
    """`owner/name` on the hub."""
    revision: str | None = None
    """A commit or its beginning; or a branch if no commit is known: then only the lock file pins it."""
    folders: tuple[str, ...] = ()
    """Folders of the repository that are needed besides its root, for pipelines."""
    url: str | None = None
    """Address of a single file with parameters, instead of a repository."""
    sha256: str | None = None
    """SHA-256 of that file, if known."""
    config: Mapping[str, object] = field(default_factory=dict)
    """Written as `config.json` beside a single file, which does not specify the network's sizes."""

    @property
    def source(self) -> str:
        """The source, for messages."""
        return f"{self.repo}@{self.revision}" if self.repo is not None else str(self.url)

    @property
    def is_pinned(self) -> bool:
        """Whether a commit or digest pins the checkpoint before the first fetch."""
        if self.repo is None:
            return self.sha256 is not None
        revision = str(self.revision)
        return len(revision) >= 7 and all(letter in "0123456789abcdef" for letter in revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """The lock of a fetched checkpoint."""

    revision: str
    """Commit of the repository, or SHA-256 of a single file."""
    files: Mapping[str, str]
    """SHA-256 of every file by its name in the folder."""
    source: str
    """The repository or address."""
    licence: str | None = None
    """The licence on the model's card at the time of the fetch."""

    @property
    def digest(self) -> str:
        """Digest of the whole folder, as by `weights_digest`."""
        return digest_of_files(self.files)

    def to_json(self) -> dict[str, object]:
        return {
            "digest": self.digest,
            "source": self.source,
            "revision": self.revision,
            "licence": self.licence,
            "files": dict(self.files),
        }


def weights_folder(profile: str) -> Path:
    """The folder of a profile's fetched weights.

    It is in the folder `PLANARENA_WEIGHTS`, by default `profiles` in `PLANARENA_DATA`, which is by default `.data`.
    """
    configured = os.environ.get("PLANARENA_WEIGHTS")
    root = Path(configured) if configured else Path(os.environ.get("PLANARENA_DATA", ".data")) / "profiles"
    return root / profile


def checkpoint(*, name: str, entry: Mapping[str, Any]) -> Checkpoint:
    """Parse a checkpoint's entry in a profile.

    Raises:
        LookupError: a setting is unknown, missing, or contradicts another.
    """
    settings = {"repo", "revision", "folders", "url", "sha256", "config", "licence", "values"}
    unknown = sorted(set(entry) - settings)
    if unknown:
        raise LookupError(f'checkpoint "{name}" has unknown settings: {", ".join(unknown)}')
    missing = sorted({"licence", "values"} - set(entry))
    if missing:
        raise LookupError(f'checkpoint "{name}" lacks {", ".join(missing)}')
    if ("repo" in entry) == ("url" in entry) or ("repo" in entry) != ("revision" in entry):
        raise LookupError(f'checkpoint "{name}" needs either repo and revision, or url')
    return Checkpoint(name=name, **{**entry, "folders": tuple(entry.get("folders", ()))})


def read_lock(folder: Path) -> dict[str, Locked]:
    """The locks of a folder of weights, by checkpoint; empty if there is no lock file.

    Raises:
        FetchError: the lock file is damaged.
    """
    path = folder / LOCK
    if not path.is_file():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Locked(
                revision=str(entry["revision"]),
                files={str(file): str(digest) for file, digest in entry["files"].items()},
                source=str(entry["source"]),
                licence=entry.get("licence"),
            )
            for name, entry in entries.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FetchError(
            f"the lock file {path} is damaged ({error}); restore it, or delete it and fetch again"
        ) from None


def write_lock(*, folder: Path, locked: Mapping[str, Locked]) -> None:
    """Write the lock file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({name: item.to_json() for name, item in locked.items()}, indent=1, sort_keys=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{LOCK}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content + "\n")
    Path(temporary).chmod(0o644)
    Path(temporary).replace(folder / LOCK)


def digest_of(*, item: Checkpoint, locked: Mapping[str, Locked], profile: str) -> str:
    """The digest of a checkpoint's folder, or its placeholder before the fetch."""
    entry = locked.get(item.name)
    return entry.digest if entry is not None else unfetched_digest(profile=profile, source=item.source)
