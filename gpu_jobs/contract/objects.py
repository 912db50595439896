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
    takes_uploads: bool = False
    """Whether some of them may go directly to the bucket that the site keeps them in (`UploadsRequest`)."""


class Upload(Message):
    """An artefact that a worker is about to send."""

    digest: Digest
    size: Annotated[int, Field(ge=0, le=2**40)]
    """Bytes."""
    media_type: Annotated[str, Field(max_length=60)]


class UploadsRequest(Message):
    """Artefacts that a worker would upload directly."""

    uploads: Annotated[tuple[Upload, ...], Field(max_length=200)]


class OfferedUpload(Message):
    """A PUT request that uploads one artefact, and no other bytes. It expires after some minutes."""

    digest: str
    url: Annotated[str, Field(repr=False)]
    """Presigned: anyone who has it may send the artefact, so it is a secret."""
    headers: dict[str, str]
    """Of the request, as they are."""


class UploadsOffered(Message):
    """How to upload artefacts. Those that are not among them go through the site, as without uploads."""

    offered: tuple[OfferedUpload, ...]


class BundleTaken(Message):
    """What became of a bundle."""

    kept: int
    """How many of its artefacts the site has now."""
    refused: dict[str, str]
    """A sentence for each of the others, by its digest."""


class CheckpointPosition(Message):
    """Where a piece of a checkpoint begins."""

    start: Annotated[int, Field(ge=0, le=2**62)] = 0
