"""Fetching the checkpoints of a profile: from the hub, from addresses, or from a folder; locked and verified.

A folder of weights appears whole or not at all: everything is gathered beside it first. What was downloaded before an
interruption is used again. The hub's address, its access token and being offline are set as its own client documents:
`HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_OFFLINE`.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import httpx2  # what the hub's client speaks through, and whose errors it lets pass
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from evaluator.execution.experts.checkpoints import Checkpoint, FetchError, Locked, read_lock, write_lock
from evaluator.execution.experts.weights import WeightsError, file_digest, weights_files
from evaluator.network.bounded_answers import CompressedAnswerError, refuse_compressed
from evaluator.network.hub_client import DESCRIPTION_BYTES, DESCRIPTION_SECONDS, download_limits, hub_limits, patiently
from evaluator.network.hub_files import needed_files

_TIMEOUT = httpx.Timeout(60.0, connect=15.0)
_VALUE_BYTES = 4
"""Of a parameter, at most."""
_HUB_ERRORS = (HfHubHTTPError, httpx2.HTTPError, OSError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A repository at one commit."""

    commit: str
    files: tuple[str, ...]
    """Those that are needed."""
    licence: str | None
    """What its card says."""
    bytes: int | None = None
    """Of these files together; None: the hub does not say."""


