"""The interface of episodes, which lead from a task to its result record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner
from evaluator.core.records import Reason, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, SeedError, data_digest, suite_on_split
from evaluator.core.suites.registry import entry_of
from evaluator.scoring.arbiters.base import ArbiterName

if TYPE_CHECKING:
    from evaluator.execution.engine.progress import Listener
    from evaluator.execution.engine.store import Store


class SettingError(ValueError):
    """A suite cannot be evaluated in this setting; the message is a clause that gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The conditions and resources of an evaluation. Episodes ignore what they do not need."""

    split: str = ""
    """A split of the suite; empty: its first split."""
    hidden: HiddenSeed | None = None
    """The seed of the hidden split; ignored on other splits."""
    profile: str = ""
    """Name of the profile whose experts run the tools."""
    samples: int = 1
    """Data points per task."""
    data: str | None = None
    """Location of the papers' data: `folder:PATH` or `hub[:PATH]`."""
    inputs: str | None = None
    """Folder with the files named by the requests of ControlLLM's suites; None: from the environment."""
    open_store: "Callable[[], Store] | None" = None
    """Opens the store of artefacts; called at most once, and only where tools run."""
    device: str = "cpu"
    """Torch device of experts and scorers."""
    memory_budget: int | None = None
    """Total bytes of loaded experts; None: see `ExpertPool`."""
    listener: "Listener | None" = None
    arbiter: ArbiterName | None = None
    """Decides what a judge's rules leave open; None: no arbiter."""
    arbiter_key: str = field(default="", repr=False)
    """API key of a chat arbiter."""

    @property
    def hidden_seed(self) -> str | None:
        """The secret itself."""
        return None if self.hidden is None else self.hidden.secret

    def suite_asked(self, suite: Suite) -> Suite:
        """The suite as planners see it in this setting.

        Raises:
            ValueError: as `suite_on_split` does.
        """
        sealed = () if self.hidden is None else self.hidden.sealed
        return suite_on_split(suite=suite, split=self.split, hidden_seed=self.hidden_seed, sealed=sealed)


def identity_of_data(*, source: str, suite: Suite, setting: Setting) -> str:
    """`Episode.data_digest` for a source of samples with this digest."""
    split = setting.split or suite.conditions.splits[0]
    if split != HIDDEN:
        return data_digest(source=source, split=split)
    if setting.hidden is None:
        raise SettingError("the hidden split needs its secret seed")
    try:
        return setting.hidden.data_digest(source=source, suite=suite.slug)
    except SeedError as error:
        raise SettingError(str(error)) from error


class Evaluator(Protocol):
    """Evaluates planners on one suite in one setting. Experts and scorers stay loaded between calls."""

    @property
    def suite(self) -> Suite:
        """The suite as presented to planners: with hidden requests on the hidden split."""
        ...

    def run(self, *, planner: Planner, tasks: Sequence[str], run: str = "") -> Iterator[ResultRecord]:
        """Evaluate a planner on tasks and yield each record as soon as it is complete.

        Args:
            planner: the planner.
            tasks: task keys.
            run: name of the run of a suite in turns, whose interrupted episodes continue in a run of the same name.
                Empty: a new run.

        Raises:
            LookupError: the suite has no task with one of the keys.
        """
        ...

    def facts(self) -> dict[str, JsonValue]:
        """The inputs that the figures depend on, and measurements; complete after `run`."""
        ...


class Episode(Protocol):
    """How a suite queries planners, what it runs, and how it scores. Construction is cheap."""

    @property
    def executes(self) -> bool:
        """Whether plans are executed; otherwise they are judged as written."""
        ...

    @property
    def in_turns(self) -> bool:
        """Whether planners act in turns; otherwise they give whole plans."""
        ...

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:
        """Digest of everything that a score depends on besides suite, data and samples.

        Raises:
            SettingError: the profile cannot be read, or the arbiter has no weights.
        """
        ...

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """Digest of the data in this setting; on the hidden split it covers the commitment to the seed.

        Raises:
            SettingError: the data or the hidden split's seed are missing.
        """
        ...

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:
        """Names of the tools that a plan may call.

        Raises:
            SettingError: the profile cannot be read.
        """
        ...

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:
        """By task key, the reason and sentence of the tasks that no planner can run in this setting.

        Raises:
            SettingError: the suite's data or experts are missing.
        """
        ...

    def evaluator(self, *, suite: Suite, setting: Setting) -> Evaluator:
        """The evaluator in this setting. All errors of the setting are raised before torch loads.

        Raises:
            SettingError: as for `not_run` and `data_digest`.
        """
        ...

    def empty_plan(self, *, is_fault: bool) -> str:
        """A sentence on the score of a plan without steps; `is_fault` if the plan is unreadable or invalid."""
        ...


def episode_of(slug: str) -> Episode:
    """The episode of the suite with this slug; raises `LookupError` if there is none."""
    return cast("Episode", entry_of(slug).episode)
