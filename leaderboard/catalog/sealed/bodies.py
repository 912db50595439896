"""The encrypted parts of an entry of the sealed pool."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from evaluator.core.suites.sealed import SealedRequest
from leaderboard.catalog.models import SealedEntry
from leaderboard.platform.encryption import decrypt, encrypt, encrypt_again

PURPOSE = "sealed request"
"""Purpose of the encryption."""


class _Encrypted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def encrypted(self) -> str:
        """For the column.

        Raises:
            UnreadableSecretError: this process has no key.
        """
        return encrypt(self.model_dump_json(), purpose=PURPOSE)

    @classmethod
    def decrypted(cls, stored: str) -> Self:
        """From the column.

        Raises:
            UnreadableSecretError: no key decrypts it.
        """
        return cls.model_validate_json(decrypt(stored, purpose=PURPOSE))


class Body(_Encrypted):
    """A request with the goal that its author gave it."""

    text: Annotated[str, Field(repr=False)]
    goal: Annotated[str, Field(repr=False)]
    """Canonical JSON in the form of the suite."""
    credit: str
    """Who wrote it: a name, or that of a language model."""
    licence: str
    """Under which it is published when its season closes, or the consent that was given to it."""

    @property
    def request(self) -> SealedRequest:
        """As the library takes it."""
        return SealedRequest(text=self.text, goal=self.goal)


class Reading(_Encrypted):
    """What a parser or the reviewer read in a request."""

    reader: str
    """Name of the parser; of the reviewer "reviewer"."""
    plan: Annotated[str, Field(repr=False)]
    """In words, a line for each step."""
    agrees: bool
    """Whether it is the author's."""


class Findings(_Encrypted):
    """The readings of an entry."""

    author_plan: Annotated[str, Field(repr=False)]
    """In words, as `Reading.plan`."""
    readings: tuple[Reading, ...]


def body_of(entry: SealedEntry) -> Body:
    """Raises `UnreadableSecretError`."""
    return Body.decrypted(entry.body)


def findings_of(entry: SealedEntry) -> Findings | None:
    """None before parsers have read it; raises `UnreadableSecretError`."""
    return Findings.decrypted(entry.findings) if entry.findings else None


def encrypt_bodies_again(stored: str) -> str:
    """A column under the newest key; raises `UnreadableSecretError`."""
    return encrypt_again(stored, purpose=PURPOSE) if stored else stored
