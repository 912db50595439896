"""Errors whose message is shown to callers. Rooms derive their own; `platform/api/errors.py` turns them into
responses."""

from collections.abc import Mapping
from typing import Any

from leaderboard.platform.hooks import Hook


class ProblemError(Exception):
    """The message is a sentence for the caller."""

    status = 409
    """HTTP status."""
    code = "refused"
    """Machine-readable code, documented in the API reference."""

    @property
    def sentence(self) -> str:
        """The message for callers."""
        return str(self)

    def facts(self) -> dict[str, Any]:
        """Additional members of the problem document."""
        return {}

    def headers(self) -> Mapping[str, str]:
        """Headers of the response, such as `Retry-After`."""
        return {}


refused: Hook[ProblemError] = Hook()
"""Called for each problem that the API returns, outside the failed transaction."""


class FieldErrors(Exception):
    """Error messages by field, for forms and the API. Nothing was changed."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{field}: {' '.join(texts)}" for field, texts in self.errors.items()))
