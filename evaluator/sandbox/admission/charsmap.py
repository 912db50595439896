"""The character map of SentencePiece inside a `Precompiled` normalizer: how long a replacement can be.

The map is base64 of: the number of bytes of a double-array trie (32 bits, little endian), the trie, and the
replacements as UTF-8 texts that each end with a zero byte. The trie points into the replacements, at any byte of them.
"""

import base64
import binascii
from functools import lru_cache

MOST_CHARSMAP_BYTES = 2 * 1024 * 1024
"""As base64. The published ones (NFKC, with case folding and the rules of machine translation) have 320 to 490 KB."""
LONGEST_REPLACEMENT = 64
"""Bytes. NFKC makes 33 bytes of U+FDFA, the most."""
_SIZE_BYTES = 4


@lru_cache(maxsize=4)
def longest_replacement(text: object) -> int:
    """Bytes of the longest replacement in a map.

    Raises:
        ValueError: it is none, or too large, or has a replacement that is too long; the message ends a sentence.
    """
    if not isinstance(text, str) or not text or len(text) > MOST_CHARSMAP_BYTES:
        raise ValueError(f"must be base64 of at most {MOST_CHARSMAP_BYTES} characters")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is no base64") from None
    size = int.from_bytes(data[:_SIZE_BYTES], "little")
    if len(data) < _SIZE_BYTES or size % 4 or not size or size > len(data) - _SIZE_BYTES:
        raise ValueError("is no character map of SentencePiece: its trie is cut off")
    longest = max(map(len, data[_SIZE_BYTES + size :].split(b"\0")))
    if longest > LONGEST_REPLACEMENT:
        raise ValueError(f"replaces a character by {longest} bytes; at most {LONGEST_REPLACEMENT} are possible")
    return longest
