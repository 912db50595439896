"""The kinds of planners, one module for each, and the registry that everything else asks. docs/extending.md has the
recipe for a new kind."""

from collections.abc import Mapping
from typing import Any

from leaderboard.planners.data import COMMON, Errors
from leaderboard.planners.kinds.a2a import A2AKind
from leaderboard.planners.kinds.agent import AgentKind
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.bundled import BUNDLED_PLANNERS, BundledKind
from leaderboard.planners.kinds.called import EndpointKind
from leaderboard.planners.kinds.chat import ChatKind
from leaderboard.planners.kinds.checkpoint import CheckpointKind
from leaderboard.planners.kinds.hub import HubKind
from leaderboard.planners.kinds.of_roles import RolesKind
from leaderboard.planners.kinds.plans import PlansKind
from leaderboard.planners.models import Planner
from leaderboard.platform.fields import Field, SeenBy, merged

__all__ = [
    "BUNDLED_PLANNERS",
    "FIELDS",
    "KINDS",
    "SECRETS",
    "Errors",
    "Facts",
    "Kind",
    "fields_of",
    "kind_of",
    "kinds_with",
]

KINDS: Mapping[str, Kind] = {
    kind.kind.value: kind
    for kind in (
        EndpointKind(),
        A2AKind(),
        ChatKind(),
        HubKind(),
        CheckpointKind(),
        RolesKind(),
        BundledKind(),
        PlansKind(),
        AgentKind(),
    )
}
"""The kinds by name, in the order in which the form offers them."""

FIELDS: tuple[Field[Any], ...] = merged([*(kind.fields for kind in KINDS.values()), COMMON])
"""All fields of all kinds, in the order of the page."""
SECRETS: tuple[str, ...] = tuple(field.name for field in FIELDS if field.seen_by is SeenBy.NOBODY)
"""Names of the fields that nobody may read."""


def fields_of(kind: str) -> tuple[Field[Any], ...]:
    """The fields of a kind besides those of all planners; none if there is no such kind."""
    return KINDS[kind].fields if kind in KINDS else ()


def kinds_with(field: Field[Any]) -> list[str]:
    """Names of the kinds that have a field of their own; empty: all planners may have it."""
    return [name for name, kind in KINDS.items() if field in kind.fields]


def kind_of(planner: Planner) -> Kind:
    """The kind of a planner."""
    return KINDS[planner.kind]
