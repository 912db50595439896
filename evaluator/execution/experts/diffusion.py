"""Base of experts with diffusion models: pipelines from folders, a seed for each item, batches of one size."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from diffusers import ControlNetModel, StableDiffusionPipeline
from diffusers.utils import logging
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.devices import loading
from evaluator.execution.experts.inputs import in_batches
from evaluator.execution.experts.pretrained import dtype_of, networks_in_use, share
from evaluator.execution.experts.weights import WeightsError, known_digest, weights_digest


def load_pipeline(*, folder: Path, precision: str) -> StableDiffusionPipeline:
    """The pipeline of a folder in the layout of `diffusers`, in the profile's precision.

    Raises:
        WeightsError: something is missing.
    """
    # Otherwise it reports every truncated text.
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with loading():
            pipeline = StableDiffusionPipeline.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                dtype=dtype_of(precision),
                low_cpu_mem_usage=False,
                # Released pipelines name both. The safety checker blackens some pictures, which would distort scores;
                # the feature extractor only serves the checker. Neither is fetched.
                feature_extractor=None,
                safety_checker=None,
                requires_safety_checker=False,
            )
    except (OSError, ValueError) as error:
        raise WeightsError(f"there is no pipeline in {folder}: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    for part in (pipeline.unet, pipeline.vae, pipeline.text_encoder):
        part.eval()
    return pipeline


def quiet(pipeline: Any, *, device: str) -> Any:
    """The pipeline on a device, without a progress bar."""
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


def load_base(*, spec: ExpertSpec) -> StableDiffusionPipeline:
    """The Stable Diffusion that `model_index.json` of a folder names, from a sibling folder.

    Raises:
        WeightsError: it is missing, or the weights of the folder were trained with another one.
    """
    index = read_index(spec.path)
    folder = spec.path.parent / str(index["base"])
    if weights_digest(folder, digest_of=known_digest) != index["base_digest"]:
        raise WeightsError(f"the weights in {spec.path} belong to others than those in {folder}; train them again")
    return load_pipeline(folder=folder, precision=spec.precision)


def read_index(folder: Path) -> Mapping[str, object]:
    """The content of a folder's `model_index.json`; WeightsError if it is missing or names no base."""
    path = folder / "model_index.json"
    if not path.is_file():
        raise WeightsError(f"there is no {path}")
    index: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    if not {"base", "base_digest"} <= set(index):
        raise WeightsError(f"{path} does not say to which weights these belong")
    return index


MULTIPLE = 8
"""Sides of generated pictures are multiples of this, in pixels."""


def load_released(
    pipeline_class: Any, *, folder: Path, digest: str, precision: str, device: str, **parts: object
) -> Any:
    """A pipeline from a folder, in evaluation mode, without progress bar or safety checker.

    Pipelines from equal weights share their networks.

    Args:
        pipeline_class: a class of `diffusers`.
        folder: folder in its layout.
        digest: the `weights_digest` of the folder.
        precision: precision of its networks.
        device: their device.
        parts: replacements of parts that the folder names; None omits a part.

    Raises:
        WeightsError: something is missing.
    """
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    keys = {
        path.name: (path.name, str(folder), digest, precision, device)
        for path in folder.iterdir()
        if path.name not in parts and any(path.glob("*.safetensors"))
    }
    try:
        with loading():
            pipeline = pipeline_class.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=dtype_of(precision),
                low_cpu_mem_usage=False, **networks_in_use(keys), **parts,
            )  # fmt: skip
    except (OSError, ValueError) as error:
        raise WeightsError(f"there is no {pipeline_class.__name__} in {folder}: {error}") from error
    for part in pipeline.components.values():
        if hasattr(part, "eval"):
            part.eval()
    pipeline = quiet(pipeline, device=device)
    for name, key in keys.items():
        if (network := pipeline.components.get(name)) is not None:
            share(key, network)
    return pipeline


def load_controlnet(*, folder: Path, precision: str) -> ControlNetModel:
    """The ControlNet of a folder.

    Raises:
        WeightsError: it is missing.
    """
    try:
        with loading():
            network = ControlNetModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=dtype_of(precision), low_cpu_mem_usage=False
            )
    except (OSError, ValueError) as error:
        raise WeightsError(f"there is no ControlNet in {folder}: {error}") from error
    return network.eval()


def fitted(size: tuple[int, int], *, longest: int) -> tuple[int, int]:
    """Width and height scaled to the longer side `longest`, both multiples of 8."""
    scale = longest / max(size)
    width, height = (max(int(side * scale) // MULTIPLE, 1) * MULTIPLE for side in size)
    return width, height


SEEDS = 2**63
"""Upper bound of seeds, exclusive."""
Row = TypeVar("Row")


class PictureSampler(Generic[Row]):
    """An expert that generates one picture per item; subclasses read items and draw batches.

    Each item has its own noise generator on the CPU, so that its noise does not depend on the device or batch. Batches
    are padded to one size.
    """

    def __init__(self, *, spec: ExpertSpec) -> None:
        self.batch_size = spec.batch_size

    def read(self, item: Mapping[str, Value]) -> Row:
        """The validated inputs of an item.

        Raises:
            InputError: they are inconsistent.
            ExpertError: one is missing or has another type.
        """
        raise NotImplementedError

    def draw(self, *, rows: Sequence[Row], generators: list[torch.Generator]) -> Sequence[Image]:
        """The pictures for a full batch."""
        raise NotImplementedError

    def seed(self, item: Mapping[str, Value]) -> int:
        """The default seed of an item, derived from its inputs."""
        content = hashlib.sha256()
        for name, value in sorted(item.items()):
            content.update(f"{name} ".encode())
            if isinstance(value, PillowImage.Image):
                content.update(f"{value.size}".encode() + value.convert("RGB").tobytes())
            else:
                content.update(repr(value).encode())
        return int.from_bytes(content.digest()[:8], "big") % SEEDS

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`; uses the items' default seeds."""
        return self.run_seeded(batch=batch, seeds=[self.seed(item) for item in batch])

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """`run` with a nonnegative seed for each item.

        Raises:
            InputError: the inputs of an item are inconsistent.
            ExpertError: an input is missing or has another type.
            ValueError: the numbers of seeds and items differ.
        """
        if len(seeds) != len(batch):
            raise ValueError(f"{len(batch)} items need as many seeds, found {len(seeds)}")
        rows = [(self.read(item), seed) for item, seed in zip(batch, seeds, strict=True)]

        def draw(chunk: list[tuple[Row, int]]) -> Sequence[Image]:
            generators = [torch.Generator("cpu").manual_seed(seed % SEEDS) for _, seed in chunk]
            return self.draw(rows=[row for row, _ in chunk], generators=generators)

        with torch.inference_mode():
            return [{"image": image} for image in in_batches(rows, size=self.batch_size, run=draw)]


class SinglePictureSampler(PictureSampler[Row]):
    """A `PictureSampler` that draws pictures one by one."""

    def draw(self, *, rows: Sequence[Row], generators: list[torch.Generator]) -> Sequence[Image]:
        return [self.draw_one(row, generator=generator) for row, generator in zip(rows, generators, strict=True)]

    def draw_one(self, row: Row, *, generator: torch.Generator) -> Image:
        """The picture for one item."""
        raise NotImplementedError
