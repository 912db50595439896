"""Language models from a model hub: settings, vocabulary and safetensors of one commit, in the hub client's cache.

The hub client's variables set address, access token, cache and offline mode: `HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME`,
`HF_HUB_OFFLINE`.
"""

from dataclasses import dataclass
from pathlib import Path

import httpx2  # the hub client's HTTP library, whose errors it propagates
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from evaluator.network.hub_client import (
    DESCRIPTION_BYTES,
    DESCRIPTION_SECONDS,
    download_limits,
    hub_limits,
    patiently,
    reason_of,
)
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.sandbox.admission.hub_lookup import language_model_files

MOST_BYTES = 200 * 10**9
"""Default limit of a model's files."""
_HUB_ERRORS = (HfHubHTTPError, httpx2.HTTPError, OSError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A repository at one commit, on this machine."""

    folder: Path
    commit: str
    licence: str = ""
    """As the hub states it; empty if it states none, or is away."""


def fetch_model(
    *, repo: str, revision: str, cache: Path | None = None, endpoint: str | None = None, most_bytes: int = MOST_BYTES
) -> Fetched:
    """The model's files at the commit that the revision names now, fetched where the cache lacks them.

    Downloads are bounded by the sizes that the hub declares, and by the time that a slow connection needs for them.

    Args:
        repo: `ORG/NAME`.
        revision: a commit, a branch or a tag.
        cache: replaces the hub client's cache.
        endpoint: replaces the hub's address.
        most_bytes: limit of the total size.

    Raises:
        ModelUnusableError: the hub has no such model for us, it has no safetensors, or it is too large.
        ModelError: the hub cannot deliver it now.
    """
    source = f"{repo}@{revision}"
    try:
        with hub_limits(most_bytes=DESCRIPTION_BYTES, seconds=DESCRIPTION_SECONDS, endpoint=endpoint):
            hub = HfApi(endpoint=endpoint)
            info = patiently(lambda: hub.model_info(repo, revision=revision, files_metadata=True))
    except (GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ModelUnusableError(_explained(source=source, error=error, endpoint=endpoint)) from None
    except _HUB_ERRORS as error:
        try:
            folder = Path(snapshot_download(repo, revision=revision, cache_dir=cache, local_files_only=True))
        except _HUB_ERRORS:
            folder = None
        if folder is None or not any(folder.glob("*.safetensors")):
            raise ModelError(_explained(source=source, error=error, endpoint=endpoint)) from None
        return Fetched(folder=folder, commit=folder.name)
    files = language_model_files([file.rfilename for file in info.siblings or ()])
    if not any(name.endswith(".safetensors") for name in files):
        raise ModelUnusableError(
            f"{source} has no safetensors; other forms of weights may run code and are not loaded."
        )
    # A file of undeclared size may take up the whole allowance.
    sizes = [file.size for file in info.siblings or () if file.rfilename in files]
    declared = most_bytes if None in sizes else sum(size or 0 for size in sizes)
    if declared > most_bytes:
        raise ModelUnusableError(f"{source} takes {declared} bytes; at most {most_bytes} are fetched here.")
    limit, seconds = download_limits(declared)
    try:
        with hub_limits(most_bytes=limit, seconds=seconds, endpoint=endpoint):
            downloaded = patiently(
                lambda: snapshot_download(
                    repo, revision=str(info.sha), allow_patterns=list(files), cache_dir=cache, endpoint=endpoint
                )
            )
    except _HUB_ERRORS as error:
        raise ModelError(_explained(source=source, error=error, endpoint=endpoint)) from None
    licences = [tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")]
    return Fetched(folder=Path(downloaded), commit=str(info.sha), licence=", ".join(licences)[:200])


def _explained(*, source: str, error: Exception, endpoint: str | None) -> str:
    hub = endpoint or constants.ENDPOINT
    if isinstance(error, GatedRepoError):
        return f"{source} wants its licence accepted at {hub}; then set HF_TOKEN."
    if isinstance(error, RevisionNotFoundError):
        return f"{hub} has no revision of that name: {source}."
    if isinstance(error, RepositoryNotFoundError):
        return f"{hub} has no model {source}, or not for you; HF_TOKEN gives access."
    return f"{source} cannot be fetched from {hub}: {reason_of(error)}."
