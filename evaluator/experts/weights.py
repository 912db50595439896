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

    Raises:
        WeightsError: the folder does not exist or has no weights.
    """
    if not (folder / "model.safetensors").is_file():
        raise WeightsError(f"there are no weights (model.safetensors) in {folder}")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name not in _NOT_COUNTED)
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return canonical_json.digest(digests)


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
