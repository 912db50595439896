"""The anchors of the suites of grids, for the list of bundled planners."""

from evaluator.arc.planners.planners import IdentityPlanner, SearchPlanner
from evaluator.planners.anchors import BundledEntry

BUNDLED = (
    BundledEntry(
        name="identity",
        description="The test inputs as outputs: what changing nothing is worth.",
        make=IdentityPlanner,
        is_named_by_suites=True,
    ),
    BundledEntry(
        name="arc-search",
        description="Enumerates programs over the helpers, without a model: up to three that fit all demonstrations.",
        make=SearchPlanner,
        is_named_by_suites=True,
    ),
)
