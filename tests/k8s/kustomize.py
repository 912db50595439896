"""As much of kustomize as k8s/ uses, so that the manifests are checked as they will be applied, without a program.

Generated names get a hash only where it is asked for; everything else is what `kubectl kustomize` prints. Anything that
this does not know is an error: a field that is silently passed over here would be one that nobody checks.
"""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from gpu_jobs.launchers.kubernetes.job import merge_patch

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent.parent / "k8s"
_GENERATED = "generated with a hash in its name"
_KNOWN = {
    "apiVersion", "kind", "resources", "components", "labels", "images", "configMapGenerator", "secretGenerator",
    "patches",
}  # fmt: skip


def build(folder: str, *components: str, settings: Json | None = None, hashes: bool = False) -> list[Json]:
    """The manifests of a folder of k8s/, with further components as if its kustomization named them.

    Args:
        folder: below k8s/.
        components: below k8s/; `-NAME` leaves out one that the folder's kustomization names.
        settings: further literals of the site's ConfigMap.
        hashes: give generated names the hash of their content, and all that refers to them the new name.
    """
    left_out = frozenset((ROOT / name[1:]).resolve() for name in components if name.startswith("-"))
    found = _build((ROOT / folder).resolve(), [], left_out)
    for component in components:
        if not component.startswith("-"):
            found = _build((ROOT / component).resolve(), found)
    for item in found:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] == "planarena-settings":
            item["data"].update(settings or {})
    generated = [item for item in found if item.pop(_GENERATED, False)]
    if hashes:
        _add_hashes(generated, found)
    return found


def _add_hashes(generated: list[Json], found: list[Json]) -> None:
    for item in generated:
        name = item["metadata"]["name"]
        digest = hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()
        item["metadata"]["name"] = f"{name}-{digest[:10]}"
        field = {"ConfigMap": "configMapRef", "Secret": "secretRef"}[item["kind"]]
        for source in (
            one for other in found for container in containers_of(other) for one in container.get("envFrom", [])
        ):
            if source.get(field, {}).get("name") == name:
                source[field]["name"] = item["metadata"]["name"]


def documents(path: Path) -> list[Json]:
    """The documents of a file; each must be an object."""
    found = [item for item in yaml.safe_load_all(path.read_text(encoding="utf-8")) if item is not None]
    assert all(isinstance(item, dict) for item in found), f"{path}: a document is no object"
    return found


def identity(item: Json) -> tuple[str, str, str]:
    """What a manifest is told from others by."""
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _build(folder: Path, found: list[Json], left_out: frozenset[Path] = frozenset()) -> list[Json]:
    """What a kustomization makes of its own resources, or a component of those that it is applied to."""
    (own,) = documents(folder / "kustomization.yaml")
    assert set(own) <= _KNOWN, f"{folder}: {set(own) - _KNOWN} is not known to this test"
    found = copy.deepcopy(found)
    for resource in own.get("resources", []):
        path = (folder / resource).resolve()
        found += _build(path, []) if path.is_dir() else documents(path)
    _generate(own, found)
    for component in own.get("components", []):
        if (folder / component).resolve() not in left_out:
            found = _build((folder / component).resolve(), found)
    for patch in own.get("patches", []):
        _patch(folder / patch["path"], patch.get("target"), found)
    for pairs in own.get("labels", []):
        assert set(pairs) == {"pairs"}
        for item in found:
            item["metadata"]["labels"] = {**item["metadata"].get("labels", {}), **pairs["pairs"]}
    for image in own.get("images", []):
        for item in found:
            for container in containers_of(item):
                if container["image"].partition(":")[0] == image["name"]:
                    container["image"] = _image(image)
    assert len({identity(item) for item in found}) == len(found), f"{folder}: something is there twice"
    return found


def _generate(own: Json, found: list[Json]) -> None:
    for field, kind, data in (("configMapGenerator", "ConfigMap", "data"), ("secretGenerator", "Secret", "stringData")):
        for wanted in own.get(field, []):
            pairs = dict(line.split("=", 1) for line in wanted["literals"])
            metadata = {"name": wanted["name"], "namespace": wanted["namespace"]}
            made = {"apiVersion": "v1", "kind": kind, "metadata": metadata, data: pairs}
            if not wanted.get("options", {}).get("disableNameSuffixHash"):
                made[_GENERATED] = True
            if wanted.get("behavior") == "merge":
                (before,) = [item for item in found if identity(item) == identity(made)]
                before[data].update(pairs)
            else:
                found.append(made)


def _patch(path: Path, target: Json | None, found: list[Json]) -> None:
    if target is None:
        for patch in documents(path):
            (before,) = [item for item in found if identity(item) == identity(patch)]
            before.update(merge_patch(before, patch))
        return
    (before,) = [
        item for item in found if item["kind"] == target["kind"] and item["metadata"]["name"] == target["name"]
    ]
    for operation in yaml.safe_load(path.read_text(encoding="utf-8")):
        _apply(before, operation)


def _apply(item: Any, operation: Json) -> None:
    """One operation of a JSON patch."""
    *way, last = [int(part) if part.isdecimal() else part for part in operation["path"].strip("/").split("/")]
    for part in way:
        item = item[part]
    assert last in item if isinstance(item, dict) else last < len(item), f"{operation['path']} is not there"
    if operation["op"] == "replace":
        item[last] = operation["value"]
    else:
        assert operation["op"] == "remove"
        del item[last]


def _image(image: Json) -> str:
    name = image.get("newName", image["name"])
    return f"{name}@{image['digest']}" if "digest" in image else f"{name}:{image['newTag']}"


def pod_of(item: Json) -> Json | None:
    """The spec of the pods that a manifest makes, if it makes any."""
    return item["spec"]["template"]["spec"] if item["kind"] in {"Deployment", "Job"} else None


def containers_of(item: Json) -> list[Json]:
    """All containers of a manifest."""
    pod = pod_of(item)
    return [] if pod is None else [*pod.get("initContainers", []), *pod["containers"]]
