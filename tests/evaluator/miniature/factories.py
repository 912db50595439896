"""Small stand-ins for what the miniature world is asked with."""

from dataclasses import dataclass

from evaluator.core.values import Image
from evaluator.miniature.degradations import Degradation
from evaluator.miniature.lilliput_samples import clean_image, degraded_image
from evaluator.miniature.seeds import Split


@dataclass(frozen=True)
class Task:
    degradations: tuple[str, ...] = ()
    base: str = "restoration"
    language: str | None = None
    resources: tuple[str, ...] = ("image",)
    clozed: tuple[str, ...] = ()


def clean_images(*, count: int, start: int = 0) -> list[Image]:
    return [clean_image(split=Split.VALIDATION, index=start + i) for i in range(count)]


def degraded_images(*degradations: Degradation, count: int, start: int = 0) -> list[Image]:
    return [degraded_image(split=Split.VALIDATION, index=start + i, degradations=degradations) for i in range(count)]
