"""Fetches the checkpoints of a profile from the hub, from addresses, or from a folder, then locks and verifies them.

Folders of weights are installed atomically from a staging folder. Interrupted downloads are resumed. The hub client's
variables set address, access token and offline mode: `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_OFFLINE`.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import httpx2  # the hub client's HTTP library, whose errors it propagates
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from evaluator.execution.experts.checkpoints import Checkpoint, FetchError, Locked, read_lock, write_lock
from evaluator.execution.experts.weights import WeightsError, file_digest, weights_files
from evaluator.network.bounded_answers import CompressedAnswerError, beginning_of, refuse_compressed
from evaluator.network.hub_client import (
    DESCRIPTION_BYTES,
    DESCRIPTION_SECONDS,
    download_limits,
    hub_limits,
    patiently,
    reason_of,
)
from evaluator.network.hub_files import needed_files
from evaluator.network.transient import server_error

_TIMEOUT = httpx.Timeout(60.0, connect=15.0)
_VALUE_BYTES = 4
"""Maximum size of a parameter."""
_HUB_ERRORS = (HfHubHTTPError, httpx2.HTTPError, OSError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A repository at one commit."""

    commit: str
    files: tuple[str, ...]
    """The needed files."""
    licence: str | None
    """The licence on its card."""
    bytes: int | None = None
    """Total size of these files; None: not declared by the hub."""


def resolve(*, item: Checkpoint, revision: str) -> Resolved:
    """The commit of a revision and its files, from the hub.

    Raises:
        FetchError: the hub is unreachable or refuses.
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
    """Download the needed files into a folder, resuming an interrupted download.

    Raises:
        FetchError: the hub is unreachable or refuses.
    """
    limit, seconds = download_limits(_VALUE_BYTES * item.values if resolved.bytes is None else resolved.bytes)
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
    """Download a checkpoint's single file, following redirects, and return its SHA-256.

    Raises:
        FetchError: the address is unreachable, refuses, or sends more than such a checkpoint can have.
    """
    from evaluator.network.guarded_connections import call_deadline
    from evaluator.network.ssrf_guard import operator_client

    url = str(item.url)
    most, seconds = download_limits(_VALUE_BYTES * item.values)
    until = time.monotonic() + seconds
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            call_deadline(until),
            operator_client(url=url, timeout=_TIMEOUT) as client,
            client.stream("GET", url, follow_redirects=True) as response,
        ):
            if response.status_code != httpx.codes.OK:
                error = server_error(response.status_code, body=beginning_of(response, until=until))
                raise FetchError(f"{url} answered {error}; {_advice(item)}")
            refuse_compressed(response)
            digest, received = hashlib.sha256(), 0
            with target.open("wb") as file:
                for chunk in response.iter_raw():
                    received += len(chunk)
                    if received > most:
                        raise OSError(f"it sent more than {most} bytes")
                    digest.update(chunk)
                    file.write(chunk)
            return digest.hexdigest()
    except (httpx.HTTPError, OSError, CompressedAnswerError) as error:
        raise FetchError(f"{url} could not be downloaded ({error or type(error).__name__}); {_advice(item)}") from None


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
        reason = f"{hub} did not give {source}: {reason_of(error)}"
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
        """Args:
        folder: folder of the profile's weights; created on demand.
        mirror: read files from this folder instead of the network: `owner/name/...` for repositories, file names for
            files.
        update: accept and lock bytes that differ from the lock file.
        report: prints progress.
        """
        self._folder = folder
        self._mirror = mirror
        self._update = update
        self._report = report

    def fetch(self, item: Checkpoint) -> Locked:
        """Fetch, verify and lock a checkpoint, unless the folder has it.

        Raises:
            FetchError: it cannot be fetched or contradicts the lock file; the folder is unchanged.
        """
        locked = read_lock(self._folder).get(item.name)
        if locked is not None and not self._update and problem_of(item=item, folder=self._folder) is None:
            self._report(f"{item.name}: {item.source} is there")
            return locked
        staging = self._folder / _STAGING / item.name
        target = staging / "made"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        fetched = self._gather(item=item, locked=locked, downloads=staging / "downloads", target=target)
        if locked is not None and not self._update:
            for name in sorted({*locked.files, *fetched.files}):
                if locked.files.get(name) != fetched.files.get(name):
                    raise FetchError(
                        f"{item.source}: {name} has SHA-256 {fetched.files.get(name)}, but the lock file says "
                        f"{locked.files.get(name)}; nothing was changed. If the new file is wanted, fetch with --update"
                    )
        installed = self._folder / item.name
        if installed.exists():
            installed.replace(staging / "old")
        target.replace(installed)
        write_lock(folder=self._folder, locked={**read_lock(self._folder), item.name: fetched})
        shutil.rmtree(staging, ignore_errors=True)
        return fetched

    def _gather(self, *, item: Checkpoint, locked: Locked | None, downloads: Path, target: Path) -> Locked:
        """Assemble the checkpoint's folder in `target`."""
        licence = None if locked is None else locked.licence
        if item.repo is None:
            source, revision = self._single_file(item=item, downloads=downloads)
            self._convert(source=source, target=target / "model.safetensors")
            (target / "config.json").write_text(json.dumps(dict(item.config), indent=1, sort_keys=True) + "\n")
        else:
            source, revision, card_licence = self._repository(item=item, locked=locked, downloads=downloads)
            licence = card_licence or licence
            self._copy(item=item, source=source, folder=target)
        try:
            files = weights_files(target)
        except WeightsError:
            raise FetchError(f"{item.source} has no weights that can be used") from None
        return Locked(revision=revision, files=files, source=item.source, licence=licence)

    def _single_file(self, *, item: Checkpoint, downloads: Path) -> tuple[Path, str]:
        """The file with the parameters, and its SHA-256."""
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
        """The folder of the repository's files, its commit, and the licence on its card."""
        if self._mirror is not None:
            path = self._mirror / str(item.repo)
            if not path.is_dir():
                raise FetchError(f"there is no folder {path} for {item.name}")
            # The commit of a folder is unknown; the digests of its files identify it.
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

    def _copy(self, *, item: Checkpoint, source: Path, folder: Path) -> None:
        """Copy the needed files of a repository, converting weights to safetensors."""
        names = [path.relative_to(source).as_posix() for path in sorted(source.rglob("*")) if path.is_file()]
        for name in needed_files(names=names, folders=item.folders):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".bin"):
                self._convert(source=source / name, target=target.with_name(_converted(target.name)))
            elif name.endswith(".bin.index.json"):
                _convert_index(source=source / name, folder=target.parent)
            else:
                shutil.copyfile(source / name, target)

    def _convert(self, *, source: Path, target: Path) -> None:
        # Imported here because it loads torch, and most repositories need no conversion.
        from evaluator.execution.experts.conversion import convert

        count = convert(source=source, target=target)
        self._report(f"converted {source.name}: {count} tensors")


