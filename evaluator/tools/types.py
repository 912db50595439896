"""Resource types and tool signatures."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class ResourceType(StrEnum):
    """The kinds of things that plans pass between steps."""

    IMAGE = "image"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Tool:
    """A typed signature that a plan may call."""

    name: str
    domain: str
    description: str
    inputs: Mapping[str, ResourceType]
    """Argument names and types, in the order of the signature. All are required."""
    outputs: Mapping[str, ResourceType]

    @property
    def input_types(self) -> tuple[ResourceType, ...]:
        return tuple(self.inputs.values())

    @property
    def output_types(self) -> tuple[ResourceType, ...]:
        return tuple(self.outputs.values())


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tools of one benchmark, by name."""

    name: str
    tools: Mapping[str, Tool]

    def __contains__(self, name: object) -> bool:
        return name in self.tools

    def __getitem__(self, name: str) -> Tool:
        return self.tools[name]

    def restricted_to(self, names: frozenset[str]) -> "Catalogue":
        """The same catalogue with only the named tools, in catalogue order."""
        kept = {name: tool for name, tool in self.tools.items() if name in names}
        return Catalogue(name=self.name, tools=MappingProxyType(kept))
