"""The twelve families, one module each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from evaluator.arc.mini.families.approach import ApproachFamily
from evaluator.arc.mini.families.connect import ConnectFamily
from evaluator.arc.mini.families.count import CountFamily
from evaluator.arc.mini.families.crop import CropFamily
from evaluator.arc.mini.families.denoise import DenoiseFamily
from evaluator.arc.mini.families.enclose import EncloseFamily
from evaluator.arc.mini.families.gravity import GravityFamily
from evaluator.arc.mini.families.mark import MarkFamily
from evaluator.arc.mini.families.rays import RaysFamily
from evaluator.arc.mini.families.stamp import StampFamily
from evaluator.arc.mini.families.symmetry import SymmetryFamily
from evaluator.arc.mini.families.turn import TurnFamily
from evaluator.arc.mini.rules import Family

_ALL: tuple[Family[Any], ...] = (
    TurnFamily(), SymmetryFamily(), CropFamily(), CountFamily(), MarkFamily(), DenoiseFamily(), EncloseFamily(),
    ConnectFamily(), RaysFamily(), GravityFamily(), ApproachFamily(), StampFamily(),
)  # fmt: skip
FAMILIES: Mapping[str, Family[Any]] = MappingProxyType({family.name: family for family in _ALL})
"""By name, in the order of the suite."""