def _converted(name: str) -> str:
    """The name of a `.bin` file, or of one part of many, after its conversion."""
    stem = name.removesuffix(".bin")
    return (stem if stem.startswith("diffusion_") else stem.replace("pytorch_", "", 1)) + ".safetensors"


def _convert_index(*, source: Path, folder: Path) -> None:
    """Write the index of converted parts: which part has which parameter.

    Raises:
        FetchError: the index is malformed.
    """
    try:
        index = json.loads(source.read_text(encoding="utf-8"))
        index["weight_map"] = {str(name): _converted(str(part)) for name, part in index["weight_map"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FetchError(f"{source} is no index of the parts of a checkpoint") from None
    name = source.name.removesuffix(".bin.index.json") + ".bin"
    (folder / f"{_converted(name)}.index.json").write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The download that a checkpoint still needs."""

    item: Checkpoint
    is_there: bool
    bytes: int
    """Size of the files to download; 0 if they are there. An estimate from the number of parameters where `is_exact` is
    false."""
    is_exact: bool
    layout: str
    """`safetensors`, or the format that is converted; empty if unknown."""
    licence: str | None
    """On the model card, if the hub was asked."""
    problem: str = ""
    """Why the hub could not be asked."""


def need_of(*, item: Checkpoint, folder: Path, mirror: Path | None = None, asks_hub: bool = True) -> Need:
    """The download that a checkpoint needs, from the hub's description or from a folder; nothing is downloaded.

    Raises:
        FetchError: the lock file is damaged.
    """
    if problem_of(item=item, folder=folder) is None:
        on_card = read_lock(folder)[item.name].licence
        return Need(item=item, is_there=True, bytes=0, is_exact=True, layout="safetensors", licence=on_card)
    names: tuple[str, ...] = ()
    size: int | None = None
    licence: str | None = None
    problem = ""
    if item.repo is None:
        names = (str(item.url).rpartition("/")[2],)
        path = None if mirror is None else mirror / names[0]
        size = path.stat().st_size if path is not None and path.is_file() else None
    elif mirror is not None:
        top = mirror / item.repo
        present = [path.relative_to(top).as_posix() for path in sorted(top.rglob("*")) if path.is_file()]
        names = needed_files(names=present, folders=item.folders)
        size = sum((top / name).stat().st_size for name in names) if names else None
    elif asks_hub:
        locked = read_lock(folder).get(item.name)
        try:
            resolved = resolve(item=item, revision=str(item.revision) if locked is None else locked.revision)
            names, size, licence = resolved.files, resolved.bytes, resolved.licence
        except FetchError as error:
            problem = str(error)
    return Need(
        item=item,
        is_there=False,
        bytes=_VALUE_BYTES * item.values if size is None else size,
        is_exact=size is not None,
        layout=_layout(names),
        licence=licence,
        problem=problem,
    )


def _layout(names: tuple[str, ...]) -> str:
    suffixes = {Path(name).suffix for name in names}
    return next((suffix.lstrip(".") for suffix in (".safetensors", ".bin", ".pth", ".pt") if suffix in suffixes), "")


def problem_of(*, item: Checkpoint, folder: Path) -> str | None:
    """The problem of a fetched checkpoint, as a phrase; None if it matches the lock file.

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
