"""`BundledEntry`: the declaration of a bundled planner and the suites that it is an anchor of."""

from collections.abc import Callable
from dataclasses import dataclass

from evaluator.core.planner import Planner
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import judged_suites, suites_with_anchor, suites_without_gold


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledEntry:
    """A bundled planner."""

    name: str
    description: str
    make: Callable[[Suite], Planner]
    samples: bool = False
    """Whether its plans depend on the seed of a run."""
    knows_gold: bool = False
    """Whether its plans disclose gold plans, at least in part."""
    is_for_judged: bool = False
    """Whether it is an anchor only of suites that judge plans instead of executing them."""
    is_named_by_suites: bool = False
    """Whether it is an anchor only of suites whose entry names it."""
    is_shortcut: bool = False
    """Whether it knows words instead of meanings (`evaluator.planners.shortcuts`)."""
    learns: bool = False
    """Whether it is trained on gold plans of public requests."""
    is_further_seed: bool = False
    """Whether it repeats another planner with a further seed: five seeds show the share of chance in a score."""
    is_floor: bool = False
    """Whether it answers without planning: what scores without understanding a request are compared with."""

    @property
    def suites(self) -> tuple[str, ...]:
        """Slugs of the suites whose anchor it is; empty: all."""
        if self.is_named_by_suites:
            return suites_with_anchor(self.name)
        return judged_suites() if self.is_for_judged else ()

    @property
    def lacking(self) -> tuple[str, ...]:
        """Slugs of the suites that lack the gold plans it needs."""
        return suites_without_gold() if self.knows_gold or self.learns else ()

    def understands(self, suite: str) -> bool:
        """Whether it is an anchor of the suite with this slug."""
        return suite not in self.lacking and (not self.suites or suite in self.suites)
