"""What experts share that draw pictures from noise: a seed for each item, and batches of one size."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import torch
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Image, Value

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
            content.update(f"{name} ".encode() + _bytes_of(value))
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
        images: list[Image] = []
        for start in range(0, len(rows), self._batch_size):
            chunk = rows[start : start + self._batch_size]
            filled = chunk + chunk[:1] * (self._batch_size - len(chunk))
            generators = [torch.Generator("cpu").manual_seed(seed % SEEDS) for _, seed in filled]
            with torch.inference_mode():
                images += self.draw(rows=[row for row, _ in filled], generators=generators)[: len(chunk)]
        return [{"image": image} for image in images]


def _bytes_of(value: Value) -> bytes:
    """What distinguishes a value from others, as bytes."""
    if isinstance(value, PillowImage.Image):
        return f"{value.size}".encode() + value.convert("RGB").tobytes()
    return repr(value).encode()


def number(*, spec: ExpertSpec, name: str, default: float) -> float:
    """A number among the parameters of an expert.

    Raises:
        ExpertError: it is none.
    """
    value = spec.parameters.get(name, default)
    if not isinstance(value, int | float):
        raise ExpertError(f'the parameter "{name}" of {spec.id} must be a number, not {value!r}')
    return float(value)
