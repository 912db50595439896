"""Fixtures of the site's tests."""

import pytest

from tests.fakes.launcher import FakeLauncher, reset_launcher


@pytest.fixture
def launcher() -> FakeLauncher:
    """The launcher that the site uses in this test, with nothing started yet."""
    return reset_launcher()
