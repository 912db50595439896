"""A planner as a user enters it, and the fields that planners of all kinds have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from leaderboard.planners.fields import Field, SeenBy, Text, Whole

T = TypeVar("T")

Errors = dict[str, list[str]]
"""Error messages by field; empty: no errors."""

NAME = Text(
    "name",
    label="Name on the board",
    noun="name",
    help="Names are unique among your planners; submitting one again adds an evaluation.",
    page_help="To evaluate a planner again, reuse its name.",
    example="my-planner",
    longest=80,
    is_required=True,
    template="",
)
DESCRIPTION = Text(
    "description",
    label="Description",
    noun="description",
    help="Optional: the strategy, the language model, a link to the paper. Visible to everyone who sees the planner.",
    example="A fine-tuned model.",
    longest=4000,
    has_lines=True,
    attributes={"rows": 3},
    template="",
)
TIMEOUT = Whole(
    "timeout_seconds",
    label="Timeout in seconds",
    noun="timeout",
    help="Time limit for one response, or one try of one call of a chat endpoint: 1 to 300. A late response of a "
    "planner/1 endpoint is a planner fault; calls to a chat endpoint are retried.",
    default=30,
    example=30,
    least=1,
    most=300,
    unit="seconds",
    seen_by=SeenBy.OWNER,
    template="submissions/kinds/called.html",
)
"""Has an effect only for planners that are called. The API accepts it for all kinds."""

COMMON: tuple[Field[Any], ...] = (NAME, DESCRIPTION, TIMEOUT)
"""The fields of every planner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerData:
    """A planner as a user enters it, not checked yet. `data[FIELD]` is the value of a field."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """By name of the field; omitted fields have their defaults. Contains secrets: never log it."""

    @classmethod
    def of(cls, *, kind: str, **values: Any) -> Self:
        """A planner of these values, by the names of fields."""
        return cls(kind=kind, values=values)

    def __getitem__(self, wanted: Field[T]) -> T:
        found: T = self.values.get(wanted.name, wanted.default)
        return found
