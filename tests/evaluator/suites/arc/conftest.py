"""ARC's released files, which are no part of this repository."""

from pathlib import Path

import pytest

from evaluator.suites.arc.source import RELEASE

_CHECKOUT = Path(__file__).resolve().parents[4]
_PLACES = (
    # Test data beside the checkout; where `planarena suites fetch` puts the files by default.
    _CHECKOUT.parent / "shared" / "data" / "arc",
    _CHECKOUT / ".data" / "suites" / RELEASE.name,
)


@pytest.fixture(scope="session")
def released() -> Path:
    for folder in _PLACES:
        if all((folder / file.name).is_file() for file in RELEASE.files):
            return folder
    pytest.skip(f"no released files of ARC; run `planarena suites fetch {RELEASE.name}`")
