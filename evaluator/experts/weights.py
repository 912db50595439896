"""Folders of weights: which files count, their digest, and the check before they are loaded. No torch here."""

import hashlib
from pathlib import Path

from evaluator import canonical_json
from evaluator.experts.protocol import ExpertError

_NOT_COUNTED = frozenset({"card.md", "training.json"})
"""Files that say something about a model but do not change what it returns."""


class WeightsError(ExpertError):
    """A folder of weights is missing, incomplete or not what the profile expects."""


def weights_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the files that change a model's output, in hexadecimal.

    Files of subfolders count under their path from the folder on, with slashes.

    Raises:
        WeightsError: the folder does not exist or has no weights.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in _NOT_COUNTED)
    if not has_weights(folder):
        raise WeightsError(f"there are no weights (model.safetensors, or model_index.json and its parts) in {folder}")
    digests = {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return canonical_json.digest(digests)


def has_weights(folder: Path) -> bool:
    """Whether there is a model in the layout of `transformers`, or a pipeline in that of `diffusers`."""
    if (folder / "model.safetensors").is_file():
        return True
    return (folder / "model_index.json").is_file() and any(folder.glob("*/*.safetensors"))


def verify_weights(*, folder: Path, expected: str) -> None:
    """Check that a folder holds exactly the weights that a profile names.

    Raises:
        WeightsError: it does not; the message says how to mend it.
    """
    found = weights_digest(folder)
    if found != expected:
        raise WeightsError(
            f"the weights in {folder} are not those of the profile: digest {found[:16]}..., expected "
            f"{expected[:16]}... (a file was altered, added or removed; restore the folder, or train again "
            "and write a new lock file)"
        )
