"""The kinds of planners, one module for each. A new one is a class here, a `PlannerKind` and its line in `NEEDED`, its
fields in `PlannerData`, its message in `gpu_jobs.contract.lease` and its opener in `gpu_jobs.planners`."""

from collections.abc import Mapping

from leaderboard.planners.data import Errors
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.bundled import BUNDLED_PLANNERS, BundledKind
from leaderboard.planners.kinds.chat import ChatKind
from leaderboard.planners.kinds.checkpoint import CheckpointKind
from leaderboard.planners.kinds.endpoint import EndpointKind
from leaderboard.planners.kinds.hub import HubKind
from leaderboard.planners.kinds.plans import PlansKind
from leaderboard.planners.models import Planner

__all__ = ["BUNDLED_PLANNERS", "KINDS", "Errors", "Facts", "Kind", "kind_of"]

KINDS: Mapping[str, Kind] = {
    kind.kind.value: kind
    for kind in (EndpointKind(), ChatKind(), HubKind(), CheckpointKind(), BundledKind(), PlansKind())
}
"""The rules by `PlannerKind`, in the order in which they are offered."""


def kind_of(planner: Planner) -> Kind:
    """The rules of a planner that was entered."""
    return KINDS[planner.kind]
