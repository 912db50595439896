"""Types of the API's requests and answers that the client needs. Unknown fields of newer sites are kept."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from evaluator.core.transcripts import EpisodeSummary

FINAL_STATES = frozenset({"completed", "failed", "cancelled"})
WAITS_FOR_OWNER = "on_hold"
TableForm = Literal["csv", "parquet"]
"""Forms of a file of results, which are also its extensions."""
TABLE_FORMS: Mapping[TableForm, str] = MappingProxyType(
    {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
)
"""Their media types."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)


class PlannerEntry(BaseModel):
    """A planner to enter. Fields, defaults and limits are the site's; the docstring of a field is also the help of its
    option of `planarena submit`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, use_attribute_docstrings=True)

    name: str
    kind: Literal["bundled", "endpoint", "a2a", "chat", "hub", "checkpoint", "roles", "plans", "agent"]
    bundled_name: str = ""
    endpoint_url: str = ""
    timeout_seconds: int = Field(default=30, ge=1, le=300)
    """Time limit for an answer of an endpoint, or for one try of a call of a chat API."""
    header_name: str = ""
    """For `endpoint`, `a2a` and `chat`: a header it needs, such as `Authorization`; empty: none, or the stored one."""
    header_value: str = Field(default="", repr=False)
    """Stored encrypted and never shown again; empty: the stored value."""
    remove_header: bool = False
    """Delete the stored secret header of this planner."""
    plans: dict[str, Any] | None = Field(default=None, repr=False)
    """For `plans`: plans by task key, as in a plans file."""
    model_id: str = ""
    """For `hub`: `ORG/NAME`; for `chat`: the model as requests name it."""
    revision: str = ""
    """For `hub`: a branch, a tag or a commit; empty: `main`."""
    api: str = "auto"
    """For `chat`: auto (by the address), chat (Chat Completions), responses or messages."""
    reasoning_effort: str = ""
    """For `chat`: none, minimal, low, medium, high, xhigh or max; empty: the service's default."""
    answer_tokens: int | None = Field(default=None, ge=16, le=1_000_000)
    """For `chat`: most tokens of an answer, including reasoning; default: the strategy's."""
    streamed: bool = False
    """For `chat`: request answers as streams."""
    checkpoint_digest: str = ""
    """For `checkpoint`: returned by `Client.upload_checkpoint`."""
    strategy: str = ""
    """Name of the strategy that asks the language model; options may follow, as in `controlllm/adaptive@2.5`."""
    options: dict[str, Any] | None = None
    """Options of the strategy that are not the default, by name."""
    roles: dict[str, dict[str, Any]] | None = Field(default=None, repr=False)
    """Models of the strategy's roles, by role: the `kind` of each, and the fields of that kind."""
    description: str = Field(default="", max_length=4000)
    """Text for the planner's pages."""
    model_name: str = Field(default="", max_length=200)
    """Declared language model of an endpoint or a plans file."""
    parameters: int | None = Field(default=None, ge=1, le=10**15)
    """Number of parameters."""
    open_weights: bool | None = None
    """Whether the weights are public."""
    prompt_price: float | None = Field(default=None, ge=0, le=100_000)
    """Price of a million prompt tokens; boards then show a cost."""
    completion_price: float | None = Field(default=None, ge=0, le=100_000)
    """Price of a million answer tokens; give both prices or none."""
    cached_price: float | None = Field(default=None, ge=0, le=100_000)
    """Price of a million prompt tokens that the service reads from its cache; default: as other prompt tokens."""

    @classmethod
    def bundled(cls, bundled_name: str, *, name: str) -> Self:
        """A planner that comes with PlanArena."""
        return cls(name=name, kind="bundled", bundled_name=bundled_name)

    @classmethod
    def endpoint(cls, url: str, *, name: str, timeout_seconds: int = 30) -> Self:
        """An HTTP endpoint that speaks `planner/1`."""
        return cls(name=name, kind="endpoint", endpoint_url=url, timeout_seconds=timeout_seconds)

    @classmethod
    def chat(cls, url: str, *, name: str, model: str, strategy: str, timeout_seconds: int = 30) -> Self:
        """A strategy with a language model behind OpenAI's chat API; `url` is its base."""
        called = {"endpoint_url": url, "model_id": model, "timeout_seconds": timeout_seconds}
        return cls.model_validate({"name": name, "kind": "chat", "strategy": strategy, **called})

    @classmethod
    def from_plans(cls, plans: dict[str, Any], *, name: str) -> Self:
        """A file of plans for a suite that judges plans."""
        return cls(name=name, kind="plans", plans=plans)

    @classmethod
    def agent(cls, *, name: str) -> Self:
        """An agent that takes its tasks at the site's `/mcp/`, for suites in turns."""
        return cls(name=name, kind="agent")

    @classmethod
    def hub(cls, model_id: str, *, name: str, strategy: str, revision: str = "") -> Self:
        """A strategy with a language model of Hugging Face."""
        return cls(name=name, kind="hub", model_id=model_id, revision=revision, strategy=strategy)

    @classmethod
    def checkpoint(cls, digest: str, *, name: str, strategy: str) -> Self:
        """A strategy with an uploaded language model."""
        return cls(name=name, kind="checkpoint", checkpoint_digest=digest, strategy=strategy)


