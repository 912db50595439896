"""Resource types and tool signatures."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType


class ResourceType(StrEnum):
    """The kinds of things that plans pass between steps."""

    IMAGE = "image"
    TEXT = "text"
    MASK = "mask"
    BBOX = "bbox"
    CATEGORY = "category"
    VIDEO = "video"
    AUDIO = "audio"
    TAGS = "tags"
    TITLE = "title"
    HTML = "html"
    LOCATION = "location"
    WEATHER = "weather"
    TIME = "time"
    POINT = "point"
    SEGMENTATION = "segmentation"
    EDGE = "edge"
    LINE = "line"
    HED = "hed"
    SCRIBBLE = "scribble"
    POSE = "pose"
    DEPTH = "depth"
    NORMAL = "normal"


@dataclass(frozen=True, slots=True)
class Tool:
    """A typed signature that a plan may call."""

    name: str
    domain: str
    description: str
    inputs: Mapping[str, ResourceType]
    """Argument names and types, in the order of the signature. All are required."""
    outputs: Mapping[str, ResourceType]
    aliases: tuple[str, ...] = ()
    """Other spellings of the name, such as the paper's."""

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
    interchangeable: tuple[frozenset[str], ...] = ()
    """Names of tools of the same types of which one may serve for another, at least for some requests."""
    argument_aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By another spelling, in lower case and with blanks, the arguments that it may mean. It counts for a tool that has
    exactly one of them, and no argument of that spelling."""

    def may_replace(self, one: str, other: str) -> bool:
        """Whether a request that one tool serves may be served by the other; true for equal names."""
        return one == other or any({one, other} <= names for names in self.interchangeable)

    def __contains__(self, name: object) -> bool:
        return name in self.tools

    def __getitem__(self, name: str) -> Tool:
        return self.tools[name]

    def canonical(self, name: str) -> str | None:
        """The catalogue's name for a name or alias, or None if no tool is called so."""
        if name in self.tools:
            return name
        return next((tool.name for tool in self.tools.values() if name in tool.aliases), None)

    def restricted_to(self, names: frozenset[str]) -> "Catalogue":
        """The same catalogue with only the named tools, in catalogue order."""
        if names >= self.tools.keys():
            return self
        kept = {name: tool for name, tool in self.tools.items() if name in names}
        return replace(self, tools=MappingProxyType(kept))
