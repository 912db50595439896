"""The commands of LUMOS's suites: fetching."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.cli.usage import usage_error
from evaluator.suites.lumos.maths import source as maths
from evaluator.suites.lumos.sql import source as sql
from evaluator.suites.released_files import FetchError, PublicFile, Release


def download_released(*, release: Release, target: Path) -> Mapping[str, str]:
    """Download a benchmark's released files into a folder.

    Raises:
        FetchError: the download failed, or the digests differ from the released ones; nothing was written.
    """
    # Imported here: no other command of this module needs a network client.
    from evaluator.downloads import DownloadError, download

    def released(file: PublicFile) -> bytes:
        try:
            return download(url=file.url, most_bytes=2 * file.bytes)
        except DownloadError as error:
            raise FetchError(f"{error}; --from DIR takes the files from a folder") from None

    return release.fetch(download=released, target=target)


def _fetching(release: Release) -> Callable[[Path | None], Mapping[Path, str]]:
    """Fetches the files into the data folder: from another folder, or from the network if that is None."""

    def fetch(folder: Path | None) -> Mapping[Path, str]:
        target = release.folder
        try:
            if folder is None:
                digests = download_released(release=release, target=target)
            else:
                digests = release.take(folder=folder, target=target)
        except FetchError as error:
            raise usage_error(error) from None
        return {target / name: digest for name, digest in digests.items()}

    return fetch


COMMANDS: Mapping[str, Callable[..., None]] = {}
RELEASED = {release.name: _fetching(release) for release in (maths.RELEASE, sql.RELEASE)}
