"""The twelve families, each in a module of its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from evaluator.suites.arc.mini.families.approach import ApproachFamily
from evaluator.suites.arc.mini.families.connect import ConnectFamily
from evaluator.suites.arc.mini.families.count import CountFamily
from evaluator.suites.arc.mini.families.crop import CropFamily
from evaluator.suites.arc.mini.families.denoise import DenoiseFamily
from evaluator.suites.arc.mini.families.enclose import EncloseFamily
from evaluator.suites.arc.mini.families.gravity import GravityFamily
from evaluator.suites.arc.mini.families.mark import MarkFamily
from evaluator.suites.arc.mini.families.rays import RaysFamily
from evaluator.suites.arc.mini.families.stamp import StampFamily
from evaluator.suites.arc.mini.families.symmetry import SymmetryFamily
from evaluator.suites.arc.mini.families.turn import TurnFamily
from evaluator.suites.arc.mini.rules import Family

_ALL: tuple[Family[Any], ...] = (
    TurnFamily(), SymmetryFamily(), CropFamily(), CountFamily(), MarkFamily(), DenoiseFamily(), EncloseFamily(),
    ConnectFamily(), RaysFamily(), GravityFamily(), ApproachFamily(), StampFamily(),
)  # fmt: skip
FAMILIES: Mapping[str, Family[Any]] = MappingProxyType({family.name: family for family in _ALL})
"""By name, in the order of the suite."""
