"""The episode of suites in turns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import suite_on_split
from evaluator.episodes.base import Setting, SettingError, identity_of_data
from evaluator.episodes.turns.environment import Bounds, Environment, ExpertEnvironment, offered_tools
from evaluator.scoring.arbiters.base import ArbiterName

if TYPE_CHECKING:
    from evaluator.episodes.turns.evaluator import TurnEvaluator


@dataclass(frozen=True, slots=True)
class InteractiveEpisodes:
    """A planner is asked turn by turn; what it wants is run in between, by exact tools or by experts."""

    environment: Callable[[Setting], Environment]
    """Makes the tools and rules of the suite in a setting; cheap. Raises LookupError or ValueError where their files or
    data are not here."""
    bounds: Bounds = field(default_factory=Bounds)
    experts: bool = False
    """Whether experts of a profile are among the tools: the environment is then an `ExpertEnvironment`."""

    @property
    def executes(self) -> bool:
        """See `Episode`."""
        return self.experts

    @property
    def in_turns(self) -> bool:
        """See `Episode`."""
        return True

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:  # noqa: ARG002
        """See `Episode`: of the tools and limits, with the profile's where experts run."""
        bounds = self.bounds
        limits: list[JsonValue] = [
            bounds.turns, bounds.actions, bounds.seconds, bounds.feedback_characters, bounds.held_characters,
        ]  # fmt: skip
        rules: dict[str, JsonValue] = {"environment": self._made(Setting(profile=profile)).digest(), "limits": limits}
        if self.experts:
            rules["profile"] = _profile_digest(profile)
        return digest(rules)

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """See `Episode`. Requests are in the suite's digest, what exact tools read in that of the rules."""
        environment = self._made(setting) if self.experts else None
        source = environment.source() if isinstance(environment, ExpertEnvironment) else ""
        return identity_of_data(source=source, suite=suite, setting=setting)

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:
        """See `Episode`: all tools of the catalogue, except those that lack their expert."""
        return offered_tools(suite=suite, environment=self._made(Setting(profile=profile)))

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:
        """See `Episode`."""
        return self._made(setting).not_run(suite)

    def evaluator(self, *, suite: Suite, setting: Setting) -> "TurnEvaluator":
        """See `Episode`."""
        from evaluator.episodes.turns.evaluator import TurnEvaluator

        if self.experts and setting.open_store is None:
            raise SettingError(f"{suite.slug} runs experts, which needs a store for what they make")
        try:
            suite_asked = suite_on_split(suite=suite, split=setting.split, hidden_seed=setting.hidden_seed)
        except ValueError as error:
            raise SettingError(str(error)) from error
        return TurnEvaluator(
            suite=suite_asked, environment=self._made(setting), bounds=self.bounds, open_journal=setting.open_store
        )

    def empty_plan(self, *, is_fault: bool) -> str:
        """See `Episode`."""
        if is_fault:
            return "No action would be run, and the task would score 0."
        return "No action would be run, and the task would have no answer."

    def _made(self, setting: Setting) -> Environment:
        try:
            return self.environment(setting)
        except (LookupError, ValueError) as error:
            raise SettingError(str(error)) from error


def _profile_digest(name: str) -> str:
    from evaluator.execution.experts.profile import ProfileError, load_profile

    try:
        return load_profile(name).digest
    except ProfileError as error:
        raise SettingError(str(error)) from error
