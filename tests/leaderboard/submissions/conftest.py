"""Test calls of endpoints without a process for each."""

from typing import Any

import pytest

from evaluator.planners.trials import process


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test calls are made in this process, without its limits; the request and the trial are JSON all the same."""

    def call(name: str, request: Any, *, limits: object) -> Any:
        assert (name, limits is not None) == (process.__name__, True)
        return process._answer(request)

    monkeypatch.setattr(process, "call", call)
