"""Where tests find released files, which are no part of this repository."""

from pathlib import Path

import pytest

from evaluator.network.released_files import Release

_CHECKOUT = Path(__file__).resolve().parents[4]


def need(release: Release, *, beside: str) -> Path:
    """The folder with all files of a release, or the running test is skipped with the command that fetches them.

    Args:
        release: whose files are needed.
        beside: name of its folder in the test data beside the checkout.
    """
    # Tests have a data folder of their own; `planarena suites fetch` puts the files into the second one by default.
    for folder in (_CHECKOUT.parent / "shared" / "data" / beside, _CHECKOUT / ".data" / "suites" / release.name):
        if all((folder / file.name).is_file() for file in release.files):
            return folder
    pytest.skip(f"no released files of {release.name}; run `planarena suites fetch {release.name}`")
