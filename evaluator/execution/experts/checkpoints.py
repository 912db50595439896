"""Released checkpoints that a profile names: where they come from, under which licence, how large. No torch here.

What was fetched is written down in `lock.json` beside the weights: the commit, and the SHA-256 of every file. From
then on the lock is what counts: the same commit is fetched again, and other bytes are refused.
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
    """A checkpoint could not be had or is not what it should be; the message is a sentence for who asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One released model. It comes from a repository of a hub or is a single file at an address."""

    name: str
    """Of its folder among the profile's weights."""
    licence: str
    """As the model's authors name it for the weights; where they name none, that and the licence of their code."""
    values: int
    """Parameters of the network as this repository builds it; times the bytes of a value, the memory it takes."""
    repo: str | None = None
    """`owner/name` on the hub."""
    revision: str | None = None
    """A commit or the beginning of one; or a branch, where no commit is known: then only the lock file pins it."""
    folders: tuple[str, ...] = ()
    """Folders of the repository that are needed besides its top, as pipelines have them."""
    url: str | None = None
    """Of a single file with parameters, instead of a repository."""
    sha256: str | None = None
    """Of that file, where it is known."""
    config: Mapping[str, object] = field(default_factory=dict)
    """Written as `config.json` beside a single file, which says nothing of its network's sizes."""

    @property
    def source(self) -> str:
        """Where it comes from, for messages."""
        return f"{self.repo}@{self.revision}" if self.repo is not None else str(self.url)

    @property
    def is_pinned(self) -> bool:
        """Whether what will be fetched is fixed before the first fetch: by a commit, or by the file's digest."""
        if self.repo is None:
            return self.sha256 is not None
        revision = str(self.revision)
        return len(revision) >= 7 and all(letter in "0123456789abcdef" for letter in revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """What was fetched for a checkpoint."""

    revision: str
    """Commit of the repository; of a single file, its SHA-256."""
    files: Mapping[str, str]
    """SHA-256 of every file by its name in the folder."""
    source: str
    """The repository or the address."""
    licence: str | None = None
    """What the model's card said when it was fetched."""

    @property
    def digest(self) -> str:
        """Of the whole folder, as `weights_digest` computes it."""
        return digest_of_files(self.files)

    def to_json(self) -> dict[str, object]:
        """The entry in the lock file."""
        return {
            "digest": self.digest,
            "source": self.source,
            "revision": self.revision,
            "licence": self.licence,
            "files": dict(self.files),
        }


def weights_folder(profile: str) -> Path:
    """Where a profile's fetched weights belong.

    `PLANARENA_WEIGHTS` names the folder for all profiles; without it they are `profiles` in `PLANARENA_DATA`, or in
    `.data` where that is not set either.
    """
    chosen = os.environ.get("PLANARENA_WEIGHTS")
    root = Path(chosen) if chosen else Path(os.environ.get("PLANARENA_DATA", ".data")) / "profiles"
    return root / profile


def checkpoint(*, name: str, entry: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint as a profile writes it.

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
    """What was fetched into a folder of weights, by checkpoint; nothing if there is no lock file.

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
    """Write the lock file, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({name: item.to_json() for name, item in locked.items()}, indent=1, sort_keys=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{LOCK}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content + "\n")
    Path(temporary).chmod(0o644)
    Path(temporary).replace(folder / LOCK)


def digest_of(*, item: Checkpoint, locked: Mapping[str, Locked], profile: str) -> str:
    """The digest of a checkpoint's folder, or what stands in its place as long as it was not fetched."""
    entry = locked.get(item.name)
    return entry.digest if entry is not None else unfetched_digest(profile=profile, source=item.source)
