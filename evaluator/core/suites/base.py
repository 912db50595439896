"""What a suite is: a versioned benchmark with its tasks, the columns of its board and what the site shows of a result.

How its planners are asked and scored is its episode (`evaluator.episodes`), named where the suite is registered.
"""

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, PlanContext, plan_to_json
from evaluator.core.suites.facets import Facets
from evaluator.core.tools.types import Catalogue, ResourceType

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord
    from evaluator.core.suites.sealed import SealedForm


ABSTENTION = "abstention"
"""The metric of requests that no tool can meet: 1 for a plan without steps, else 0. No scorer is needed."""
EXACT, NEAR, CLOSED = "exact", "near", "closed"
"""Indicators of executed plans: agreement with the gold plan, and closed answers that equal their reference."""


class IntervalMethod(StrEnum):
    """How a column's 95 % interval is computed."""

    BOOTSTRAP = "bootstrap"
    """Bootstrap over tasks, for graded values: the tasks are a sample, and each has one value."""
    WILSON = "wilson"
    """Wilson's score interval, for values that are 0 or 1."""
    FIXED_TASKS = "fixed_tasks"
    """The tasks are a fixed list; the scenes that all of them are executed on are a sample."""
    SAMPLED_TASKS = "sampled_tasks"
    """Tasks and scenes both are samples."""

    @property
    def over_scenes(self) -> bool:
        """Whether it needs the score of each sample."""
        return self in (IntervalMethod.FIXED_TASKS, IntervalMethod.SAMPLED_TASKS)

    @property
    def estimand(self) -> str:
        """What a column's mean estimates, as a sentence."""
        return _ESTIMANDS[self]


_ESTIMANDS = {
    IntervalMethod.BOOTSTRAP: "Estimates the mean over all tasks of this kind, of which these are a sample.",
    IntervalMethod.WILSON: "Estimates the share among all tasks of this kind, of which these are a sample.",
    IntervalMethod.FIXED_TASKS: "Estimates the mean of exactly these tasks over all scenes; the executed scenes are "
    "a sample.",
    IntervalMethod.SAMPLED_TASKS: "Estimates the mean over all tasks that the generator draws and over all scenes; "
    "both are samples here.",
}


