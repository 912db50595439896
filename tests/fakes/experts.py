"""Experts that need no weights: simple, deterministic image and text functions that count what they are given."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image as PillowImage
from PIL import ImageOps

from evaluator.core.expert import Expert, ExpertError, ExpertSpec
from evaluator.core.values import Value


class FakeExpert:
    """Applies a function to each item. Remembers the size of every batch it was given."""

    code_version = "1"

    def __init__(self, function: Callable[[Mapping[str, Value]], Mapping[str, Value]]) -> None:
        self._function = function
        self.batches: list[int] = []

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        self.batches.append(len(batch))
        return [self._function(item) for item in batch]


def invert(item: Mapping[str, Value]) -> Mapping[str, Value]:
    image = item["image"]
    assert not isinstance(image, str)
    return {"image": ImageOps.invert(image)}


def mirror(item: Mapping[str, Value]) -> Mapping[str, Value]:
    image = item["image"]
    assert not isinstance(image, str)
    return {"image": ImageOps.mirror(image)}


def double(item: Mapping[str, Value]) -> Mapping[str, Value]:
    image = item["image"]
    assert not isinstance(image, str)
    return {"image": image.resize((image.width * 2, image.height * 2), PillowImage.Resampling.NEAREST)}


def describe(item: Mapping[str, Value]) -> Mapping[str, Value]:
    image = item["image"]
    assert not isinstance(image, str)
    return {"text": f"{image.width}x{image.height} {image.getpixel((0, 0))}"}


def broken_on_black(item: Mapping[str, Value]) -> Mapping[str, Value]:
    image = item["image"]
    assert not isinstance(image, str)
    if image.getpixel((0, 0)) == (0, 0, 0):
        raise ExpertError("the image is black")
    return invert(item)


class FakePool:
    """A pool of fake experts, by tool."""

    def __init__(self, experts: Mapping[str, FakeExpert], *, batch_size: int = 4, resizes: bool = False) -> None:
        self.experts = experts
        self._batch_size, self._resizes = batch_size, resizes
        self.loaded: list[str] = []

    def spec(self, tool: str) -> ExpertSpec:
        if tool not in self.experts:
            raise LookupError(f"no expert for {tool}")
        return ExpertSpec(
            tool=tool, id=f"fake/{tool}", implementation="fake", path=Path(), weights_digest="0" * 64,
            batch_size=self._batch_size, resizes=self._resizes,
        )  # fmt: skip

    def expert(self, tool: str, *, batch_size: int | None = None) -> Expert:
        if not self.is_loaded(tool):
            self.loaded.append(tool)
        return self.experts[tool]

    def is_loaded(self, tool: str) -> bool:
        return tool in self.loaded

    def unload_others(self, tool: str) -> bool:
        others = [other for other in self.loaded if other != tool]
        self.loaded = [tool]
        return bool(others)

    @property
    def device_class(self) -> Mapping[str, str]:
        return {"kind": "fake"}
