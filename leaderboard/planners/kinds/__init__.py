"""The kinds of planners, one module for each. A new one is a class here with its fields, a `PlannerKind` and its line
in `NEEDED`, its message in `gpu_jobs.contract.lease` and its opener in `gpu_jobs.planners`."""

from collections.abc import Mapping
from typing import Any

from leaderboard.planners.data import COMMON, Errors
from leaderboard.planners.fields import Field, SeenBy, merged
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.bundled import BUNDLED_PLANNERS, BundledKind
from leaderboard.planners.kinds.chat import ChatKind
from leaderboard.planners.kinds.checkpoint import CheckpointKind
from leaderboard.planners.kinds.endpoint import EndpointKind
from leaderboard.planners.kinds.hub import HubKind
from leaderboard.planners.kinds.plans import PlansKind
from leaderboard.planners.models import Planner

__all__ = ["BUNDLED_PLANNERS", "FIELDS", "KINDS", "SECRETS", "Errors", "Facts", "Kind", "kind_of", "kinds_with"]

KINDS: Mapping[str, Kind] = {
    kind.kind.value: kind
    for kind in (EndpointKind(), ChatKind(), HubKind(), CheckpointKind(), BundledKind(), PlansKind())
}
"""The rules by `PlannerKind`, in the order in which they are offered."""

FIELDS: tuple[Field[Any], ...] = merged([*(kind.fields for kind in KINDS.values()), COMMON])
"""All that may be submitted of a planner, in the order of the page."""
SECRETS: tuple[str, ...] = tuple(field.name for field in FIELDS if field.seen_by is SeenBy.NOBODY)
"""The names of those that nobody may read."""


def kinds_with(field: Field[Any]) -> list[str]:
    """The kinds that have a field of their own; none: all planners may have it."""
    return [name for name, kind in KINDS.items() if field in kind.fields]


def kind_of(planner: Planner) -> Kind:
    """The rules of a planner that was entered."""
    return KINDS[planner.kind]
