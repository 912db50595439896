"""The result record `result/1`: everything about one task of one evaluation, as one JSON object.

Scores can be recomputed from stored records without running anything again.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Problem
from evaluator.core.transcripts import Transcript, without_seconds

FAULT_SCORE = 0.0
"""Score of a `planner_fault` (OpenAGI: an invalid plan gets 0; ControlLLM: it solves nothing)."""


class Outcome(StrEnum):
    """How a task ended. Only `scored` and `planner_fault` carry a score."""

    SCORED = "scored"
    PLANNER_FAULT = "planner_fault"
    """The plan is wrong, or the endpoint answered wrongly: scored as the suite's paper says (0 for OpenAGI)."""
    INFRA_FAULT = "infra_fault"
    """Not the planner's fault. Never scored, never cached; keeps the evaluation off the ranked board."""
    NOT_RUN = "not_run"
    """No expert or no data for this task in this profile; the same for every planner."""
    CANCELLED = "cancelled"


class Reason(StrEnum):
    """Why a task was not scored."""

    # planner_fault
    INVALID_RESPONSE = "invalid_response"
    RESPONSE_TOO_LARGE = "response_too_large"
    PLANNER_TIMEOUT = "planner_timeout"
    REFUSED_BY_ENDPOINT = "refused_by_endpoint"
    """The endpoint answered a status that is not transient (`evaluator.network`), such as 401 or 404."""
    PROMPT_TOO_LONG = "prompt_too_long"
    """The prompt is longer than the planner's language model or endpoint reads."""
    ADDRESS_REFUSED = "address_refused"
    """The endpoint's address is not a public one."""
    UNPARSABLE_PLAN = "unparsable_plan"
    INVALID_PLAN = "invalid_plan"
    ABSTAINED = "abstained"
    """The planner says that no plan can meet the request, but the tools can."""
    NO_PLAN = "no_plan"
    """The plans file leaves the task out."""
    LIMIT_EXCEEDED = "limit_exceeded"
    """Executing the plan would make an image larger than the engine works on."""
    UNFIT_INPUT = "unfit_input"
    """The plan gives an expert inputs that do not go together, such as a mask of another size than its picture."""
    MODEL_UNUSABLE = "model_unusable"
    """The planner's language model cannot be loaded, or fails by itself, on any machine."""
    ENDED_WORKER = "ended_worker"
    """The worker that ran the task was lost: the planner's model ended it, or hung."""
    # infra_fault
    ENDPOINT_UNAVAILABLE = "endpoint_unavailable"
    MODEL_UNAVAILABLE = "model_unavailable"
    """The planner's language model could not be fetched or loaded this time."""
    EXPERT_FAILED = "expert_failed"
    SCORER_FAILED = "scorer_failed"
    WORKER_LOST = "worker_lost"
    INTERNAL_ERROR = "internal_error"
    """A defect of PlanArena or of a planner object given to the library."""
    # not_run
    NO_EXPERT = "no_expert"
    NO_DATA = "no_data"
    UNCONFINED = "unconfined"
    """The worker's machine cannot confine the programs of planners."""
    NO_GOAL = "no_goal"
    """A planning suite does not know what the request wants, so that no plan can be judged."""
    NOT_PERTURBED = "not_perturbed"
    """The request has no other form of the kind that a perturbed evaluation asks for."""
    EVALUATION_FAILED = "evaluation_failed"
    """The evaluation failed before the task ran."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ArtefactReference(_Record):
    """An artefact in the store."""

    digest: str
    media_type: str


class StepRun(_Record):
    """One step of the plan executed on one sample."""

    step: str
    """Id of the step in the parsed plan."""
    tool: str
    expert: str
    key: str
    """Store key of the executed step."""
    inputs: dict[str, ArtefactReference]
    outputs: dict[str, ArtefactReference]
    cached: bool
    """Whether the outputs were in the store already. Left out of equality of results, as are the seconds."""
    seconds: float
    """This item's share of its batch's wall time; 0 if cached."""
    error: str | None = None


class AnswerResult(_Record):
    """One answer of a request that wants several."""

    metric: str
    score: float | None
    reference: ArtefactReference | None
    answer: ArtefactReference | None


class SampleResult(_Record):
    """The plan executed on one sample."""

    index: int
    score: float | None
    """Where a request wants several answers, the mean of their scores."""
    inputs: dict[str, ArtefactReference]
    reference: ArtefactReference | None
    answer: ArtefactReference | None
    steps: list[StepRun]
    further: list[AnswerResult] = Field(default_factory=list)
    """The answers after the first, in order."""
    indicators: dict[str, float] = Field(default_factory=dict)
    """Further values of this sample, in [0, 1], by name; the record's indicator of the same name is their mean."""


