"""The interface of environments: limits of episodes, tools that run actions, results, and scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, runtime_checkable

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.core.records import ArtefactReference, Reason, ResultRecord, StepRun
from evaluator.core.suites.base import Suite, Task
from evaluator.core.tools.types import ResourceType
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.turns.reading import NamedStep
from evaluator.replies.turns.model import Action, Reference

MOST_NAMED = 20
"""Names listed in one sentence."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A typed reference to an artefact."""

    kind: ResourceType
    artefact: ArtefactReference

    def __str__(self) -> str:
        """The text form in an episode."""
        return f"{self.kind} {self.artefact.digest} {self.artefact.media_type}"

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`."""
        kind, digest, media_type = text.split(" ", 2)
        return cls(ResourceType(kind), ArtefactReference(digest=digest, media_type=media_type))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTask:
    """The inputs and answer types of an episode with typed results."""

    inputs: Mapping[str, TypedValue]
    """The request's inputs by name, without the `$`."""
    answer_types: tuple[ResourceType, ...]
    """The type of each answer; empty: any answer."""

    def values(self) -> dict[str, str]:
        """The inputs under the names that actions may use: with and without `$`."""
        return {key: str(value) for name, value in self.inputs.items() for key in (f"${name}", name)}

    def names_in(self, answer: str) -> tuple[str, ...]:
        """The names in an answer, separated by commas."""
        return tuple(name for part in answer.split(",") if (name := part.strip().strip("[]'\"").strip()))

    def default_answers(self, *, results: Sequence[str], used: frozenset[str]) -> tuple[str, ...]:
        """The answers of a planner that stops: the latest result, or for several answers the unused results.

        Args:
            results: names of the results, the latest last.
            used: names of the results that actions used.
        """
        if len(self.answer_types) == 1:
            return tuple(results[-1:])
        return tuple(name for name in results if name not in used)

    def problem(self, *, names: Sequence[str], values: Mapping[str, str]) -> str:
        """Why these results are not valid answers, as a sentence; empty if they are."""
        types = self.answer_types
        if types and len(names) != len(types):
            expected = f"{len(types)} result{'s' if len(types) > 1 else ''} ({', '.join(types)})"
            return f"The answer is {expected}; this names {', '.join(names[:MOST_NAMED]) or 'none'}."
        for name in names:
            if name not in values:
                return f"The answer must name a result, and {quoted(name)} is none; {known_names(values)}."
        for name, expected_type in zip(names, types, strict=False):
            kind = TypedValue.read(values[name]).kind
            if kind is not expected_type:
                return f"The answer {name} is {kind}; this request expects {expected_type}."
        return ""


def known_names(values: Mapping[str, str]) -> str:
    """The existing names, for an error message."""
    # Inputs have two names; the one without `$` is omitted.
    names = [name for name in values if f"${name}" not in values]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"there are: {', '.join(names[:MOST_NAMED]) or 'none'}{more}"


def quoted(text: str) -> str:
    """A quoted text of at most 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One action with the values of its references. Equal calls have equal outcomes in all episodes."""

    scope: str
    """The state that tools act on besides their arguments, such as the name of a database."""
    tool: str
    arguments: str
    """As written by the planner."""
    references: tuple[Reference, ...]
    values: Mapping[str, str] = field(hash=False)
    """The value of each reference, as a text."""
    outputs: int
    """Number of results that the action names; at least 1."""
    action: Action | None = field(default=None, hash=False)
    """The parsed action, if written in LUMOS's grammar."""
    named: NamedStep | None = field(default=None, hash=False)
    """Inputs and outputs by name, if written as a step of `plan/1`."""
    sample: int = 0
    """Index of the data point."""
    pictures: bool = False
    """Whether the planner receives picture results as pictures."""

    def identity(self) -> JsonValue:
        """Everything that the outcome depends on besides the rules of the environment."""
        return [self.scope, self.tool, self.arguments, dict(self.values), self.outputs]


@dataclass(frozen=True, slots=True)
class Shown:
    """A result as displayed to planners and in records."""

    text: str
    picture: str = ""
    """A PNG in base64, if the result is a picture and the planner accepts pictures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertRun:
    """One call of an expert."""

    tool: str
    """Name in the catalogue, regardless of the planner's spelling."""
    inputs: Mapping[str, str]
    """By name, the reference or text in the action."""
    outputs: tuple[str, ...]
    """Names of the outputs that the action uses, in the order of its results."""
    step: StepRun


@dataclass(frozen=True, slots=True)
class Made:
    """The results of an action."""

    values: tuple[str, ...]
    """One text for each result that the action names, for later actions."""
    shown: tuple[Shown, ...] = ()
    """The display of each result; empty: the value itself."""
    run: ExpertRun | None = None
    """The expert's call, if any."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A failed action."""

    problem: ActionProblem
    message: str
    """A sentence for the planner."""


@dataclass(frozen=True, slots=True)
class ToolFault:
    """The failure of an expert or the store on a valid action. The episode ends without a score."""

    message: str
    """A sentence."""


Outcome = Made | Refused | ToolFault


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScore:
    """The score of an episode."""

    score: float
    indicators: Mapping[str, float] = field(default_factory=dict)
    explanations: Mapping[str, str] = field(default_factory=dict)
    expected: str | None = None
    """The correct answer as a text."""
    answer: str | None = None
    """The displayed answer; None: as given by the planner."""


class Environment(Protocol):
    """The tools and rules of one suite in turns. Not thread-safe."""

    def digest(self) -> str:
        """Digest of the rules; changes whenever a reply may lead to another score."""
        ...

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """Reason and sentence of the tasks that no planner can run."""
        ...

    def scope(self, task: Task) -> str:
        """The state that tools act on in the episodes of a task."""
        ...

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """Run independent calls and return their outcomes, in order. All failures are outcomes."""
        ...

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """Score a finished episode. `answer` is complete, where the transcript may be truncated; None: no answer."""
        ...


@runtime_checkable
class ExpertEnvironment(Environment, Protocol):
    """An environment with experts among its tools. Construction loads no expert and opens no store."""

    def offered(self, suite: Suite) -> frozenset[str]:
        """Names of the callable tools: those that need no expert or have one in the profile."""
        ...

    def source(self) -> str:
        """Digest of the data points; empty if the tasks consist of text only."""
        ...

    def facts(self) -> dict[str, JsonValue]:
        """Profile, executed calls and device for the evaluator's facts; complete after the last call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedEpisode:
    """A finished episode of one data point."""

    sample: int
    transcript: Transcript
    plan: Plan
    """The successful actions as steps."""
    steps: tuple[StepRun, ...]
    """The runs of these steps."""
    answers: tuple[ArtefactReference, ...]
    """One for each answer of the task; empty if the episode ended without answers."""


@runtime_checkable
class SampleEnvironment(ExpertEnvironment, Protocol):
    """An environment with one episode for each data point, whose tools take named, typed inputs."""

    def prepare(self, *, suite: Suite, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Prepare the episodes and scores of tasks, and return by key why tasks cannot run, as a sentence."""
        ...

    def episodes(self, task: Task) -> int:
        """Number of data points used of a task."""
        ...

    def begin(self, *, task: Task, sample: int) -> TypedTask:
        """The initial state of an episode of a prepared task."""
        ...

    def scored(
        self, *, suite: Suite, task: Task, record: ResultRecord, episodes: Sequence[FinishedEpisode]
    ) -> ResultRecord:
        """Complete the record of a task and the scores of its transcripts.

        Args:
            suite: the suite as presented to planners.
            task: the task.
            record: the record so far.
            episodes: one for each data point, in order.
        """
        ...


def offered_tools(*, suite: Suite, environment: Environment) -> frozenset[str]:
    """Names of the callable tools."""
    if isinstance(environment, ExpertEnvironment):
        return environment.offered(suite)
    return frozenset(suite.catalogue.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of an episode."""

    turns: int = 16
    actions: int = 64
    seconds: float = 600.0
    """Time of the planner and the tools together, without waiting for other episodes."""
    feedback_characters: int = 4000
    """Length of the feedback after one turn, and of its subgoals in later requests."""
    held_characters: int = 1_000_000
    """Total length of all results available to later actions."""