DECIDERS = "network", "arbiter"
"""Who decides what the rules of a judge leave undecided, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a suite's board: which value of a result counts, and how the values are summarised."""

    key: str
    label: str
    description: str
    higher_is_better: bool = True
    primary: bool = False
    """Whether the board ranks by it."""
    is_default: bool = False
    """Whether the board shows it unless a reader chooses columns. A suite without such columns shows its first ones."""
    metric: str = ""
    """Only tasks of this metric count; empty: all tasks."""
    indicator: bool = False
    """Whether the value is the record's indicator of this key; otherwise it is the record's score."""
    fault: float | None = 0.0
    """What a `planner_fault` counts; None: it does not count."""
    low: float = 0.0
    high: float | None = 1.0
    """Range of a task's value; None: unbounded."""
    ordered: bool = True
    """Whether one end of the range is better than the other; False for sizes."""
    title: str = ""
    """What a task page calls the value; empty: the label."""
    good: str = ""
    bad: str = ""
    """What a task's better and worse value mean, where it is 1 or 0; empty: it is no mark of a task."""
    interval: IntervalMethod = IntervalMethod.BOOTSTRAP
    tasks: tuple[str, ...] = ()
    """Keys of the only tasks that count; empty: all of the metric."""
    weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Of a weighted mean of metrics: the weight of each metric's mean, together 1. The column has no value unless every
    metric has a task that counts. Empty: the mean over the tasks."""
    undecided: str = ""
    """Key of the column with the share of tasks on which the judge is undecided; of judged plans' columns whose higher
    values are better. Each of these tasks counts 0 here, so that the value lies between the mean and the mean plus that
    share. Empty: every task is decided."""
    by_rules: tuple[str, ...] = ()
    """Keys of the columns with the lower and the upper end by the rules alone, or none."""
    decided_by: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Keys of the columns with the shares of tasks that others than the rules decide, by one of `DECIDERS`. The rules
    decide the remaining ones that are not undecided. Empty: only the rules decide."""
    is_optional: bool = False
    """Whether only some planners or installations measure it. Results without the indicator do not count, planner
    faults included. It is not in the suite's digest, so that rows with and without it share a board."""

    def __post_init__(self) -> None:
        if self.is_optional and (not self.indicator or self.primary or self.is_default or self.good):
            raise ValueError(f"column {self.key}: an optional column is an indicator, and no default or mark of a task")
        if self.undecided and (not self.higher_is_better or self.interval.over_scenes):
            raise ValueError(
                f"column {self.key}: only columns of judged plans whose higher values are better have undecided tasks"
            )

    @property
    def bounds(self) -> tuple[float, float | None]:
        """Range of a task's value."""
        return self.low, self.high

    def to_json(self) -> dict[str, JsonValue]:
        """The column as a JSON object."""
        lists = {"tasks": list(self.tasks), "by_rules": list(self.by_rules)}
        return {**asdict(self), **lists, "weights": dict(self.weights), "decided_by": dict(self.decided_by)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Column":
        """The inverse of `to_json`."""
        tuples = {name: tuple(value.get(name, ())) for name in ("tasks", "by_rules")}
        return cls(**{**value, **tuples, "interval": IntervalMethod(value["interval"])})


def companions(columns: Iterable[Column]) -> frozenset[str]:
    """Keys of the columns that only explain another one. Pages show them in its cells, not as columns."""
    return frozenset(
        key for column in columns for key in (column.undecided, *column.by_rules, *column.decided_by.values()) if key
    )


def shown_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns without those that only explain another one."""
    parts = companions(columns)
    return tuple(column for column in columns if column.key not in parts)


MOST_DEFAULT = 5
"""Columns that a page shows unless a reader chooses."""


def default_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that pages show first, at most `MOST_DEFAULT`: the one that boards rank by, then those that the suite
    declares as default, or its first ones."""
    shown = sorted(shown_columns(columns), key=lambda column: not column.primary)
    declared = [column for column in shown if column.is_default or column.primary]
    return tuple((declared if len(declared) > 1 else shown)[:MOST_DEFAULT])


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The value of one result in an optional column."""

    value: float
    """In the range of the column."""
    why: str
    """The reason as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """An optional column that a language model rates by votes (`evaluator.scoring.rating`)."""

    column: Column
    """Its key gets the digest of the rater's identity where it becomes a column of a suite."""
    prompt: str
    """Name and version of the system prompt."""
    system: str
    """The system prompt, which asks for one vote on quoted material."""
    temperature: float
    most_tokens: int
    material: "Callable[[Task, ResultRecord], Mapping[str, JsonValue] | Measured]"
    """What a vote is about, or the value of results that need no vote."""
    vote_in: Callable[[str], float | None]
    """The vote in an answer, in the column's range; None for malformed answers."""
    value_of: Callable[[Sequence[float | None]], float | None]
    """The value of all votes; None if too few are valid or none prevails."""


class Panel(StrEnum):
    """What the site can draw of a result."""

    ARTEFACTS = "artefacts"
    """What each step of the plan made of each sample."""
    SCORES = "scores"
    """The score of each task and sample."""
    INDICATORS = "indicators"
    """Each indicator with its reason."""
    TRANSCRIPT = "transcript"
    """The turns of an episode, with what came of each action."""
    GRIDS = "grids"
    """Grids of colours 0 (blank) to 9 as pictures, with the suite's `candidates`.

    Tasks give `train`, a list of `input` and `output`, and `test`, a list of `input`: lists of rows of integers. An
    episode's right answer is a JSON list of the tests' grids. Its answer is a JSON list of candidates, best first:
    `track`; `content`, a program or a list of lines, or null; `demonstrations`, each `ok`, `wrong` or a failure
    `{"failure", "message", "line"}`; `tests`, each rows as texts of `.` and `a` to `i`, or a failure; or null. A result
    of a tool that tries a candidate has a line for each pair, `Demonstration 2: ok.`, and the rows of a wrong output
    below."""
    GOAL = "goal"
    """What the request wants, and the files that it gives. Tasks have the attributes `parts` (sentences), `uncovered`
    (why there are none) and `flags` (names of the suite's `defects`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """Something that may be wrong with a task itself."""

    name: str
    description: str
    excludes: bool = False
    """Whether a task with it is left out of the suite's active split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProblem:
    """A few words on a step that is named, as `step 2 (`, in the explanation of an indicator's worse value."""

    indicator: str
    words: str
    is_type_conflict: bool = False
    """Whether the step gets a value of a wrong type."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A whole plan in a suite's own form, as the action that tries it."""

    tool: str
    arguments: str
    """Taken as they are: nothing in them refers to a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The answers of a suite in turns whose answer is several candidates, best first, instead of one result."""

    most: int
    """Candidates of an answer. Further ones are left out."""
    tries: int
    """Calls of `tools` in an episode, at most."""
    tools: frozenset[str]
    """Those that try a candidate, each with one input, whose text is taken as it is."""
    is_one: Callable[[str], bool]
    """Whether the value of a result is a candidate."""
    read: Callable[[JsonValue], Candidate]
    """Reads a whole plan in the suite's own form.

    Raises:
        PlanSyntaxError: it has none of the suite's forms.
    """

    def named_in(self, text: str, *, values: Mapping[str, str]) -> str:
        """The answer that names results, as `R3, R1`.

        Raises:
            ValueError: it names a result that is not there or is no candidate; the message is a sentence.
        """
        there = [name for name, value in values.items() if self.is_one(value)]
        names = [name.strip() for name in text.split(",")]
        wrong = next((name for name in names if name not in there), None)
        if wrong is not None:
            listed = ", ".join(there) or "none yet"
            raise ValueError(
                f"The answer names up to {self.most} candidates, best first, and {wrong[:100]!r} is none; "
                f"there are: {listed}."
            )
        return self.answer([values[name] for name in dict.fromkeys(names)])

    def newest(self, values: Mapping[str, str]) -> str | None:
        """The answer of a planner that names none: the latest first; None if there are none."""
        found = [value for value in reversed(list(values.values())) if self.is_one(value)]
        return self.answer(found) if found else None

    def answer(self, found: list[str]) -> str:
        """The values of candidates as the text of an answer: a JSON list."""
        return json.dumps(found[: self.most])


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What evaluations on one board must share besides the version of the suite."""

    experts: bool
    """Whether tools run, so that the profile matters. Otherwise the digest of the suite's rules takes its place."""
    samples: bool
    """Whether each task has several data points, so that their number matters."""
    splits: tuple[str, ...]
    """The splits of the suite's data. An installation that evaluates on another split uses the first."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One request of a suite."""

    key: str
    text: str
    structure: str
    """`linear` or `nonlinear`."""
    metric: str
    resources: Mapping[str, ResourceType]
    """What the request gives, by name and in order."""
    expects: ResourceType | None
    """Type of the answer; None where a request may want several results."""
    gold: Plan | None
    """A right plan; None where none is known."""
    asked_as: str = ""
    """The name under which planners are asked for it, if that is not its key (`hidden.py`)."""

    @property
    def attributes(self) -> dict[str, JsonValue]:
        """Suite-specific facts; the suite's facets say which of them are filters."""
        return {}

    @property
    def values_given(self) -> Mapping[str, JsonValue]:
        """What planners are given by value, besides the text and the resources."""
        return {}

    @property
    def answers(self) -> "tuple[Task, ...]":
        """The request itself; one that wants several answers has a task for each, in the order of the answers.

        Their metrics and types are those of the answers, and sources of samples give the reference of each.
        """
        return (self,)

    @property
    def kind(self) -> str:
        """What kind of answer is wanted, in words; empty where a suite does not tell kinds apart."""
        return ""

    @property
    def is_closed(self) -> bool:
        """Whether the answer is one of few short texts, so that it can be compared with its reference word by word."""
        return False

    @property
    def relevant_tools(self) -> frozenset[str] | None:
        """Names of the tools that some right plan may call; None where that is not known."""
        return None

    @property
    def offers(self) -> frozenset[str] | None:
        """Names of the only tools that its planners are offered; None: all that have experts."""
        return None

    @property
    def tells_answers(self) -> bool:
        """Whether planners are told the types of the answers, and with them their number."""
        return True

    @property
    def types_given(self) -> Mapping[str, frozenset[ResourceType]]:
        """Every type that each resource may be used as."""
        return {name: frozenset({kind}) for name, kind in self.resources.items()}

    def to_json(self) -> dict[str, JsonValue]:
        """The task as `planarena suites show --json` prints it."""
        return {
            "id": self.key,
            "text": self.text,
            "structure": self.structure,
            "metric": self.metric,
            "resources": {name: str(kind) for name, kind in self.resources.items()},
            "expects": None if self.expects is None else str(self.expects),
            "gold": None if self.gold is None else plan_to_json(self.gold),
            **self.attributes,
        }


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A versioned benchmark. Its digest covers everything a score depends on except the profile."""

    slug: str
    version: str
    title: str
    description: str
    metrics: tuple[Column, ...]
    catalogue: Catalogue
    tasks: tuple[Task, ...]
    conditions: Conditions
    panels: tuple[Panel, ...]
    """What the site shows of a result beside the plan itself."""
    scoring: str = ""
    """How plans are scored, as a paragraph for the board; empty: the descriptions of the columns say it."""
    facets: Facets = field(default_factory=Facets)
    """What tasks are filtered and grouped by."""
    defects: tuple[Defect, ...] = ()
    """What may be wrong with a task, for `Panel.GOAL`."""
    step_problems: tuple[StepProblem, ...] = ()
    """How steps are marked in the drawing of a plan, for `Panel.INDICATORS`; the most telling last."""
    training_splits: tuple[str, ...] = ()
    """The splits of the data that planners may learn from."""
    may_abstain: bool = False
    """Whether a plan may have neither steps nor answers, which says that no tool can meet the request."""
    statement_tool: str = ""
    """Of suites in turns: the tool of actions without a name and parentheses, such as SQL; empty if there is no such
    form."""
    majority: "Callable[[], Mapping[str, str]] | None" = field(default=None, compare=False, repr=False)
    """For the anchor `majority`: the most frequent right answer of the training data by the metric of a task, or the
    one that the benchmark itself declares."""
    candidates: Candidates | None = field(default=None, compare=False, repr=False)
    """Of suites in turns: how an answer names several results, which are tried in order; None: it is one result."""
    views: "Callable[[Task, str], JsonValue] | None" = field(default=None, compare=False, repr=False)
    """Shows what is given with a task in one of several ways, by name. Raises a LookupError that lists them. None:
    there is one way."""
    labels: "Callable[[ResultRecord], Mapping[str, Sequence[str]]] | None" = field(
        default=None, compare=False, repr=False
    )
    """Of suites in turns: values by which results are filtered and grouped, by the names of facets. None: only tasks
    have such values."""
    measures: "Callable[[Task, ResultRecord], Mapping[str, Measured]] | None" = field(
        default=None, compare=False, repr=False
    )
    """Values of optional columns, by key, that follow from the finished record of a task, whatever its outcome; columns
    that the record does not measure are absent. None: no column is measured so."""
    rated: Rated | None = field(default=None, compare=False, repr=False)
    """The optional column that the installation's rater fills after an evaluation measured a task. None: there is no
    rater, or it has nothing to rate."""
    right_plans: "Callable[[Task, ResultRecord, Plan], RightPlans] | None" = field(
        default=None, compare=False, repr=False
    )
    """The sufficient plans of a task that are nearest to the plan of a record (`evaluator.scoring.causes`). None: the
    gold plan is the only one that is known."""
    named_inputs: bool = False
    """Of suites in turns: whether tools take named inputs of declared types, as in whole plans. Otherwise an action's
    arguments are one text."""
    reworded: "Callable[[Task, random.Random], str | None] | None" = field(default=None, compare=False, repr=False)
    """Another wording of a task's request with the same goal, resources and data, by the suite's own generator; the
    callable returns None for tasks that have none. None: the suite has no generator."""
    with_outage: "Callable[[Suite, frozenset[str]], Suite] | None" = field(default=None, compare=False, repr=False)
    """The suite, as planners are asked, in which each task lacks a tool of its gold plan: other tools are sufficient,
    or abstaining is right. Takes the names of the tools that plans may call. None: what is sufficient is not known."""
    public_draws: "Callable[[int], Iterable[Task]] | None" = field(default=None, compare=False, repr=False)
    """Draws about so many further requests by the public grammar, for planners that learn; always the same. None: the
    suite has no generator."""
    hidden_requests: "Callable[[Suite, str], tuple[Task, ...]] | None" = field(default=None, compare=False, repr=False)
    """Makes the hidden split's tasks from a secret seed, with the keys of the public ones; None: there is none."""
    sealed_form: "SealedForm | None" = field(default=None, compare=False, repr=False)
    """Reads requests that the hidden split has besides generated ones; None: it has only these."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the tasks with their gold plans, the catalogue's signatures and the metrics that are not
        optional."""
        return canonical_json.digest(
            {
                "slug": self.slug,
                "version": self.version,
                "tasks": [task.to_json() for task in self.tasks],
                "metrics": [column.key for column in self.metrics if not column.is_optional],
                "tools": {name: [dict(tool.inputs), dict(tool.outputs)] for name, tool in self.catalogue.tools.items()},
            }
        )

    @cached_property
    def idle_tools(self) -> tuple[str, ...]:
        """Names of the tools that are relevant in no task, sorted; empty where no task knows which are relevant."""
        known = [tools for task in self.tasks if (tools := task.relevant_tools) is not None]
        return tuple(sorted(set(self.catalogue.tools).difference(*known))) if known else ()

    @cached_property
    def _by_key(self) -> dict[str, Task]:
        asked = {task.asked_as: task for task in self.tasks if task.asked_as}
        return {task.key: task for task in self.tasks} | asked

    def task(self, key: str) -> Task:
        """The task with this key, or that planners know under this name.

        Raises:
            LookupError: there is none; the message says which keys there are.
        """
        try:
            return self._by_key[key]
        except KeyError:
            first, last = self.tasks[0].key, self.tasks[-1].key
            raise LookupError(f"{self.slug} has no task {key!r}; its tasks are {first} to {last}") from None

    def asked(self, keys: Iterable[str]) -> list[Task]:
        """The tasks with these keys in the order in which planners are asked: as given, and on a hidden split in that
        of their names, so that a request's place says nothing (`hidden.py`).

        Raises:
            LookupError: as `task` does.
        """
        return sorted((self.task(key) for key in keys), key=lambda task: task.asked_as)

    def statement_tool_in(self, context: PlanContext) -> str:
        """`statement_tool` where a context offers it, otherwise nothing."""
        return self.statement_tool if self.statement_tool in context.catalogue.tools else ""

    def context(self, *, task: Task, offered: frozenset[str]) -> PlanContext:
        """What a plan for `task` is checked against when the tools in `offered` can be called."""
        if task.offers is not None:
            offered &= task.offers
        expects = task.expects if task.tells_answers else None
        return PlanContext(
            catalogue=self.catalogue.restricted_to(offered),
            resources=task.resources,
            expects=expects,
            known=self.catalogue,
            several=tuple(answer.expects for answer in task.answers if answer.expects) if expects is None else (),
            may_abstain=self.may_abstain or task.metric == ABSTENTION,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RightPlans:
    """Sufficient plans of a task, as near to a planner's plan as they can be."""

    plans: tuple[Plan, ...]
    """The most natural one first. Texts are the planner's where they say what is wanted. None: no right plan is
    known."""
    harmless: frozenset[str] = frozenset()
    """Tools that a plan may call besides without being worse for it."""
    is_sufficient: bool = False
    """Whether the planner's plan is known to be a sufficient one, whatever it differs in."""
    with_answers: bool = True
    """Whether it matters which results the plan names as its answers."""
    in_written_order: bool = False
    """Whether steps are read as they are written, so that a step may only take results of steps above it."""


def right_plans_of(*, suite: Suite, record: "ResultRecord", plan: Plan) -> RightPlans:
    """The sufficient plans of a record's task: the suite's hook knows them, or else there is the gold plan.

    Args:
        suite: as planners were asked.
        record: of one of its tasks.
        plan: the record's plan.

    Raises:
        LookupError: the suite has no such task.
    """
    task = suite.task(record.task)
    if suite.right_plans is not None:
        return suite.right_plans(task, record, plan)
    return gold_alone(task=task, record=record)


def gold_alone(*, task: Task, record: "ResultRecord") -> RightPlans:
    """The gold plan as the only sufficient one that is known."""
    plans = () if task.gold is None else (task.gold,)
    return RightPlans(plans=plans, is_sufficient=record.indicators.get(EXACT) == 1.0)