class PlannerCall(_Record):
    """How the planner was asked."""

    seconds: float
    tries: int = 1
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    confidence: float | None = None
    """How sure the planner says it is of its plan, in [0, 1]; absent where it says nothing."""

    @model_serializer(mode="wrap")
    def _without_no_confidence(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Records of planners that say nothing stay what they were, and with them their digests.
        found: dict[str, object] = handler(self)
        return found if self.confidence is not None else {k: v for k, v in found.items() if k != "confidence"}


LONGEST_PAIR_TEXT = 300
"""Characters of a text of a pair."""
MOST_PAIRS = 12
"""Pairs that a record keeps."""


def _shortened(value: object) -> object:
    return value[: LONGEST_PAIR_TEXT - 1] + "…" if isinstance(value, str) and len(value) > LONGEST_PAIR_TEXT else value


# Cut, not refused: the texts are a stranger's, and a redacted one is longer than it was.
_Shortened = Annotated[str, BeforeValidator(_shortened)]


class TextPair(_Record):
    """Two texts of which the rules of a judge do not know whether they mean the same. Texts are cut at
    `LONGEST_PAIR_TEXT`."""

    kind: _Shortened
    wanted: _Shortened
    """What the request wants."""
    given: _Shortened
    """What the plan says."""
    why: _Shortened
    """Which phrase was not understood, without a full stop."""
    verdict: Literal["same", "different", "undecided"] = "undecided"
    """The arbiter's; `undecided` where none was asked or it gave none."""
    answers: list[_Shortened] = Field(default_factory=list, max_length=8)
    """Of the arbiter: its votes, or its score."""
    problem: _Shortened = ""
    """Why the arbiter left it undecided, as a sentence."""


class ResultRecord(_Record):
    """Everything about one task of one evaluation."""

    version: Literal["result/1"] = "result/1"
    suite: str
    task: str
    request: str
    metric: str
    outcome: Outcome
    reason: Reason | None = None
    reason_text: str = ""
    """A sentence for the submitter."""
    score: float | None = None
    """Mean over the samples, in the metric's range; 0 for a `planner_fault`; None where nothing was measured."""
    planner_notes: dict[str, JsonValue] = Field(default_factory=dict)
    """How a bundled strategy came to the plan: raw texts and what they were mapped to. Empty for other planners."""
    plan_received: JsonValue = None
    """What the planner sent, cut at 64 KiB if it is text that cannot be read as a plan."""
    plan: JsonValue = None
    """The parsed plan as `plan/1`."""
    tolerated: list[str] = Field(default_factory=list)
    """What the parser accepted although it was not canonical."""
    problems: list[Problem] = Field(default_factory=list)
    samples: list[SampleResult] = Field(default_factory=list)
    indicators: dict[str, float] = Field(default_factory=dict)
    """For suites that judge plans: each indicator of this plan, in [0, 1]. `score` is what the board ranks by."""
    explanations: dict[str, str] = Field(default_factory=dict)
    """For each indicator the reason in words; under `goal` what the request wants."""
    pairs: list[TextPair] = Field(default_factory=list, max_length=MOST_PAIRS)
    """For suites that judge plans: the texts on which the rules are undecided and the score depends."""
    arbiter: dict[str, JsonValue] = Field(default_factory=dict)
    """Identity of the arbiter that was asked about these pairs; empty if none was."""
    planner: PlannerCall | None = None
    transcripts: list[Transcript] = Field(default_factory=list)
    """For suites in turns: one for each sample."""

    def artefacts(self) -> list[ArtefactReference]:
        """Every artefact that the record names, each once, in order of first mention."""
        found: dict[str, ArtefactReference] = {}
        for sample in self.samples:
            named = [*sample.inputs.values(), sample.reference, sample.answer]
            for further in sample.further:
                named += [further.reference, further.answer]
            for step in sample.steps:
                named += [*step.inputs.values(), *step.outputs.values()]
            for reference in named:
                if reference is not None:
                    found.setdefault(reference.digest, reference)
        return list(found.values())


def without_timings(record: ResultRecord) -> ResultRecord:
    """The part of a record that is equal whenever the same evaluation runs: no seconds, no cache hits, no tries."""
    samples = [
        sample.model_copy(
            update={"steps": [step.model_copy(update={"seconds": 0.0, "cached": False}) for step in sample.steps]}
        )
        for sample in record.samples
    ]
    planner = None if record.planner is None else record.planner.model_copy(update={"seconds": 0.0, "tries": 1})
    transcripts = [without_seconds(transcript) for transcript in record.transcripts]
    return record.model_copy(update={"samples": samples, "planner": planner, "transcripts": transcripts})
