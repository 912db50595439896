"""The commands of LUMOS's suites: fetching."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.cli.usage import usage_error
from evaluator.suites.lumos.maths import source as maths
from evaluator.suites.lumos.questions import source as questions
from evaluator.suites.lumos.sql import source as sql
from evaluator.suites.released_files import FetchError, Release


def _fetching(release: Release) -> Callable[[Path | None], Mapping[Path, str]]:
    """Fetches the files into the data folder: from another folder, or from the network if that is None."""

    def fetch(folder: Path | None) -> Mapping[Path, str]:
        target = release.folder
        try:
            if folder is None:
                # Imported here: no other command needs a network client.
                from evaluator.downloads import download_released

                digests = release.fetch(download=download_released, target=target)
            else:
                digests = release.take(folder=folder, target=target)
        except FetchError as error:
            raise usage_error(error) from None
        return {target / name: digest for name, digest in digests.items()}

    return fetch


COMMANDS: Mapping[str, Callable[..., None]] = {}
RELEASED = {release.name: _fetching(release) for release in (maths.RELEASE, questions.RELEASE, sql.RELEASE)}
