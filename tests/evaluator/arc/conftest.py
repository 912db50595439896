"""ARC's released files, which are no part of this repository."""

from pathlib import Path

import pytest

from evaluator.arc.source import RELEASE
from tests.evaluator.core.suites.released_data import need


@pytest.fixture(scope="session")
def released() -> Path:
    return need(RELEASE, beside="arc")
