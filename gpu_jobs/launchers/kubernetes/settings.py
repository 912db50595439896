"""The operator's settings for Jobs on Kubernetes, read from the environment; errors name the variable."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PREFIX = "PLANARENA_KUBERNETES_"
_EGRESS = ("PLANARENA_EGRESS_PROXY", "PLANARENA_EGRESS_PORTS", "NO_PROXY")
_BY_DIGEST = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_PLACEHOLDER = f"@sha256:{'0' * 64}"
_INSTANCE = re.compile(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?")
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_OVERRIDABLE = frozenset({"job", "pod", "container", "labels", "annotations", "env"})
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class SettingsError(ValueError):
    """A variable has a value that cannot be used; the message names both and says what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What the operator adds to every Job, as JSON merge patches (RFC 7386): null removes a field."""

    job: Mapping[str, Any] = field(default_factory=dict)
    """Onto the Job's `spec`, without its template."""
    pod: Mapping[str, Any] = field(default_factory=dict)
    """Onto the pod's `spec`, without its containers."""
    container: Mapping[str, Any] = field(default_factory=dict)
    """Onto the worker's container."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Added to Job and pods; those that the launcher sets win."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Added to Job and pods."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the worker's environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    """One installation's Jobs. docs/operating.md has the table of the variables."""

    image: str
    """Of the worker, by digest."""
    api_url: str
    """Where pods reach the site."""
    namespace: str = "planarena-jobs"
    instance: str = "planarena"
    """Tells the Jobs of one installation from another's in the same namespace, and begins their names."""
    context: str = ""
    """Of the kubeconfig, where the site does not run in the cluster itself."""
    service_account: str = "planarena-worker"
    image_pull_secret: str = ""
    parallelism: int = 2
    """Most pods of one evaluation at once."""
    gpu_resource: str = "nvidia.com/gpu"
    gpus: int = 1
    """Per pod; 0 runs the experts on the CPU."""
    cpu: str = "4"
    memory: str = "16Gi"
    ephemeral_storage: str = "20Gi"
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    priority_class: str = ""
    runtime_class: str = ""
    """A sandbox such as gVisor or Kata, where the cluster has one."""
    queue: str = ""
    """Kueue's LocalQueue; without it Kueue is not asked."""
    queue_priority: str = ""
    """Kueue's WorkloadPriorityClass."""
    suspend: bool = False
    """Create Jobs suspended: whatever admits them (Kueue) must then resume them."""
    store: str = ""
    """`s3://bucket/prefix` of what workers execute; empty: on the pod's own disk, and gone with it."""
    weights_claim: str = ""
    """PersistentVolumeClaim with the fetched weights of profiles, mounted read-only."""
    model_mirror: str = ""
    """Address of a mirror of the Hugging Face hub."""
    memory_budget: str = ""
    egress: Mapping[str, str] = field(default_factory=dict)
    """The site's own variables about calls to other people's servers, which hold for workers too."""
    active_deadline_seconds: int = 12 * 3600
    ttl_seconds: int = 3600
    """How long an ended Job stays: for people to look at, and as the memory of failed launches."""
    backoff_limit: int = 3
    """Pods that may fail, disruptions not counted, until the Job has."""
    launches: int = 3
    """Jobs of one evaluation that may fail within `ttl_seconds` until no further one is created."""
    start_patience_seconds: int = 600
    """How long a pod may fail to start for a reason that seldom heals (image, configuration) until its Job is ended."""
    pull_patience_seconds: int = 1800
    """How long a pod may start without an error: its image may have gigabytes."""
    schedule_patience_seconds: int = 6 * 3600
    """How long a pod may wait for a node."""
    model_server: str = "pod"
    """Where submitted models are loaded: in a `pod` of their own, or in a `container` of their own in the worker's pod,
    where both must share one GPU."""
    model_engine: str = "planarena"
    """What loads them: `planarena`, or `vllm`, which needs a pod of its own."""
    model_runtime_class: str = ""
    """Of model servers in pods of their own: a sandbox such as gVisor."""
    model_gpus: int | None = None
    """Per model server; None: as many as a worker's, and none in the worker's pod, where `gpu_claim` shares its own."""
    model_cpu: str = "4"
    model_memory: str = "16Gi"
    model_storage: str = "20Gi"
    """For the model's files."""
    gpu_claim: str = ""
    """ResourceClaimTemplate of GPUs that a worker and the model server in its pod share, instead of `gpu_resource`."""
    vllm_image: str = ""
    """By digest; needed for the engine `vllm`."""
    vllm_arguments: str = ""
    """Further ones of `vllm serve`."""
    programs: str = ""
    """Address of the pods that run planners' programs; empty: the worker's own pod does."""
    overrides: Overrides = field(default_factory=Overrides)

    def __post_init__(self) -> None:
        for name in ("cpu", "memory", "ephemeral_storage", "model_cpu", "model_memory", "model_storage"):
            if not _QUANTITY.fullmatch(getattr(self, name)):
                raise _wrong(name, getattr(self, name), "a quantity such as 4, 500m or 16Gi")
        if not _INSTANCE.fullmatch(self.instance):
            raise _wrong("instance", self.instance, "at most 12 lower-case letters, digits and dashes")
        for name in ("namespace", "service_account"):
            if not _NAME.fullmatch(getattr(self, name)):
                raise _wrong(name, getattr(self, name), "a name that Kubernetes accepts")
        for name, known in (("model_server", ("pod", "container")), ("model_engine", ("planarena", "vllm"))):
            if getattr(self, name) not in known:
                raise _wrong(name, getattr(self, name), " or ".join(known))
        if self.model_engine == "vllm" and self.model_server != "pod":
            raise _wrong("model_server", self.model_server, "pod for the engine vllm")
        if self.model_engine == "vllm" and not self.vllm_image:
            raise SettingsError(
                f"{PREFIX}VLLM_IMAGE is not set: the engine vllm needs it, as registry/name@sha256:digest."
            )


