"""Language models from a model hub: settings, vocabulary and safetensors of one commit, in the hub client's own cache.

The hub's address, its access token, its cache and being offline are set as its client documents: `HF_ENDPOINT`,
`HF_TOKEN`, `HF_HOME`, `HF_HUB_OFFLINE`.
"""

from dataclasses import dataclass
from pathlib import Path

import httpx2  # what the hub's client speaks through, and whose errors it lets pass
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from evaluator.network.hub_client import DESCRIPTION_BYTES, DESCRIPTION_SECONDS, download_limits, hub_limits, patiently
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.sandbox.admission.hub_lookup import language_model_files

MOST_BYTES = 200 * 10**9
"""Of a model's files, unless the caller allows less."""
_HUB_ERRORS = (HfHubHTTPError, httpx2.HTTPError, OSError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A repository at one commit, on this machine."""

    folder: Path
    commit: str


def fetch_model(
    *, repo: str, revision: str, cache: Path | None = None, endpoint: str | None = None, most_bytes: int = MOST_BYTES
) -> Fetched:
    """The model's files at the commit that the revision names now; what the cache has is not fetched again.

    Downloads are bounded: by what the hub says the files take, and by the time that a slow connection needs for that.

    Args:
        repo: `ORG/NAME`.
        revision: a commit, a branch or a tag.
        cache: instead of the hub client's own.
        endpoint: instead of the hub's address.
        most_bytes: of the files together.

    Raises:
        ModelUnusableError: the hub has no such model for us, it has no safetensors, or it is too large.
        ModelError: the hub does not give it now.
    """
    source = f"{repo}@{revision}"
    try:
        with hub_limits(most_bytes=DESCRIPTION_BYTES, seconds=DESCRIPTION_SECONDS, endpoint=endpoint):
            hub = HfApi(endpoint=endpoint)
            info = patiently(lambda: hub.model_info(repo, revision=revision, files_metadata=True))
    except (GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ModelUnusableError(_explained(source=source, error=error, endpoint=endpoint)) from None
    except _HUB_ERRORS as error:
        found = _cached(repo=repo, revision=revision, cache=cache)
        if found is None:
            raise ModelError(_explained(source=source, error=error, endpoint=endpoint)) from None
        return found
    files = language_model_files([file.rfilename for file in info.siblings or ()])
    if not any(name.endswith(".safetensors") for name in files):
        raise ModelUnusableError(
            f"{source} has no safetensors; other forms of weights may run code and are not loaded."
        )
    # Where the hub does not say how large a file is, all that is allowed may be its.
    sizes = [file.size for file in info.siblings or () if file.rfilename in files]
    declared = most_bytes if None in sizes else sum(size or 0 for size in sizes)
    if declared > most_bytes:
        raise ModelUnusableError(f"{source} takes {declared} bytes; at most {most_bytes} are fetched here.")
    limit, seconds = download_limits(declared)
    try:
        with hub_limits(most_bytes=limit, seconds=seconds, endpoint=endpoint):
            folder = patiently(
                lambda: snapshot_download(
                    repo, revision=str(info.sha), allow_patterns=list(files), cache_dir=cache, endpoint=endpoint
                )
            )
    except _HUB_ERRORS as error:
        raise ModelError(_explained(source=source, error=error, endpoint=endpoint)) from None
    return Fetched(folder=Path(folder), commit=str(info.sha))


def _cached(*, repo: str, revision: str, cache: Path | None) -> Fetched | None:
    """What an earlier fetch left, where the hub cannot be reached."""
    try:
        folder = Path(snapshot_download(repo, revision=revision, cache_dir=cache, local_files_only=True))
    except _HUB_ERRORS:
        return None
    return Fetched(folder=folder, commit=folder.name) if any(folder.glob("*.safetensors")) else None


def _explained(*, source: str, error: Exception, endpoint: str | None) -> str:
    hub = endpoint or constants.ENDPOINT
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, GatedRepoError):
        return f"{source} wants its licence accepted at {hub}; then set HF_TOKEN."
    if isinstance(error, RevisionNotFoundError):
        return f"{hub} has no revision of that name: {source}."
    if isinstance(error, RepositoryNotFoundError):
        return f"{hub} has no model {source}, or not for you; HF_TOKEN gives access."
    return f"{source} cannot be fetched from {hub}: {first}."
