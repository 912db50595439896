"""Refusals whose message callers may read. Rooms derive their own; `platform/api/errors.py` turns them into
responses."""

from collections.abc import Mapping
from typing import Any

from leaderboard.platform.hooks import Hook


class ProblemError(Exception):
    """The message is a sentence for the caller."""

    status = 409
    """Of the HTTP response."""
    code = "refused"
    """For programs; documented in the reference of the API."""

    @property
    def sentence(self) -> str:
        """What callers read."""
        return str(self)

    def facts(self) -> dict[str, Any]:
        """What the problem says besides its sentence."""
        return {}

    def headers(self) -> Mapping[str, str]:
        """Of the HTTP response, such as `Retry-After`."""
        return {}


refused: Hook[ProblemError] = Hook()
"""Called for each problem that the API answers with, outside the transaction that failed."""


class FieldErrors(Exception):
    """Sentences by field, as forms and the API show them. Nothing was changed."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{field}: {' '.join(texts)}" for field, texts in self.errors.items()))