def settings_from(*, environment: Mapping[str, str], api_url: str) -> KubernetesSettings:
    """The settings that the environment's `PLANARENA_KUBERNETES_*` variables make.

    Raises:
        SettingsError: a variable is missing or wrong, or is none of the known ones.
    """
    given = {
        name.removeprefix(PREFIX).lower(): value.strip()
        for name, value in environment.items()
        if name.startswith(PREFIX) and value.strip()
    }
    for name in given.keys() & _RETIRED.keys():
        raise SettingsError(f"{PREFIX}{name.upper()} is no longer a setting: {_RETIRED[name]} Remove it.")
    image, tags_allowed = given.pop("image", ""), _flag("allow_tags", given.pop("allow_tags", "0"))
    _check_image(image, tags_allowed=tags_allowed)
    if (vllm_image := given.get("vllm_image", "")) and not tags_allowed and not _BY_DIGEST.fullmatch(vllm_image):
        raise _wrong("vllm_image", vllm_image, "registry/name@sha256:digest")
    if vllm_image.endswith(_PLACEHOLDER):
        raise _wrong("vllm_image", vllm_image, "the digest of an image, in place of the zeros of k8s/components/vllm")
    values: dict[str, Any] = {name: _read(name, text) for name, text in given.items()}
    # With Kueue a Job must not start before it is admitted, also if Kueue's webhook is down for a moment.
    values.setdefault("suspend", bool(values.get("queue")))
    egress = {name: environment[name] for name in _EGRESS if environment.get(name)}
    return KubernetesSettings(image=image, api_url=api_url, egress=egress, **values)


def _check_image(image: str, *, tags_allowed: bool) -> None:
    if not image:
        raise SettingsError(f"{PREFIX}IMAGE is not set: it is the worker's image, as registry/name@sha256:digest.")
    if not tags_allowed and not _BY_DIGEST.fullmatch(image):
        raise _wrong(
            "image", image, f"registry/name@sha256:digest; {PREFIX}ALLOW_TAGS=1 takes a tag, for a cluster to try on"
        )


_RETIRED = {
    "token_secret": "each Job gets a Secret with an enrolment token of its own.",
    "token_key": "each Job gets a Secret with an enrolment token of its own.",
    "hidden_seed_key": "workers fetch the seed that they need from the site.",
    "idle_seconds": "a worker ends when the site says that no shard of its evaluation is left.",
}

_INTEGERS = {
    "parallelism": 1, "gpus": 0, "active_deadline_seconds": 60, "ttl_seconds": 60,
    "backoff_limit": 0, "launches": 1, "start_patience_seconds": 1,
    "pull_patience_seconds": 1, "schedule_patience_seconds": 1, "model_gpus": 0,
}  # fmt: skip
_TEXTS = frozenset({
    "namespace", "instance", "context", "service_account",
    "image_pull_secret", "gpu_resource", "cpu", "memory", "ephemeral_storage", "priority_class", "runtime_class",
    "queue", "queue_priority", "store", "weights_claim", "model_mirror", "memory_budget", "model_server",
    "model_engine", "model_runtime_class", "model_cpu", "model_memory", "model_storage", "gpu_claim", "vllm_image",
    "vllm_arguments", "programs",
})  # fmt: skip


def _read(name: str, text: str) -> Any:
    if name in _TEXTS:
        return text
    if name in _INTEGERS:
        if not text.isdecimal() or int(text) < _INTEGERS[name]:
            raise _wrong(name, text, f"a whole number of at least {_INTEGERS[name]}")
        return int(text)
    match name:
        case "suspend":
            return _flag(name, text)
        case "node_selector":
            return _pairs(name, text)
        case "tolerations":
            return _tolerations(text)
        case "overrides":
            return _overrides(text)
    known = ", ".join(sorted({*_TEXTS, *_INTEGERS, "image", "suspend", "node_selector", "tolerations", "overrides"}))
    raise SettingsError(f"{PREFIX}{name.upper()} is no setting; known are, after {PREFIX}: {known.upper()}.")


def _flag(name: str, text: str) -> bool:
    if text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    raise _wrong(name, text, "1 or 0")


def _pairs(name: str, text: str) -> dict[str, str]:
    pairs = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if not key or not equals:
            raise _wrong(name, text, "key=value, separated by commas")
        pairs[key] = value
    return pairs


def _tolerations(text: str) -> tuple[Mapping[str, Any], ...]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise _wrong("tolerations", text, 'a JSON list such as [{"key": "gpu", "operator": "Exists"}]')
    return tuple(found)


def _overrides(text: str) -> Overrides:
    """The overrides in a JSON file."""
    try:
        found = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _wrong("overrides", text, f"the path of a JSON file ({error})") from error
    wrong = not isinstance(found, dict) or not all(isinstance(part, dict) for part in found.values())
    if wrong or set(found) - _OVERRIDABLE:
        raise _wrong("overrides", text, f"a file with an object of objects under {', '.join(sorted(_OVERRIDABLE))}")
    return Overrides(**found)


def _wrong(name: str, value: str, right: str) -> SettingsError:
    return SettingsError(f"{PREFIX}{name.upper()} is {value!r}: it must be {right}.")
