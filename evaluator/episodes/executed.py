"""The episode of suites whose plans are executed by experts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import HIDDEN
from evaluator.episodes.base import Setting, SettingError, episode_of, identity_of_data
from evaluator.episodes.parts import not_run_reasons
from evaluator.replies.version import READER
from evaluator.scoring.arbiters.base import ArbiterName

if TYPE_CHECKING:
    from evaluator.core.suites.samples import SampleSource
    from evaluator.episodes.execution import ExecutionEvaluator, Responses
    from evaluator.episodes.judgement import Judge
    from evaluator.execution.engine.progress import Listener
    from evaluator.execution.engine.store import Store
    from evaluator.execution.experts.profile import Profile


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything needed to execute plans. Construction does not load torch."""

    suite: Suite
    """The suite as presented to planners."""
    profile: "Profile"
    samples: "SampleSource"
    count: int
    store: "Store"
    device: str
    memory_budget: int | None
    split: str
    judge: "Judge | None" = None
    beside_gold: bool = False
    counterparts: "SampleSource | None" = None
    responses: "Responses | None" = None

    def evaluator(self, *, listener: "Listener | None" = None) -> "ExecutionEvaluator":
        """The evaluator. Loads torch."""
        from evaluator.episodes.execution import ExecutionEvaluator

        return ExecutionEvaluator(
            suite=self.suite, profile=self.profile, samples=self.samples, count=self.count, store=self.store,
            device=self.device, memory_budget=self.memory_budget, listener=listener, split=self.split,
            judge=self.judge, beside_gold=self.beside_gold, counterparts=self.counterparts,
            responses=self.responses,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExecutedPlans:
    """Planners give one plan per task; it is executed on every sample, and a scorer compares answers with
    references."""

    samples: "Callable[[Setting], SampleSource]"
    """The suite's data in a setting; raises LookupError or ValueError if they are missing."""
    judge: "Judge | None" = None
    """Judges valid plans as well: adds indicators and leaves the score unchanged."""
    beside_gold: bool = False
    """Whether to execute gold plans too, for the indicator `relative`."""
    counterparts: "Callable[[Setting], SampleSource] | None" = None
    """Other inputs of the same tasks and samples with the same references: plans are executed on them too, for the
    indicator `drop`. The digest of `samples` covers them. Step-by-step forms leave them out."""
    extended: Mapping[str, str] = field(default_factory=dict)
    """By the name of a profile, that of the one that extends it by tools which other suites do not offer."""
    responses: "Responses | None" = None
    """Scores what planners say about their results, in optional columns."""
    scored_by: "Callable[[], str] | None" = None
    """Digest of code that scores results without a model, where no judge's digest covers it."""

    @property
    def executes(self) -> bool:
        return True

    @property
    def in_turns(self) -> bool:
        return False

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:  # noqa: ARG002 - settles no score
        """See `Episode`: covers the profile, the reader of replies, and the judge and further scoring code, if any."""
        rules: dict[str, JsonValue] = {"profile": self.profile(profile).digest, "reader": READER}
        if self.judge is not None:
            rules["judge"] = self.judge.digest()
        if self.scored_by is not None:
            rules["scores"] = self.scored_by()
        return digest(rules)

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        return identity_of_data(source=self._samples(setting).digest, suite=suite, setting=setting)

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:  # noqa: ARG002 - the profile decides
        """See `Episode`: the tools with an expert."""
        return frozenset(self.profile(profile).experts)

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:
        """See `Episode`: tasks without data, or without an expert for a tool of their gold plan."""
        return not_run_reasons(suite=suite, profile=self.profile(setting.profile), samples=self._samples(setting))

    def evaluator(self, *, suite: Suite, setting: Setting) -> "ExecutionEvaluator":
        return self.prepared(suite=suite, setting=setting).evaluator(listener=setting.listener)

    def prepared(self, *, suite: Suite, setting: Setting) -> Prepared:
        """Everything needed by the evaluator; raises `SettingError` if something is missing."""
        if setting.open_store is None:
            raise SettingError(f"{suite.slug} executes plans, which needs a store for what they make")
        profile, samples = self.profile(setting.profile), self._samples(setting)
        counterparts = None if self.counterparts is None else self.counterparts(setting)
        try:
            suite_asked = setting.suite_asked(suite)
            store = setting.open_store()
        except ValueError as error:
            raise SettingError(str(error)) from error
        return Prepared(
            suite=suite_asked, profile=profile, samples=samples, count=setting.samples, store=store,
            device=setting.device, memory_budget=setting.memory_budget, split=setting.split, judge=self.judge,
            beside_gold=self.beside_gold, counterparts=counterparts, responses=self.responses,
        )  # fmt: skip

    def profile(self, name: str) -> "Profile":
        """The profile that plans are executed with where one of this name is chosen; see `named_profile`."""
        return named_profile(self.extended.get(name, name))

    def empty_plan(self, *, is_fault: bool) -> str:
        if is_fault:
            return "That is a planner fault: the task would score 0."
        return "No tool would run, and the request's own input would be scored as the answer."

    def _samples(self, setting: Setting) -> "SampleSource":
        try:
            return self.samples(setting)
        except (LookupError, ValueError) as error:
            raise SettingError(str(error)) from error


def hidden_seed(setting: Setting) -> str | None:
    """The seed on the hidden split, else None: sources of open data refuse one."""
    return setting.hidden_seed if setting.split == HIDDEN else None


def profile_of(*, suite: str, name: str) -> "Profile":
    """The profile with which plans for a suite are executed where one of this name is chosen.

    Raises:
        SettingError: it cannot be read.
        LookupError: there is no such suite.
    """
    episode = episode_of(suite)
    return episode.profile(name) if isinstance(episode, ExecutedPlans) else named_profile(name)


def named_profile(name: str) -> "Profile":
    """Load a profile; raises `SettingError` if it cannot be read."""
    from evaluator.execution.experts.profile import ProfileError, load_profile

    try:
        return load_profile(name)
    except ProfileError as error:
        raise SettingError(str(error)) from error
