"""Commands that fetch the released files of a benchmark."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.core.commands.usage import usage_error
from evaluator.network.released_files import FetchError, Release


def fetching(release: Release) -> Callable[[Path | None], Mapping[Path, str]]:
    """A function for `RELEASED` of a suite's commands, which copies the files from a folder, or downloads them if it is
    None, to the data folder."""

    def fetch(folder: Path | None) -> Mapping[Path, str]:
        target = release.folder
        try:
            if folder is None:
                # Imported lazily: no other command needs a network client.
                from evaluator.network.downloads import download_released

                digests = release.fetch(download=download_released, target=target)
            else:
                digests = release.take(folder=folder, target=target)
        except FetchError as error:
            raise usage_error(error) from None
        return {target / name: digest for name, digest in digests.items()}

    return fetch
