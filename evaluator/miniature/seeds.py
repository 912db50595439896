"""Random streams, each derived by SHA-256 from its purpose.

Streams are independent of each other, of the order in which they are drawn, and of the process.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeVar

import numpy as np

from evaluator.core.canonical_json import framed

WORLD_VERSION = "1"
"""Increment if a stream returns other numbers for the same split, index and purpose."""
PICTURES_VERSION = "3"
"""Increment if a stream leads to another picture: other sizes, outlines, colours or degradations."""


class Split(StrEnum):
    """The disjoint parts of the miniature world."""

    TRAIN = "train"
    VALIDATION = "validation"
    PUBLIC = "public"
    HIDDEN = "hidden"


def split_secret(*, split: Split, hidden_seed: str | None) -> str:
    """The secret that the streams of a split depend on, empty for open splits.

    Raises:
        ValueError: the hidden split without a secret, or an open split with one.
    """
    if split is Split.HIDDEN:
        if not hidden_seed:
            raise ValueError("the hidden split needs its secret seed; the others do not")
        return hidden_seed
    if hidden_seed is not None:
        raise ValueError(f'a hidden seed was given for the open split "{split}"')
    return ""


def generator(*, split: Split, index: int, purpose: str, hidden_seed: str | None = None) -> np.random.Generator:
    """The stream for a purpose ("scene", "noise", ...) and an image of a split."""
    if index < 0:
        raise ValueError(f"an index starts at 0, not {index}")
    secret = split_secret(split=split, hidden_seed=hidden_seed)
    material = framed("planarena-lilliput", WORLD_VERSION, split.value, secret, str(index), purpose)
    return np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(material).digest(), "big")))


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededSource:
    """A split of the generators of a suite, which has a subclass."""

    generators: ClassVar[str]
    """Name and version of the generators, on which their random numbers depend."""

    split: Split
    hidden_seed: str | None = None

    def stream(self, purpose: str, index: int, attempt: int = 0) -> np.random.Generator:
        """The stream for a purpose, an index and an attempt."""
        name = f"{self.generators} {purpose}" + (f" {attempt}" if attempt else "")
        return generator(split=self.split, index=index, purpose=name, hidden_seed=self.hidden_seed)


def one_of(rng: np.random.Generator, values: Sequence[T]) -> T:
    """A random value."""
    return values[int(rng.integers(len(values)))]


def some_of(rng: np.random.Generator, values: Sequence[T], *, count: int) -> list[T]:
    """`count` distinct values in random order."""
    return [values[int(place)] for place in rng.permutation(len(values))[:count]]
