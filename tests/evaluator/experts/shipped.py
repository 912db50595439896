"""Shipped experts of the miniature world, loaded without their profile."""

from importlib.resources import files
from pathlib import Path

from evaluator.experts.implementations import implementation_of
from evaluator.experts.protocol import Expert, ExpertSpec
from evaluator.values import encode

WEIGHTS = Path(str(files("evaluator.world"))) / "weights"


def shipped_expert(*, folder: str, implementation: str, batch_size: int = 8, **parameters: object) -> Expert:
    """An expert with the weights of a folder."""
    spec = ExpertSpec(
        tool="",
        id=f"lilliput/{folder}",
        implementation=implementation,
        path=WEIGHTS / folder,
        weights_digest="",
        batch_size=batch_size,
        parameters=parameters,
    )
    return implementation_of(implementation).factory()(spec=spec, device="cpu")


def as_bytes(output):
    """The artefacts of an expert's outputs, by name."""
    return {name: encode(value).data for name, value in output.items()}
