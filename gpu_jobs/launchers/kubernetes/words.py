"""Messages of the cluster, redacted for the public page of an evaluation: short, without secrets, addresses and images.
Pure."""

import re
from collections.abc import Iterable

from gpu_jobs.redaction import Redactor

_MOST_CHARACTERS = 300
_ADDRESSES = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"',)]+", re.IGNORECASE), "an address"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "an address"),
    (re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.svc(?:\.[\w-]+)*(?::\d+)?\b"), "a service"),
    (re.compile(r"[\w./:-]*@sha256:[0-9a-f]{64}"), "an image"),
)


def public_words(text: str, *, secrets: Iterable[str] = (), images: Iterable[str] = ()) -> str:
    """What the cluster said, for everybody who may read the evaluation's page.

    Args:
        text: a message of the API server, an admission webhook or a controller.
        secrets: values that must not be shown.
        images: the workers'; their registry is the operator's affair.

    Returns:
        One line of at most 300 characters that ends with a full stop, or nothing if there was no text.
    """
    words = Redactor(secrets=secrets)(" ".join(text.split()))
    for name in filter(None, (part for image in images for part in (image, image.partition("@")[0]))):
        words = words.replace(name, "the worker's image")
    for shape, instead in _ADDRESSES:
        words = shape.sub(instead, words)
    words = "".join(one if one.isprintable() else "?" for one in words)
    if len(words) > _MOST_CHARACTERS:
        words = f"{words[: _MOST_CHARACTERS - 4].rstrip()} ..."
    return words if not words or words.endswith(".") else f"{words}."
