"""The secrets that webhooks are signed with: kept encrypted, so that a dump of the database signs nothing."""

import hashlib
import hmac

from leaderboard.platform.encryption import WEBHOOK as PURPOSE
from leaderboard.platform.encryption import decrypt, encrypt, encrypt_again


def sealed(secret: str) -> str:
    """A secret as it is kept."""
    return encrypt(secret, purpose=PURPOSE)


def opened(kept: str) -> str:
    """The secret that is kept so.

    Raises:
        UnreadableSecretError: it was kept with another key of the site.
    """
    return decrypt(kept, purpose=PURPOSE)


def signature(*, secret: str, timestamp: int, body: bytes) -> str:
    """What a receiver compares: HMAC-SHA256 over timestamp, a dot and the body, so that neither can be exchanged."""
    signed = f"{timestamp}.".encode() + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def sealed_again(kept: str) -> str:
    """The same under the site's first key.

    Raises:
        UnreadableSecretError: no key opens it.
    """
    return encrypt_again(kept, purpose=PURPOSE)
