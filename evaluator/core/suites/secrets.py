"""Secrets that follow from the seed of hidden data."""

from evaluator.core.canonical_json import framed_digest

_REQUESTS = "planarena requests/2"


def derived(*about: str, seed: str) -> str:
    """Derive a separate secret for each purpose, as 64 hexadecimal digits. A leaked secret reveals neither the seed nor
    another secret."""
    return framed_digest(_REQUESTS, seed, *about)
