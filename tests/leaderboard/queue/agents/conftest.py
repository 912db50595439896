"""The site with suites in turns."""

import pytest

from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suites import registry
from leaderboard.catalog.services import register_suite
from tests.evaluator.episodes.turns import toy
from tests.leaderboard.planning import REAL


@pytest.fixture
def turns(monkeypatch, settings, launcher, tmp_path):
    """The site with the suites in turns."""
    monkeypatch.setenv(SUITES_VARIABLE, toy.__name__)
    registry.forget()
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    register_suite(toy.suite())
    yield
    registry.forget()