Visibility = Literal["public", "embargo", "private"]
"""Who sees a submission: everybody, its submitter, team and the operators until a date, or only these."""


class NewSubmission(BaseModel):
    """A planner and the suites that it is entered for."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    planner: PlannerEntry
    suites: list[str]
    team: str = ""
    """Slug of the team."""
    version: str = ""
    """Of the planner, such as a commit."""
    season: str = ""
    """Name of an open season, or `rehearsal` for the public data; empty: the site's present one."""
    priority: Literal["low", "normal", "high"] = "normal"
    """Among the submitter's own evaluations."""
    own_worker: bool = False
    """Whether only the submitter's own workers evaluate it; it is not ranked then."""
    deterministic: bool = False
    """Whether the planner answers the same request alike in every run, which is checked."""
    asked_again: Literal["tenth", "half", "all"] = "tenth"
    """For how many of its tasks it is asked again: half of them count as one more evaluation, all as two more."""
    visibility: Visibility = "public"
    embargo_until: AwareDatetime | None = None
    """End of the embargo, if there is one."""


class Wait(_Answer):
    """Expected time until an evaluation starts and ends."""

    known: bool
    """Whether enough evaluations ran in the last hour for an estimate."""
    begins_in_minutes: tuple[float, float] | None = None
    """At least and at most."""
    ends_in_minutes: tuple[float, float] | None = None
    in_words: str = ""


class EndpointTrial(_Answer):
    """What came of a test call."""

    passed: bool
    """Whether the answer would be executed or judged, and has a plan with steps."""
    verdict: str
    """How the answer is judged, such as `empty`, `unknown_tool` or `reference`."""
    summary: str
    """The same in sentences."""
    suite: str
    task: str
    status: int | None = None
    seconds: float = 0.0
    answer: str = ""
    """Its beginning, without the secret header."""
    reason: str | None = None
    problem: str = ""
    problems: list[str] = []
    tolerated: list[str] = []
    """What was tolerated when the answer was read."""
    adapted: list[str] = []
    """How requests to a language model were adapted to what it accepts, as sentences."""
    plan: Any = None
    example: Any = None
    """Where the plan has no steps: a plan that shows the form and does not answer the request."""


class Measured(_Answer):
    """A metric of an evaluation: mean over `tasks` tasks with its 95 % interval, of which there is none over fewer than
    ten independent tasks or five scenes."""

    mean: float
    low: float | None = None
    high: float | None = None
    tasks: int = 0


class Summary(_Answer):
    """What an evaluation came to."""

    metrics: dict[str, Measured | None] = {}
    outcomes: dict[str, int] = {}
    reading: dict[str, Any] | None = None
    """How replies were read (`evaluator.scoring.readability.Reading`); None from older sites."""


class Evaluation(_Answer):
    """A submission on one suite."""

    id: str
    submission: str
    suite: str
    planner: Any = None
    """As the API describes planners."""
    version: str = ""
    """The submitter's name for the planner's version; empty from older sites."""
    samples: int = 1
    """Scenes of each executed task."""
    state: str
    reason: str = ""
    reason_text: str = ""
    done: int = 0
    tasks_total: int = 0
    summary: Summary | None = None
    created: datetime
    finished: datetime | None = None
    visibility: str = ""
    """Empty: the site does not say."""
    embargo_until: datetime | None = None
    url: str = ""

    @property
    def planner_name(self) -> str:
        """What boards call the planner; empty if the site does not say."""
        return str(self.planner.get("name", "")) if isinstance(self.planner, dict) else ""

    @property
    def planner_id(self) -> int | None:
        """Id of the planner; None if the site does not say."""
        found = self.planner.get("id") if isinstance(self.planner, dict) else None
        return found if isinstance(found, int) else None

    @property
    def final(self) -> bool:
        """Whether it can change no more."""
        return self.state in FINAL_STATES

    @property
    def rests(self) -> bool:
        """Whether nothing happens any more unless somebody acts."""
        return self.final or self.state == WAITS_FOR_OWNER


