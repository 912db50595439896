"""Properties of a suite's tasks: what lists of tasks are filtered by, and what scores are grouped by.

Facets are no part of a suite's digest: no score depends on them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A property of tasks that has few values."""

    name: str
    """The parameter of addresses."""
    label: str
    attribute: str = ""
    """The attribute of tasks that holds its value, or a list of values. Empty for `structure` and `modality`, which
    every task has, and for labels of results (`Suite.labels`)."""
    heading: str = ""
    """Label of a table of scores that is grouped by it; empty: `label`."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Values in words; for all others the value itself is read as words."""
    verbatim: bool = False
    """Whether values are names that stay as they are, such as those of functions."""
    unit: str = ""
    """What a value counts, such as `step`, if values are numbers."""
    order: tuple[str, ...] = ()
    """The values in their order, if they have one."""
    several: str = ""
    """Replaces values that name several things, separated by commas; empty: they stay as they are."""
    tells_gold: bool = False
    """Whether it follows from the gold plan, and is withheld with it."""
    is_searched: bool = False
    """Whether a search for words looks through its values."""
    stands_alone: bool = False
    """Whether tables are grouped by it even if all tasks have the same value."""


STRUCTURE = Facet(name="structure", label="Structure")
MODALITY = Facet(name="modality", label="Modality")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The facets of a suite, and the order in which each part of the site shows them."""

    filters: tuple[Facet, ...] = (STRUCTURE, MODALITY)
    """All of them, in the order of the filters of a list of tasks."""
    facts: tuple[str, ...] = ("structure", "modality")
    """Names of those that the page of a task names."""
    breakdowns: tuple[str, ...] = ("structure", "modality")
    """Names of those by which an evaluation's scores are grouped."""
    plots: tuple[str, ...] = ("structure",)
    """Names of those by which the scores of a board's best planners are grouped."""
    comparisons: tuple[str, ...] = ("structure",)
    """Names of those by which comparisons are grouped and filtered."""

    def named(self, names: Iterable[str]) -> tuple[Facet, ...]:
        """The facets with these names, in the order of the names."""
        known = {facet.name: facet for facet in self.filters}
        return tuple(known[name] for name in names)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "filters": [{**asdict(facet), "order": list(facet.order)} for facet in self.filters],
            "facts": list(self.facts),
            "breakdowns": list(self.breakdowns),
            "plots": list(self.plots),
            "comparisons": list(self.comparisons),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Facets":
        """The facets that `to_json` gave; the usual ones for an empty object."""
        if not value:
            return cls()
        filters = tuple(Facet(**{**facet, "order": tuple(facet["order"])}) for facet in value["filters"])
        return cls(filters=filters, **{name: tuple(names) for name, names in value.items() if name != "filters"})
