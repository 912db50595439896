"""What an episode is: the way from a task to its result record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner
from evaluator.core.records import Reason, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, SeedError, data_digest
from evaluator.core.suites.registry import entry_of
from evaluator.scoring.arbiters.base import ArbiterName

if TYPE_CHECKING:
    from evaluator.execution.engine.progress import Listener
    from evaluator.execution.engine.store import Store


class SettingError(ValueError):
    """A suite cannot be evaluated in this setting; the message is part of a sentence that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Under which conditions a suite is evaluated, and with what. An episode ignores what it does not need."""

    split: str = ""
    """A split of the suite; empty: its first."""
    hidden: HiddenSeed | None = None
    """The seed of the hidden split; ignored on the others."""
    profile: str = ""
    """Which experts run the tools."""
    samples: int = 1
    """Data points per task."""
    data: str | None = None
    """Where the papers' data are: `folder:PATH` or `hub[:PATH]`."""
    inputs: str | None = None
    """Folder with the files that the requests of ControlLLM's suites name; None: the environment's."""
    open_store: "Callable[[], Store] | None" = None
    """Opens what artefacts are kept in; called, once, only where tools run."""
    device: str = "cpu"
    """Torch device of experts and scorers."""
    memory_budget: int | None = None
    """Bytes that loaded experts may occupy together; None: no limit."""
    listener: "Listener | None" = None
    """Receives the progress of execution."""
    arbiter: ArbiterName | None = None
    """Settles what the rules of a judge leave undecided; None: nobody does."""
    arbiter_key: str = field(default="", repr=False)
    """API key of a chat arbiter."""

    @property
    def hidden_seed(self) -> str | None:
        """The secret itself."""
        return None if self.hidden is None else self.hidden.secret


def identity_of_data(*, source: str, suite: Suite, setting: Setting) -> str:
    """`Episode.data_digest` of a source of samples with this digest."""
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
    """Evaluates planners on one suite in one setting. What it has loaded stays loaded between calls."""

    @property
    def suite(self) -> Suite:
        """The suite as planners are asked: on the hidden split, with hidden requests."""
        ...

    def run(self, *, planner: Planner, tasks: Sequence[str], run: str = "") -> Iterator[ResultRecord]:
        """Evaluate a planner on the named tasks and yield each task's record as soon as it is complete.

        Args:
            planner: the planner.
            tasks: keys of tasks.
            run: names the run where planners are asked turn by turn: episodes that were cut off go on in a run of the
                same name. Empty: a new run.

        Raises:
            LookupError: a key names no task of the suite.
        """
        ...

    def facts(self) -> dict[str, JsonValue]:
        """What the figures depend on, and what was measured on the way; complete after `run`."""
        ...


class Episode(Protocol):
    """How planners are asked on a suite, what is run, and how the outcome is scored. Making one loads nothing heavy."""

    @property
    def executes(self) -> bool:
        """Whether plans are executed; otherwise they are judged as they are written."""
        ...

    @property
    def in_turns(self) -> bool:
        """Whether planners are asked turn by turn; otherwise for a whole plan."""
        ...

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:
        """Digest of everything besides suite, data and samples that a score depends on.

        Args:
            profile: of the experts, where they run.
            arbiter: settles what the rules of a judge leave undecided.

        Raises:
            SettingError: the profile cannot be read, or the arbiter has no weights.
        """
        ...

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """Digest of the data of this setting, with the commitment to the seed on the hidden split.

        Raises:
            SettingError: there are no data, or the hidden split has no seed.
        """
        ...

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:
        """Names of the tools that a plan may call.

        Raises:
            SettingError: the profile cannot be read.
        """
        ...

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:
        """Why tasks cannot run in this setting, with a sentence, by task key; the same for every planner.

        Raises:
            SettingError: there are no data or no experts for the suite.
        """
        ...

    def evaluator(self, *, suite: Suite, setting: Setting) -> Evaluator:
        """What evaluates planners in this setting. Everything that can be wrong with it is found before torch loads.

        Raises:
            SettingError: see `not_run`, or the hidden split has no seed.
        """
        ...

    def empty_plan(self, *, is_fault: bool) -> str:
        """What a plan without steps scores, as a sentence.

        Args:
            is_fault: whether such a plan cannot be read or is not valid.
        """
        ...


def episode_of(slug: str) -> Episode:
    """How planners are asked and scored on the suite with this slug.

    Raises:
        LookupError: there is none.
    """
    return cast("Episode", entry_of(slug).episode)
