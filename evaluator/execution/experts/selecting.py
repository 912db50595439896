"""Selections from lists of findings, and their lengths: rules, no models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from evaluator.core.expert import ExpertSpec
from evaluator.core.naming import is_named
from evaluator.core.values import Boxes, Labels, Masks, Value
from evaluator.execution.experts.inputs import value_of


class _Rule:
    """An expert that needs neither weights nor a device."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        """Has nothing to load."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        return [self.one(item) for item in batch]

    def one(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        """The outputs for one item."""
        raise NotImplementedError


class SelectLabels(_Rule):
    """Keeps the labels that a condition names (`evaluator.core.naming`)."""

    def one(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        found = value_of(item, name="category_list", kind=Labels)
        means = _meaning(item)
        return {"target_category_result": Labels(tuple(one for one in found.items if means(one.name)))}


class SelectBoxes(_Rule):
    """Keeps the boxes whose label a condition names."""

    def one(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        found = value_of(item, name="bbox_list", kind=Boxes)
        means = _meaning(item)
        return {"result": replace(found, items=tuple(one for one in found.items if means(one.label)))}


class SelectMasks(_Rule):
    """Keeps the masks whose label a condition names."""

    def one(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        found = value_of(item, name="mask_list", kind=Masks)
        means = _meaning(item)
        return {"result": replace(found, items=tuple(one for one in found.items if means(one.label)))}


class _Count(_Rule):
    """The length of a list, in digits."""

    name: ClassVar[str]
    kind: ClassVar[type[Labels | Boxes | Masks]]

    def one(self, item: Mapping[str, Value]) -> Mapping[str, Value]:
        return {"length": str(len(value_of(item, name=self.name, kind=self.kind).items))}


class CountLabels(_Count):
    """How many labels there are."""

    name, kind = "category_list", Labels


class CountBoxes(_Count):
    """How many boxes there are."""

    name, kind = "bbox_list", Boxes


class CountMasks(_Count):
    """How many masks there are."""

    name, kind = "mask_list", Masks


def _meaning(item: Mapping[str, Value]) -> Callable[[str], bool]:
    condition = value_of(item, name="condition", kind=str)
    return lambda name: is_named(name, condition=condition)
