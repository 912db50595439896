"""Whether a release of Kubernetes, or the operator of a custom resource, takes a manifest."""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tests.k8s.schemas import validate

Json = dict[str, Any]
_CRDS = Path(__file__).with_name("crds.yaml")


@cache
def crds() -> Json:
    """Schemas of the specs of custom resources, by `apiVersion kind`."""
    found: Json = yaml.safe_load(_CRDS.read_text(encoding="utf-8"))
    return found


def is_custom(item: Json) -> bool:
    """Whether a manifest is of a kind that Kubernetes itself does not have."""
    group = item["apiVersion"].rpartition("/")[0]
    return group in {"keda.sh", "kueue.x-k8s.io", "monitoring.coreos.com"}


def check(item: Json, *, version: str) -> None:
    """Refuse a manifest that this release of Kubernetes, or the operator of a custom resource, would refuse.

    Raises:
        jsonschema.ValidationError, kubernetes_validate.ValidationError, KeyError: it would.
    """
    if not is_custom(item):
        validate(item, version=version)
        return
    schema = crds()[f"{item['apiVersion']} {item['kind']}"] | {"definitions": crds()["definitions"]}
    assert set(item) <= {"apiVersion", "kind", "metadata", "spec"}
    jsonschema.validate(item.get("spec", {}), schema)
