"""The store key of an executed step: everything its output depends on, and nothing else."""

from collections.abc import Mapping

from evaluator import canonical_json
from evaluator.experts.protocol import ExpertSpec


def step_key(*, spec: ExpertSpec, inputs: Mapping[str, str]) -> str:
    """SHA-256 over tool, expert, weights, code version, precision, parameters, seed and the inputs' digests.

    The batch size is part of it: on some devices results differ in the last bit between batch shapes, so that the
    engine runs every batch at the expert's one batch size (shorter batches are padded).

    Args:
        spec: the expert's line in the profile.
        inputs: argument name to the digest of its artefact.
    """
    return canonical_json.digest(
        {
            "tool": spec.tool,
            "expert": spec.id,
            "weights": spec.weights_digest,
            "code": spec.code_version,
            "precision": spec.precision,
            "batch_size": spec.batch_size,
            "parameters": dict(spec.parameters),
            "seed": None,
            "inputs": dict(inputs),
        }
    )
