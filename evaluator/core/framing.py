"""Digests of several texts, of which no two different lists read the same.

A key of HMAC is no such part: HMAC pads keys with zeros, so that a key with zeros at its end is the same key.
"""

import hashlib


def framed(*parts: str) -> bytes:
    """The parts one after the other, each behind the number of its bytes in UTF-8 as four bytes, the highest first."""
    return b"".join(len(content).to_bytes(4, "big") + content for content in (part.encode() for part in parts))


def framed_digest(purpose: str, *parts: str) -> str:
    """SHA-256 of purpose and parts, as 64 hexadecimal digits.

    Args:
        purpose: what the digest is for: digests for different purposes are never equal.
        parts: any texts, in order.
    """
    return hashlib.sha256(framed(purpose, *parts)).hexdigest()
