"""The released files of GSM8K and SVAMP, which are no part of this repository."""

from pathlib import Path

import pytest

from evaluator.suites.lumos.maths.source import RELEASE
from evaluator.suites.lumos.maths.tasks import read_gsm8k, read_svamp
from evaluator.suites.released_files import MANIFEST

_CHECKOUT = Path(__file__).resolve().parents[5]
_PLACES = (
    # Test data beside the checkout; where `planarena suites fetch` puts the files by default.
    _CHECKOUT.parent / "shared" / "data" / "lumos",
    _CHECKOUT / ".data" / "suites" / RELEASE.name,
)


@pytest.fixture(scope="session")
def released():
    for folder in _PLACES:
        if all((folder / file.name).is_file() for file in RELEASE.files):
            return folder
    pytest.skip(f"no released files of {RELEASE.name} and no {MANIFEST}; run `planarena suites fetch {RELEASE.name}`")


@pytest.fixture(scope="session")
def gsm8k(released):
    return read_gsm8k(released / "gsm8k_test.jsonl")


@pytest.fixture(scope="session")
def svamp(released):
    return read_svamp(released / "svamp_test.json")
