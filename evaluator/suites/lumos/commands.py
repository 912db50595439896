"""Fetching the released files of LUMOS' suites."""

from collections.abc import Mapping
from pathlib import Path

from evaluator.cli.usage import usage_error
from evaluator.suites.lumos.maths.source import RELEASE as MATHS
from evaluator.suites.released_files import FetchError, PublicFile, Release

RELEASES: tuple[Release, ...] = (MATHS,)
COMMANDS: Mapping[str, object] = {}


def fetch_released(folder: Path | None) -> Mapping[Path, str]:
    """Fetch the released files into the data folder: from another folder, or from the network if that is None.

    Returns:
        SHA-256 of each file.

    Raises:
        typer.Exit: there is a file that is not the released one; nothing of its release was written.
    """
    found: dict[Path, str] = {}
    for release in RELEASES:
        target = release.folder()
        try:
            if folder is None:
                digests = release.fetch(download=_downloaded, target=target)
            else:
                digests = release.take(folder=folder, target=target)
        except FetchError as error:
            raise usage_error(error) from None
        found |= {target / name: digest for name, digest in digests.items()}
    return found


def _downloaded(file: PublicFile) -> bytes:
    # Imported here: no other command of this module needs a network client.
    from evaluator.downloads import DownloadError, download

    try:
        return download(url=file.url, most_bytes=2 * file.bytes)
    except DownloadError as error:
        raise FetchError(f"{error}; --from DIR takes the files from a folder") from None


RELEASED = {MATHS.name: fetch_released}
