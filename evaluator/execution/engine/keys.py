"""The store key of an executed step: everything its output depends on, and nothing else."""

import hashlib
from collections.abc import Mapping

from evaluator.core import canonical_json
from evaluator.core.expert import ExpertSpec


def step_key(
    *,
    spec: ExpertSpec,
    inputs: Mapping[str, str],
    batch_size: int,
    device: Mapping[str, str],
    seed: int | None = None,
) -> str:
    """SHA-256 over tool, expert, weights, code version, precision, parameters, device class, seed and inputs' digests.

    The batch size is part of it: on some devices results differ in the last bit between batch shapes, so that the
    engine runs every batch at one size (shorter batches are padded).

    Args:
        spec: the expert's line in the profile.
        inputs: argument name to the digest of its artefact.
        batch_size: the size that the expert runs at: the profile's, or less where that did not fit into memory.
        device: the class of the device: another class computes other bytes (`evaluator.execution.experts.devices`).
        seed: of a sampling expert, see `step_seed`; None for all others.
    """
    return canonical_json.digest(
        {
            "tool": spec.tool,
            "expert": spec.id,
            "weights": spec.weights_digest,
            "code": spec.code_version,
            "precision": spec.precision,
            "batch_size": batch_size,
            "device": dict(device),
            "parameters": dict(spec.parameters),
            "seed": seed,
            "inputs": dict(inputs),
            **({"uses": [used.facts() for used in spec.uses]} if spec.uses else {}),
        }
    )


def step_seed(*, spec: ExpertSpec, inputs: Mapping[str, str], salt: str, sample: int) -> int | None:
    """The seed of a step, in [0, 2**63), or None if its expert does not sample.

    Of the task it knows nothing: tasks that ask for the same on the same sample get the same artefact. Two samples
    with equal inputs get different ones.

    Args:
        spec: the expert's line in the profile.
        inputs: argument name to the digest of its artefact.
        salt: the suite's.
        sample: index of the sample.
    """
    if not spec.samples:
        return None
    facts = {"salt": salt, "inputs": dict(inputs), "tool": spec.tool, "expert": spec.id, "sample": sample}
    material = hashlib.sha256(canonical_json.dumps(facts).encode("utf-8")).digest()
    return int.from_bytes(material[:8], "big") & (2**63 - 1)
