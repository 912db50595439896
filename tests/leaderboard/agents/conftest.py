"""The site with suites in turns."""

import pytest
from django.core.management import call_command

from evaluator.suites import registry
from tests.evaluator.episodes.turns import toy
from tests.leaderboard.planning import REAL


@pytest.fixture
def turns(monkeypatch, settings, launcher, tmp_path):
    """The site with the suites in turns."""
    monkeypatch.setenv(registry.VARIABLE, toy.__name__)
    registry.forget()
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    call_command("register_suites", verbosity=0)
    yield
    registry.forget()
