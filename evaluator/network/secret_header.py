"""A secret header for a planner's endpoint, such as `Authorization`."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluator.core.canonical_json import JsonValue

SHORTEST_VALUE = 8
"""Removing a shorter value from texts would also remove words."""
LONGEST_VALUE = 4096
LONGEST_NAME = 100
HIDDEN = "***"

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
"""RFC 9110, section 5.6.2."""
_OF_HTTP = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "date",
        "expect", "host", "keep-alive", "origin", "proxy-authenticate", "proxy-authorization", "proxy-connection",
        "referer", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via",
    }
)  # fmt: skip
"""Headers of the connection itself (RFC 9110, sections 7.6.1 and 8), or that identify the caller."""


@dataclass(frozen=True, slots=True)
class SecretHeader:
    """Name and value. The `repr` omits the value, so that logs do not reveal it."""

    name: str
    value: str = field(repr=False)

    def as_headers(self) -> Mapping[str, str]:
        """The header as a mapping."""
        return {self.name: self.value}

    def secrets(self) -> tuple[str, ...]:
        """All secret texts, the longest first: the value, and the credentials in it."""
        texts = {self.value, *self._credentials()}
        return tuple(sorted((text for text in texts if len(text) >= SHORTEST_VALUE), key=len, reverse=True))

    def taken_out_of(self, text: str) -> str:
        """The text without the secret."""
        for secret in self.secrets():
            text = text.replace(secret, HIDDEN)
        return text

    def taken_out_of_json(self, value: JsonValue) -> JsonValue:
        """The value without the secret in any text or key."""
        if isinstance(value, str):
            return self.taken_out_of(value)
        if isinstance(value, list):
            return [self.taken_out_of_json(item) for item in value]
        if isinstance(value, dict):
            return {self.taken_out_of(key): self.taken_out_of_json(item) for key, item in value.items()}
        return value

    def _credentials(self) -> list[str]:
        """The credentials after the scheme, as in `Bearer abc`; for `Basic` also decoded."""
        scheme, _, rest = self.value.partition(" ")
        rest = rest.strip()
        if not rest:
            return []
        if scheme.lower() != "basic":
            return [rest]
        try:
            decoded = base64.b64decode(rest, validate=True).decode()
        except (binascii.Error, ValueError):
            return [rest]
        return [rest, decoded, decoded.partition(":")[2]]


def problem_of_name(name: str) -> str:
    """Why a header's name is invalid, as a sentence; empty if it is valid."""
    if len(name) > LONGEST_NAME:
        return f"The name has {len(name)} characters; at most {LONGEST_NAME} are possible."
    if not _TOKEN.match(name):
        return "A header's name has letters, digits and '-', such as Authorization or X-Api-Key."
    if name.lower() in _OF_HTTP:
        return f"{name} belongs to HTTP itself and cannot be set; use Authorization or a name such as X-Api-Key."
    return ""


def problem_of_value(value: str) -> str:
    """Why a header's value is invalid, as a sentence that does not reveal it; empty if it is valid."""
    if not SHORTEST_VALUE <= len(value) <= LONGEST_VALUE:
        return f"The value has {len(value)} characters; give {SHORTEST_VALUE} to {LONGEST_VALUE}."
    if not value.isascii() or not value.isprintable():
        return "The value holds line breaks, control characters or letters that are not ASCII, which no header can."
    if value != value.strip():
        return "The value begins or ends with a blank, which HTTP takes away."
    return ""
