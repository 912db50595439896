"""The episode of suites in turns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evaluator.arbiters.naming import ArbiterName
from evaluator.canonical_json import digest
from evaluator.episodes.base import Setting, SettingError, identity_of_data
from evaluator.episodes.turns.environment import Environment
from evaluator.episodes.turns.feedback import Bounds
from evaluator.records import Reason
from evaluator.suites.base import Suite
from evaluator.suites.hidden import suite_on_split

if TYPE_CHECKING:
    from evaluator.episodes.turns.evaluator import TurnEvaluator


@dataclass(frozen=True, slots=True)
class InteractiveEpisodes:
    """A planner is asked turn by turn; what it wants is run in between, by exact tools that need no expert."""

    environment: Callable[[], Environment]
    """Makes the tools and rules of the suite; cheap. Raises LookupError where their files are not here."""
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def executes(self) -> bool:
        """See `Episode`: no expert of a profile runs."""
        return False

    @property
    def in_turns(self) -> bool:
        """See `Episode`."""
        return True

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:  # noqa: ARG002 - no expert runs
        """See `Episode`."""
        bounds = self.bounds
        limits = [
            bounds.turns, bounds.actions, bounds.seconds, bounds.feedback_characters, bounds.held_characters,
        ]  # fmt: skip
        return digest({"environment": self._made().digest(), "limits": limits})

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """See `Episode`. Requests are in the suite's digest, what tools read in that of the rules."""
        return identity_of_data(source="", suite=suite, setting=setting)

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:  # noqa: ARG002 - no expert runs
        """See `Episode`: all tools of the catalogue."""
        return frozenset(suite.catalogue.tools)

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:  # noqa: ARG002
        """See `Episode`."""
        return self._made().not_run(suite)

    def evaluator(self, *, suite: Suite, setting: Setting) -> "TurnEvaluator":
        """See `Episode`."""
        from evaluator.episodes.turns.evaluator import TurnEvaluator

        try:
            asked = suite_on_split(suite=suite, split=setting.split, hidden_seed=setting.hidden_seed)
        except ValueError as error:
            raise SettingError(str(error)) from error
        return TurnEvaluator(suite=asked, environment=self._made(), bounds=self.bounds, open_journal=setting.open_store)

    def empty_plan(self, *, is_fault: bool) -> str:
        """See `Episode`."""
        if is_fault:
            return "No action would be run, and the task would score 0."
        return "No action would be run, and the task would have no answer."

    def _made(self) -> Environment:
        try:
            return self.environment()
        except LookupError as error:
            raise SettingError(str(error)) from error
