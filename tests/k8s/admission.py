"""Whether a release of Kubernetes, or the operator of a custom resource, takes a manifest."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml
from kubernetes_validate import utils

Json = dict[str, Any]
VERSIONS = ("1.34", "1.35", "1.36", "1.37")
# The schemas are read once and not for every object, and so are the names of their folders.
utils.schema_contents = cache(utils.schema_contents)
utils.all_versions = cache(utils.all_versions)
_CRDS = Path(__file__).with_name("crds.yaml")


@cache
def crds() -> Json:
    """Schemas of the specs of custom resources, by `apiVersion kind`."""
    found: Json = yaml.safe_load(_CRDS.read_text(encoding="utf-8"))
    return found


def is_custom(item: Json) -> bool:
    """Whether a manifest is of a kind that Kubernetes itself does not have."""
    group = item["apiVersion"].rpartition("/")[0]
    return group.endswith("cnpg.io") or group in {
        "gateway.networking.k8s.io",
        "keda.sh",
        "kueue.x-k8s.io",
        "monitoring.coreos.com",
    }


def check(item: Json, *, version: str) -> None:
    """Refuse a manifest that this release of Kubernetes, or the operator of a custom resource, would refuse or not take
    wholly.

    Raises:
        jsonschema.ValidationError, kubernetes_validate.ValidationError, KeyError: it would.
    """
    _check(json.dumps(item), version)


@cache
def _check(text: str, version: str) -> None:
    """Equal manifests of several ways to install are checked once."""
    item = json.loads(text)
    if not is_custom(item):
        kubernetes_validate.validate(item, version, strict=True)
        return
    schema = crds()[f"{item['apiVersion']} {item['kind']}"] | {"definitions": crds()["definitions"]}
    assert set(item) <= {"apiVersion", "kind", "metadata", "spec"}
    jsonschema.validate(item.get("spec", {}), schema)
