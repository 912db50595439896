"""What a suite in turns gives its episodes: bounds, tools that run actions, results, and scores."""

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
"""Names that one sentence lists."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value of a declared type, as a reference to its artefact."""

    kind: ResourceType
    artefact: ArtefactReference

    def __str__(self) -> str:
        """As an episode holds it."""
        return f"{self.kind} {self.artefact.digest} {self.artefact.media_type}"

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`."""
        kind, digest, media_type = text.split(" ", 2)
        return cls(ResourceType(kind), ArtefactReference(digest=digest, media_type=media_type))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedTask:
    """What an episode of a task with typed results starts with, and which answers end it."""

    given: Mapping[str, TypedValue]
    """The request's inputs by name, without the `$`."""
    wanted: tuple[ResourceType, ...]
    """The type of each answer; empty: any answers."""

    def held(self) -> dict[str, str]:
        """The inputs under the names that actions may use: with the `$`, and without it."""
        return {key: str(value) for name, value in self.given.items() for key in (f"${name}", name)}

    def names_in(self, answer: str) -> tuple[str, ...]:
        """The results that an answer names, separated by commas."""
        return tuple(part for one in answer.split(",") if (part := one.strip().strip("[]'\"").strip()))

    def last(self, *, made: Sequence[str], taken: frozenset[str]) -> tuple[str, ...]:
        """The results that are the answers of a planner that stops: the last one; of several answers, those results
        that no action took.

        Args:
            made: names of the results, the latest last.
            taken: names of those that actions took.
        """
        if len(self.wanted) == 1:
            return tuple(made[-1:])
        return tuple(name for name in made if name not in taken)

    def problem(self, *, names: Sequence[str], values: Mapping[str, str]) -> str:
        """Why these results are no answers, as a sentence; empty if they are."""
        if self.wanted and len(names) != len(self.wanted):
            expected = f"{len(self.wanted)} result{'s' if len(self.wanted) > 1 else ''} ({', '.join(self.wanted)})"
            return f"The answer is {expected}; this names {', '.join(names[:MOST_NAMED]) or 'none'}."
        for name in names:
            if name not in values:
                return f"The answer must name a result, and {_short(name)} is none; {known_names(values)}."
        for name, wanted in zip(names, self.wanted, strict=False):
            kind = TypedValue.read(values[name]).kind
            if kind is not wanted:
                return f"The answer {name} is {kind}; this request expects {wanted}."
        return ""


def known_names(values: Mapping[str, str]) -> str:
    """The names that there are, for an error."""
    # An input is under two names: the one without `$` is left out.
    names = [name for name in values if f"${name}" not in values]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"there are: {', '.join(names[:MOST_NAMED]) or 'none'}{more}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One action with the values it refers to. Equal calls have equal outcomes in every episode."""

    scope: str
    """What the tools act on besides their arguments, such as the name of a database."""
    tool: str
    arguments: str
    """As the planner wrote them."""
    references: tuple[Reference, ...]
    values: Mapping[str, str] = field(hash=False)
    """The value of each reference, as a text."""
    outputs: int
    """How many results the action names; at least 1."""
    action: Action | None = field(default=None, hash=False)
    """As it was read, if it was written in LUMOS's grammar."""
    named: NamedStep | None = field(default=None, hash=False)
    """Inputs and outputs by name, if it was written as a step of `plan/1`."""
    sample: int = 0
    """Index of the data point."""
    pictures: bool = False
    """Whether the planner is sent results that are pictures."""

    def identity(self) -> JsonValue:
        """Everything that the outcome depends on, given the rules of the environment."""
        return [self.scope, self.tool, self.arguments, dict(self.values), self.outputs]


@dataclass(frozen=True, slots=True)
class Shown:
    """How a result is shown, to planners and to readers of records."""

    text: str
    picture: str = ""
    """A PNG in base64, where the planner is sent pictures and the result is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertRun:
    """How an expert was called."""

    tool: str
    """The catalogue's name, however the planner spelled it."""
    inputs: Mapping[str, str]
    """By name, the reference or the text that the action gives."""
    outputs: tuple[str, ...]
    """Names of the outputs that the action takes, in the order of its results."""
    step: StepRun


@dataclass(frozen=True, slots=True)
class Made:
    """An action's results."""

    values: tuple[str, ...]
    """As many as the action names, as texts from which later actions go on."""
    shown: tuple[Shown, ...] = ()
    """How each is shown; empty: as the value that it is."""
    run: ExpertRun | None = None
    """Where an expert made them."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an action has no result."""

    problem: ActionProblem
    message: str
    """A sentence for the planner."""


@dataclass(frozen=True, slots=True)
class ToolFault:
    """An expert, or the store, failed on a valid action: nobody's fault. The episode ends without a score."""

    message: str
    """A sentence."""


Outcome = Made | Refused | ToolFault


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScore:
    """What an episode is worth."""

    score: float
    indicators: Mapping[str, float] = field(default_factory=dict)
    explanations: Mapping[str, str] = field(default_factory=dict)
    expected: str | None = None
    """The right answer as a text."""
    answer: str | None = None
    """What readers of the record see as the answer; None: what the planner gave."""


class Environment(Protocol):
    """The tools and the rules of one suite in turns. Used from one thread at a time."""

    def digest(self) -> str:
        """Digest of the rules; it changes whenever the same reply may lead to another score."""
        ...

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """The tasks that cannot run, with reason and sentence; the same for every planner."""
        ...

    def scope(self, task: Task) -> str:
        """What the tools act on in the episodes of a task."""
        ...

    def run(self, calls: Sequence[Call]) -> Sequence[Outcome]:
        """Run calls that do not depend on each other.

        Returns:
            The outcome of each call, in order. No call raises: what goes wrong is an outcome.
        """
        ...

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """Score an episode that ended.

        Args:
            task: whose episode it was.
            answer: in full, where the transcript may have cut it; None if it ended without one.
            transcript: what happened.
        """
        ...


@runtime_checkable
class ExpertEnvironment(Environment, Protocol):
    """An environment with experts of a profile among its tools. Making one loads no expert and opens no store."""

    def offered(self, suite: Suite) -> frozenset[str]:
        """Names of the tools that actions may call: those without an expert, and those whose expert is there."""
        ...

    def source(self) -> str:
        """Digest of the data points that the tools work on; empty if the tasks' texts are all there is."""
        ...

    def facts(self) -> dict[str, JsonValue]:
        """Profile, executed calls and device, for the evaluator's facts; complete after the last call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An episode of one data point that is over."""

    sample: int
    transcript: Transcript
    plan: Plan
    """What was done: a step for each action that worked."""
    steps: tuple[StepRun, ...]
    """The same as it was run."""
    answers: tuple[ArtefactReference, ...]
    """One for each answer of the task; empty if the episode ended without them."""


@runtime_checkable
class SampleEnvironment(ExpertEnvironment, Protocol):
    """An environment whose tasks have data points, and whose tools take named inputs of declared types: an episode is
    held for each data point."""

    def prepare(self, *, suite: Suite, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Make what the episodes of these tasks and their scores need.

        Returns:
            Why tasks cannot be run, as a sentence, by key.
        """
        ...

    def episodes(self, task: Task) -> int:
        """How many data points are used of a task."""
        ...

    def begin(self, *, task: Task, sample: int) -> TypedTask:
        """What an episode of a prepared task starts with."""
        ...

    def scored(self, *, suite: Suite, task: Task, record: ResultRecord, episodes: Sequence[Ended]) -> ResultRecord:
        """Score a task whose episodes are over. Transcripts in the record get their scores.

        Args:
            suite: as planners are asked.
            task: whose episodes they were.
            record: what is known of it so far.
            episodes: one for each data point, in order.
        """
        ...


def offered_tools(*, suite: Suite, environment: Environment) -> frozenset[str]:
    """Names of the tools that actions may call."""
    if isinstance(environment, ExpertEnvironment):
        return environment.offered(suite)
    return frozenset(suite.catalogue.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What an episode may use."""

    turns: int = 16
    actions: int = 64
    seconds: float = 600.0
    """Of the planner and of the tools together; waiting for others does not count."""
    feedback_characters: int = 4000
    """Of the feedback after one turn, and of its subgoals as later requests repeat them."""
    held_characters: int = 1_000_000
    """Of all results together that later actions can take."""
