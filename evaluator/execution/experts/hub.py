"""Getting files from a model hub or an address. The only place here that speaks to the network.

The hub's address, its access token and being offline are set as its own client documents: `HF_ENDPOINT`, `HF_TOKEN`,
`HF_HUB_OFFLINE`.
"""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import httpx2  # what the hub's client speaks through, and whose errors it lets pass
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from evaluator.execution.experts.checkpoints import Checkpoint, FetchError
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
    """What its parameters take, whatever their format."""
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
