"""What all messages have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Slug = Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]+$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in lower-case hexadecimal digits."""


class Message(BaseModel):
    """A body of a request or of an answer. Unknown fields are ignored: the other side may be newer."""

    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)
