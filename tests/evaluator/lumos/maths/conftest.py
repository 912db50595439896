"""The released files of GSM8K and SVAMP, which are no part of this repository."""

import pytest

from evaluator.lumos.maths.source import RELEASE
from evaluator.lumos.maths.tasks import read_gsm8k, read_svamp
from tests.evaluator.core.suites.released_data import need


@pytest.fixture(scope="session")
def released():
    return need(RELEASE, beside="lumos")


@pytest.fixture(scope="session")
def gsm8k(released):
    return read_gsm8k(released / "gsm8k_test.jsonl")


@pytest.fixture(scope="session")
def svamp(released):
    return read_svamp(released / "svamp_test.json")
