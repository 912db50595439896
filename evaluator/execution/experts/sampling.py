"""Base of experts that draw pictures from noise: a seed for each item, and batches of one size."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import torch
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.inputs import in_batches

SEEDS = 2**63
"""Seeds are whole numbers below."""
Row = TypeVar("Row")


class PictureSampler(Generic[Row]):
    """An expert that draws one picture for each item; subclasses say what they read of an item and how they draw.

    The noise comes from a generator for each item on the CPU, so it is the same on every device and in every batch;
    batches are filled up to one size.
    """

    def __init__(self, *, spec: ExpertSpec) -> None:
        self._batch_size = spec.batch_size

    def read(self, item: Mapping[str, Value]) -> Row:
        """The inputs of an item, checked.

        Raises:
            InputError: they do not go together.
            ExpertError: one is missing or of another type.
        """
        raise NotImplementedError

    def draw(self, *, rows: Sequence[Row], generators: list[torch.Generator]) -> Sequence[Image]:
        """The pictures for a full batch."""
        raise NotImplementedError

    def seed(self, item: Mapping[str, Value]) -> int:
        """The seed of an item for which none is given: it depends on the inputs alone."""
        content = hashlib.sha256()
        for name, value in sorted(item.items()):
            content.update(f"{name} ".encode())
            if isinstance(value, PillowImage.Image):
                content.update(f"{value.size}".encode() + value.convert("RGB").tobytes())
            else:
                content.update(repr(value).encode())
        return int.from_bytes(content.digest()[:8], "big") % SEEDS

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`; the seed of an item is derived from its inputs."""
        return self.run_seeded(batch=batch, seeds=[self.seed(item) for item in batch])

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """The same with a given seed for each item, a whole number that is not negative.

        Raises:
            InputError: the inputs of an item do not go together.
            ExpertError: an input is missing or of another type.
            ValueError: there are not as many seeds as items.
        """
        if len(seeds) != len(batch):
            raise ValueError(f"{len(batch)} items need as many seeds, found {len(seeds)}")
        rows = [(self.read(item), seed) for item, seed in zip(batch, seeds, strict=True)]

        def draw(chunk: list[tuple[Row, int]]) -> Sequence[Image]:
            generators = [torch.Generator("cpu").manual_seed(seed % SEEDS) for _, seed in chunk]
            return self.draw(rows=[row for row, _ in chunk], generators=generators)

        with torch.inference_mode():
            return [{"image": image} for image in in_batches(rows, size=self._batch_size, run=draw)]


class SinglePictureSampler(PictureSampler[Row]):
    """A `PictureSampler` whose pictures are drawn one by one, whatever the size of the batch."""

    def draw(self, *, rows: Sequence[Row], generators: list[torch.Generator]) -> Sequence[Image]:
        return [self.draw_one(row, generator=generator) for row, generator in zip(rows, generators, strict=True)]

    def draw_one(self, row: Row, *, generator: torch.Generator) -> Image:
        """The picture for one item."""
        raise NotImplementedError
