"""A store for all tests with real experts."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store for all tests here: experts work once on each input."""
    return tmp_path_factory.mktemp("store")
