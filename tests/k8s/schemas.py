"""Strict validation against the schemas of Kubernetes' releases, which are read once and not for every object."""

import functools
from typing import Any

import kubernetes_validate
from kubernetes_validate import utils

VERSIONS = ("1.34", "1.35", "1.36", "1.37")
utils.schema_contents = functools.cache(utils.schema_contents)


def validate(manifest: dict[str, Any], *, version: str) -> None:
    """Refuse a manifest that this release would refuse, or of which it would ignore a part.

    Raises:
        kubernetes_validate.ValidationError: it would.
    """
    kubernetes_validate.validate(manifest, version, strict=True)
