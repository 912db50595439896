"""A server that speaks as much of S3's protocol as the stores need, over real HTTP, and enforces what S3 does."""

from tests.fakes.s3.server import FakeS3, Fault, Stored

__all__ = ["FakeS3", "Fault", "Stored"]
