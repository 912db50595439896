"""Loading released pipelines of `diffusers` of any class."""

from pathlib import Path
from typing import Any

from diffusers.utils import logging

from evaluator.execution.experts.loading import loading
from evaluator.execution.experts.pipelines import quiet
from evaluator.execution.experts.pretrained import dtype_of
from evaluator.execution.experts.weights import WeightsError

MULTIPLE = 8
"""Sides of drawn pictures are multiples of so many pixels."""


def load_released(pipeline_class: Any, *, folder: Path, precision: str, device: str, **parts: object) -> Any:
    """A pipeline from a folder, in evaluation mode, without progress bar or safety checker.

    Args:
        pipeline_class: of `diffusers`.
        folder: in its layout.
        precision: of its networks.
        device: that they go to.
        parts: what takes the place of parts that the folder names, None for those that are left out.

    Raises:
        WeightsError: something is missing.
    """
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with loading():
            pipeline = pipeline_class.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=dtype_of(precision),
                low_cpu_mem_usage=False, **parts,
            )  # fmt: skip
    except (OSError, ValueError) as error:
        raise WeightsError(f"there is no {pipeline_class.__name__} in {folder}: {error}") from error
    for part in pipeline.components.values():
        if hasattr(part, "eval"):
            part.eval()
    return quiet(pipeline, device=device)


def fitted(size: tuple[int, int], *, longest: int) -> tuple[int, int]:
    """Width and height for a picture whose longer side becomes `longest`, both multiples of 8."""
    scale = longest / max(size)
    width, height = (max(int(side * scale) // MULTIPLE, 1) * MULTIPLE for side in size)
    return width, height
