"""Artefacts and checkpoints. The bytes of artefacts come in bundles (`gpu_jobs.bundles`)."""

from typing import Annotated

from pydantic import Field

from gpu_jobs.contract.message import Digest, Message

CHECKPOINT_PIECE_BYTES = 8 * 1024 * 1024
"""Of one answer with a piece of a checkpoint, at most."""


class DigestsRequest(Message):
    """Artefacts that a worker has."""

    digests: Annotated[tuple[Digest, ...], Field(max_length=5000)]


class DigestsMissing(Message):
    """Those of them that the site does not have, in the order of the request."""

    missing: tuple[str, ...]


class BundleTaken(Message):
    """What became of a bundle."""

    kept: int
    """How many of its artefacts the site has now."""
    refused: dict[str, str]
    """A sentence for each of the others, by its digest."""


class CheckpointPosition(Message):
    """Where a piece of a checkpoint begins."""

    start: Annotated[int, Field(ge=0, le=2**62)] = 0