def resolve(*, item: Checkpoint, revision: str) -> Resolved:
    """Ask the hub for the commit behind a revision and its files.

    Raises:
        FetchError: the hub cannot be reached or does not give it.
    """
    try:
        with hub_limits(most_bytes=DESCRIPTION_BYTES, seconds=DESCRIPTION_SECONDS):
            info = patiently(lambda: HfApi().model_info(str(item.repo), revision=revision, files_metadata=True))
    except _HUB_ERRORS as error:
        raise _explained(item=item, error=error) from None
    card = info.card_data
    licence = str(card.license) if card is not None and card.license else None
    names = [file.rfilename for file in info.siblings or ()]
    files = needed_files(names=names, folders=item.folders)
    sizes = [file.size for file in info.siblings or () if file.rfilename in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    return Resolved(commit=str(info.sha), files=files, licence=licence, bytes=total)


def download_repository(*, item: Checkpoint, resolved: Resolved, folder: Path) -> None:
    """Download the needed files into a folder. What an interrupted call left there is continued.

    Raises:
        FetchError: the hub cannot be reached or does not give them.
    """
    limit, seconds = download_limits(_expected_bytes(item) if resolved.bytes is None else resolved.bytes)
    try:
        with hub_limits(most_bytes=limit, seconds=seconds):
            patiently(
                lambda: snapshot_download(
                    str(item.repo), revision=resolved.commit, local_dir=folder, allow_patterns=list(resolved.files)
                )
            )
    except _HUB_ERRORS as error:
        raise _explained(item=item, error=error) from None


def download_file(*, item: Checkpoint, target: Path) -> str:
    """Download a checkpoint's single file and return its SHA-256; redirects are followed.

    Raises:
        FetchError: the address cannot be reached, does not give it, or sends more than such a checkpoint can have.
    """
    from evaluator.network.guarded_connections import call_deadline
    from evaluator.network.ssrf_guard import operator_client

    url = str(item.url)
    most, seconds = download_limits(_expected_bytes(item))
    until = time.monotonic() + seconds
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            call_deadline(until),
            operator_client(url=url, timeout=_TIMEOUT) as client,
            client.stream("GET", url, follow_redirects=True) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise FetchError(f"{url} answered {response.status_code} {response.reason_phrase}; {_advice(item)}")
            refuse_compressed(response)
            return _saved(response, target=target, most_bytes=most)
    except (httpx.HTTPError, OSError, CompressedAnswerError) as error:
        raise FetchError(f"{url} could not be downloaded ({error or type(error).__name__}); {_advice(item)}") from None


def _saved(response: httpx.Response, *, target: Path, most_bytes: int) -> str:
    """Write the body to a file and return its SHA-256."""
    digest, received = hashlib.sha256(), 0
    with target.open("wb") as file:
        for chunk in response.iter_raw():
            received += len(chunk)
            if received > most_bytes:
                raise OSError(f"it sent more than {most_bytes} bytes")
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _expected_bytes(item: Checkpoint) -> int:
    """Upper bound of the size of its parameters, whatever their format."""
    return _VALUE_BYTES * item.values


def _advice(item: Checkpoint) -> str:
    where = f"{item.repo}/" if item.repo is not None else str(item.url).rpartition("/")[2]
    return f"with --from DIR it is taken from DIR/{where}"


def _explained(*, item: Checkpoint, error: Exception) -> FetchError:
    hub, source = constants.ENDPOINT, item.source
    if isinstance(error, GatedRepoError):
        reason = f"{source} wants its licence accepted at {hub}/{item.repo}; then set HF_TOKEN"
    elif isinstance(error, RevisionNotFoundError):
        reason = f"{hub} has no revision {item.revision!r} of {item.repo}"
    elif isinstance(error, RepositoryNotFoundError):
        reason = f"{hub} has no model {item.repo}, or not for you; HF_TOKEN gives access"
    elif isinstance(error, HfHubHTTPError):
        reason = f"{hub} did not give {source}: {str(error).splitlines()[0]}"
    else:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = f"the hub {hub} cannot be reached for {source} ({why})"
    return FetchError(f"{reason}; {_advice(item)}")


_STAGING = ".incoming"
Report = Callable[[str], None]
"""Prints a line of progress."""


class Fetcher:
    """Fetches checkpoints into one folder of weights."""

    def __init__(
        self, *, folder: Path, mirror: Path | None = None, update: bool = False, report: Report = print
    ) -> None:
        """Prepare to fetch.

        Args:
            folder: of the profile's weights; made if need be.
            mirror: take files from here and use no network: `owner/name/...` for repositories, file names for files.
            update: accept other bytes than those in the lock file, and lock them.
            report: prints progress.
        """
        self._folder = folder
        self._mirror = mirror
        self._update = update
        self._report = report

    def fetch(self, item: Checkpoint) -> Locked:
        """Have a checkpoint in the folder, verified and locked.

        Raises:
            FetchError: it cannot be had, or is not what the lock file says; the folder is as it was.
        """
        locked = read_lock(self._folder).get(item.name)
        if locked is not None and not self._update and self._is_there(item=item, locked=locked):
            self._report(f"{item.name}: {item.source} is there")
            return locked
        staging = self._folder / _STAGING / item.name
        target = staging / "made"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        fetched = self._gather(item=item, locked=locked, downloads=staging / "downloads", target=target)
        if locked is not None and not self._update:
            _require_same(item=item, locked=locked, fetched=fetched)
        self._install(item=item, new=target, fetched=fetched)
        shutil.rmtree(staging, ignore_errors=True)
        return fetched

    def _is_there(self, *, item: Checkpoint, locked: Locked) -> bool:
        try:
            return weights_files(self._folder / item.name) == dict(locked.files)
        except WeightsError:
            return False

    def _gather(self, *, item: Checkpoint, locked: Locked | None, downloads: Path, target: Path) -> Locked:
        """Put the checkpoint's folder together in `made`."""
        licence = None if locked is None else locked.licence
        if item.repo is None:
            source, revision = self._single_file(item=item, downloads=downloads)
            self._convert(source=source, target=target / "model.safetensors")
            (target / "config.json").write_text(json.dumps(dict(item.config), indent=1, sort_keys=True) + "\n")
        else:
            source, revision, card_licence = self._repository(item=item, locked=locked, downloads=downloads)
            licence = card_licence or licence
            self._copy(item=item, source=source, made=target)
        try:
            files = weights_files(target)
        except WeightsError:
            raise FetchError(f"{item.source} has no weights that can be used") from None
        return Locked(revision=revision, files=files, source=item.source, licence=licence)

    def _single_file(self, *, item: Checkpoint, downloads: Path) -> tuple[Path, str]:
        """The file with parameters, and its SHA-256."""
        name = str(item.url).rpartition("/")[2]
        if self._mirror is not None:
            path = self._mirror / name
            if not path.is_file():
                raise FetchError(f"there is no {path} for {item.name}")
            digest = file_digest(path)
        else:
            path = downloads / name
            self._report(f"{item.name}: downloading {item.url}")
            digest = download_file(item=item, target=path)
        if item.sha256 is not None and digest != item.sha256:
            raise FetchError(f"{path} is not the released {name}: SHA-256 {digest}, released {item.sha256}")
        return path, digest

    def _repository(self, *, item: Checkpoint, locked: Locked | None, downloads: Path) -> tuple[Path, str, str | None]:
        """The folder with the repository's files, its commit, and the licence on its card."""
        if self._mirror is not None:
            path = self._mirror / str(item.repo)
            if not path.is_dir():
                raise FetchError(f"there is no folder {path} for {item.name}")
            # A folder does not say which commit it is; the digests of its files do in its place.
            return path, str(item.revision) if locked is None else locked.revision, None
        revision = str(item.revision) if locked is None or self._update else locked.revision
        resolved = resolve(item=item, revision=revision)
        if item.is_pinned and not resolved.commit.startswith(str(item.revision)):
            raise FetchError(f"the hub answered commit {resolved.commit} for {item.source}")
        self._report(f"{item.name}: downloading {item.repo} at {resolved.commit} ({len(resolved.files)} files)")
        download_repository(item=item, resolved=resolved, folder=downloads)
        missing = [name for name in resolved.files if not (downloads / name).is_file()]
        if missing:
            raise FetchError(f"{item.source} was not downloaded completely, {missing[0]} is missing; run it again")
        return downloads, resolved.commit, resolved.licence

    def _copy(self, *, item: Checkpoint, source: Path, made: Path) -> None:
        """Copy what is needed of a repository; weights that are no safetensors yet are converted."""
        names = [path.relative_to(source).as_posix() for path in sorted(source.rglob("*")) if path.is_file()]
        for name in needed_files(names=names, folders=item.folders):
            target = made / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".bin"):
                stem = "model" if target.name == "pytorch_model.bin" else "diffusion_pytorch_model"
                self._convert(source=source / name, target=target.with_name(f"{stem}.safetensors"))
            else:
                shutil.copyfile(source / name, target)

    def _convert(self, *, source: Path, target: Path) -> None:
        # Imported here: it loads torch, and most repositories need no conversion.
        from evaluator.execution.experts.conversion import convert

        count = convert(source=source, target=target)
        self._report(f"converted {source.name}: {count} tensors")

    def _install(self, *, item: Checkpoint, new: Path, fetched: Locked) -> None:
        """Put the new folder in the old one's place, then lock it."""
        target, old = self._folder / item.name, new.with_name("old")
        if target.exists():
            target.replace(old)
        new.replace(target)
        write_lock(folder=self._folder, locked={**read_lock(self._folder), item.name: fetched})


def problem_of(*, item: Checkpoint, folder: Path) -> str | None:
    """What is wrong with a fetched checkpoint, as a sentence, or None if it is as locked.

    Raises:
        FetchError: the lock file is damaged.
    """
    locked = read_lock(folder).get(item.name)
    if locked is None:
        return "was not fetched"
    try:
        files = weights_files(folder / item.name)
    except WeightsError as error:
        return str(error)
    changed = sorted(name for name in {*files, *locked.files} if files.get(name) != locked.files.get(name))
    return f"{changed[0]} is not the file that was fetched" if changed else None


def _require_same(*, item: Checkpoint, locked: Locked, fetched: Locked) -> None:
    for name in sorted({*locked.files, *fetched.files}):
        if locked.files.get(name) != fetched.files.get(name):
            raise FetchError(
                f"{item.source}: {name} has SHA-256 {fetched.files.get(name)}, but the lock file says "
                f"{locked.files.get(name)}; nothing was changed. If the new file is wanted, fetch with --update"
            )