class Submission(_Answer):
    """A submission with its evaluations."""

    id: str
    visibility: str = ""
    embargo_until: datetime | None = None
    evaluations: list[Evaluation]
    replayed: bool = False
    """Whether an earlier call with the same key made it."""


class ComparedMetric(_Answer):
    """A metric of an evaluation against the first, over the tasks for which both have a value."""

    metric: str
    higher_is_better: bool = True
    tasks: int
    difference: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    wins: int
    losses: int
    ties: int
    undecided: int = 0


class ComparedPair(_Answer):
    """An evaluation against the first."""

    metrics: list[ComparedMetric]


class DifferingTask(_Answer):
    """A task with the value of each compared evaluation."""

    task: str
    values: list[float | None]
    winner: int | None = None
    """Index of the single best evaluation; None if there is none, or if it depends on undecided verdicts."""


class Comparison(_Answer):
    """Evaluations compared task by task; all others against the first."""

    metric: str
    comparisons: list[ComparedPair]
    tasks: list[DifferingTask] = []
    """Those that differ most; none while hidden data are secret."""


class Finding(_Answer):
    """One cause why a task is below the gold score, with what it is about; what does not apply is None."""

    cause: str
    step: str | None = None
    tool: str | None = None
    input: str | None = None
    wanted: str | None = None
    given: str | None = None
    where: str | None = None


class RefusedRegrade(_Answer):
    """An evaluation that cannot be regraded."""

    evaluation: str
    why: str


class RegradedBoard(_Answer):
    """One call's part of a board's regrading."""

    queued: list[str]
    """New evaluations."""
    refused: list[RefusedRegrade]
    left: int
    """Further evaluations, for the next call."""


class ReliabilityMember(_Answer):
    """A run of a reliability profile."""

    id: str
    perturbation: str
    """Empty: on unchanged requests."""
    repetition: int
    state: str
    reason_text: str = ""


class ReliabilityGap(_Answer):
    """A run without figures."""

    perturbation: str
    repetition: int
    why: str


class Reliability(_Answer):
    """The reliability profile of a planner."""

    evaluation: str
    state: str
    """`measuring` or `measured`."""
    members: list[ReliabilityMember]
    gaps: list[ReliabilityGap]
    profile: dict[str, Any] | None = None
    """The figures; None: none were computed yet."""

    @property
    def is_measured(self) -> bool:
        """Whether the figures are those of the last request."""
        return self.state == "measured"


class TaskRow(_Answer):
    """How one task ended."""

    task: str
    outcome: str
    reason: str = ""
    reason_text: str = ""
    metric: str = ""
    score: float | None = None
    seconds: float = 0.0
    plan_summary: str = ""
    episodes: EpisodeSummary | None = None
    """Of suites in turns; None where it is withheld or not known."""
    causes: list[Finding] | None = None
    """Why it is below the gold score; empty at the gold score. None: not found yet."""


class CauseCount(_Answer):
    """The tasks of an evaluation with one cause."""

    cause: str
    label: str
    definition: str
    tasks: int
    share: float
    """Of the tasks that ran."""
    keys: list[str] = []
    """The first of these tasks."""


class Causes(_Answer):
    """Why the tasks of an evaluation are below the gold score."""

    ran: int
    below: int
    at_gold: int
    unknown: int
    """Tasks whose causes are not found yet."""
    causes: list[CauseCount]
    """The most frequent first."""
    explanation: list[str] = []
    """A headline and a line for each cause, the costliest first; empty from older sites."""


class Checkpoint(_Answer):
    """A checkpoint that was uploaded."""

    digest: str
    """What submits it."""


class UploadTicket(_Answer):
    """Room for one upload."""

    id: str
    secret: str = Field(repr=False)


class SuiteInfo(_Answer):
    """A suite of the site."""

    slug: str
    metrics: list[dict[str, Any]] = []

    @property
    def metric_keys(self) -> list[str]:
        """What its evaluations measure."""
        return [str(metric["key"]) for metric in self.metrics]
