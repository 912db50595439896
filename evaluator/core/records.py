"""The result record `result/1`: everything about one task of one evaluation, as one JSON object.

Scores can be recomputed from stored records without executing plans again.
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
from evaluator.core.transcripts import RoleUsage, Transcript, without_role_seconds, without_seconds

FAULT_SCORE = 0.0
"""Score of a `planner_fault` (OpenAGI: an invalid plan gets 0; ControlLLM: it solves nothing)."""


class Outcome(StrEnum):
    """How a task ended. Only `scored` and `planner_fault` carry a score."""

    SCORED = "scored"
    PLANNER_FAULT = "planner_fault"
    """The plan or the endpoint's response is invalid: scored as in the suite's paper (0 for OpenAGI)."""
    INFRA_FAULT = "infra_fault"
    """Not the planner's fault. Never scored or cached; keeps the evaluation off the ranked board."""
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
    """The endpoint responded with a status that is not transient (`evaluator.network`), such as 401 or 404."""
    PROMPT_TOO_LONG = "prompt_too_long"
    """The prompt exceeds the context length of the planner's language model or endpoint."""
    ADDRESS_REFUSED = "address_refused"
    """The endpoint's address is not public."""
    UNPARSABLE_PLAN = "unparsable_plan"
    INVALID_PLAN = "invalid_plan"
    ABSTAINED = "abstained"
    """The planner says that no plan can satisfy the request, but there is one."""
    NO_PLAN = "no_plan"
    """The plans file has no plan for the task."""
    LIMIT_EXCEEDED = "limit_exceeded"
    """Executing the plan would produce an image above the engine's size limit."""
    UNFIT_INPUT = "unfit_input"
    """The plan passes incompatible inputs to an expert, such as a mask and an image of different sizes."""
    MODEL_UNUSABLE = "model_unusable"
    """The planner's language model cannot be loaded or run on any machine."""
    ENDED_WORKER = "ended_worker"
    """The worker that ran the task was lost because the planner's model crashed it or hung."""
    # infra_fault
    ENDPOINT_UNAVAILABLE = "endpoint_unavailable"
    MODEL_UNAVAILABLE = "model_unavailable"
    """The planner's language model could temporarily not be downloaded or loaded."""
    EXPERT_FAILED = "expert_failed"
    SCORER_FAILED = "scorer_failed"
    WORKER_LOST = "worker_lost"
    INTERNAL_ERROR = "internal_error"
    """A bug in PlanArena or in a planner object passed to the library."""
    # not_run
    NO_EXPERT = "no_expert"
    NO_DATA = "no_data"
    UNCONFINED = "unconfined"
    """The worker's machine cannot sandbox the programs of planners."""
    NO_GOAL = "no_goal"
    """The goal of the request is unknown to a suite that judges plans, so no plan can be judged."""
    NOT_PERTURBED = "not_perturbed"
    """The request has no variant for the perturbation of this evaluation."""
    NOT_IN_RUN = "not_in_run"
    """The imported run has no answer for this task."""
    EVALUATION_FAILED = "evaluation_failed"
    """The evaluation failed before the task ran."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ArtefactReference(_Record):
    """An artefact in the store."""

    digest: str
    media_type: str


class StepRun(_Record):
    """The execution of one step of the plan on one sample."""

    step: str
    """Id of the step in the parsed plan."""
    tool: str
    expert: str
    key: str
    """Store key of the executed step."""
    inputs: dict[str, ArtefactReference]
    outputs: dict[str, ArtefactReference]
    cached: bool
    """Whether the outputs were already in the store. Ignored when results are compared, like `seconds`."""
    seconds: float
    """This item's share of its batch's wall time; 0 if cached."""
    error: str | None = None


class AnswerResult(_Record):
    """One answer to a request that asks for several."""

    metric: str
    score: float | None
    reference: ArtefactReference | None
    answer: ArtefactReference | None


class SampleResult(_Record):
    """The execution of the plan on one sample."""

    index: int
    score: float | None
    """The mean of the scores if the request asks for several answers."""
    inputs: dict[str, ArtefactReference]
    reference: ArtefactReference | None
    answer: ArtefactReference | None
    steps: list[StepRun]
    further: list[AnswerResult] = Field(default_factory=list)
    """The answers after the first, in order."""
    indicators: dict[str, float] = Field(default_factory=dict)
    """Indicators of this sample, in the range of their column; the record's indicator of the same name is the mean
    over samples."""


class PlannerCall(_Record):
    """A call of the planner."""

    seconds: float
    tries: int = 1
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    confidence: float | None = None
    """The planner's confidence in its plan, in [0, 1]; absent if it reports none."""
    cached_tokens: int | None = None
    """Those of the prompt that a service read from its cache; absent if it reports none."""
    reasoning_tokens: int | None = None
    """Those of the completion that a language model spent on reasoning; absent if it reports none."""
    roles: dict[str, RoleUsage] = Field(default_factory=dict)
    """Calls, tokens and seconds by role of a strategy, the rest under `main`; absent without roles."""

    @model_serializer(mode="wrap")
    def _without_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        # Keeps the records of planners without them, and their digests, unchanged.
        fields: dict[str, object] = handler(self)
        optional = "confidence", "cached_tokens", "reasoning_tokens", "roles"
        absent = {name for name in optional if getattr(self, name) in (None, {})}
        return {name: value for name, value in fields.items() if name not in absent}


LONGEST_PAIR_TEXT = 300
"""Maximum number of characters of a text of a pair."""
MOST_PAIRS = 12
"""Maximum number of pairs in a record."""


def _shortened(value: object) -> object:
    return value[: LONGEST_PAIR_TEXT - 1] + "…" if isinstance(value, str) and len(value) > LONGEST_PAIR_TEXT else value


# Truncated instead of rejected: the texts are untrusted, and redaction may lengthen them.
_Shortened = Annotated[str, BeforeValidator(_shortened)]


class TextPair(_Record):
    """Two texts for which the judge's rules cannot decide whether they have the same meaning, or that the network took
    for the same against the rules. Texts are truncated to `LONGEST_PAIR_TEXT`."""

    kind: _Shortened
    wanted: _Shortened
    """The text of the request."""
    given: _Shortened
    """The text of the plan."""
    why: _Shortened
    """The phrase that the rules do not cover, without a full stop."""
    verdict: Literal["same", "different", "undecided"] = "undecided"
    """The verdict of the network or the arbiter; `undecided` if neither gave one."""
    by: Literal["", "network", "arbiter"] = ""
    """Who decided: the shipped network or the operator's arbiter; empty in older records and if undecided."""
    answers: list[_Shortened] = Field(default_factory=list, max_length=8)
    """The network's probability or the arbiter's votes."""
    problem: _Shortened = ""
    """Why neither decided, or what the network overturned, as a sentence."""


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
    """The reason as a sentence for the submitter."""
    score: float | None = None
    """Mean over the samples, in the metric's range; 0 for a `planner_fault`; None if nothing was measured."""
    planner_notes: dict[str, JsonValue] = Field(default_factory=dict)
    """How a bundled strategy derived the plan: raw texts and their mappings. Empty for other planners."""
    plan_received: JsonValue = None
    """The plan as received; text that cannot be parsed as a plan is truncated to 64 KiB."""
    plan: JsonValue = None
    """The parsed plan as `plan/1`."""
    tolerated: list[str] = Field(default_factory=list)
    """Deviations from the canonical form that the parser accepted."""
    problems: list[Problem] = Field(default_factory=list)
    samples: list[SampleResult] = Field(default_factory=list)
    indicators: dict[str, float] = Field(default_factory=dict)
    """For suites that judge plans: each indicator of this plan, in [0, 1]. `score` is what the board ranks by."""
    explanations: dict[str, str] = Field(default_factory=dict)
    """The reason for each indicator in words; under `goal`, the goal of the request."""
    pairs: list[TextPair] = Field(default_factory=list, max_length=MOST_PAIRS)
    """For suites that judge plans: pairs of texts that affect the score and that not the rules decided."""
    arbiter: dict[str, JsonValue] = Field(default_factory=dict)
    """Identity of the arbiter that judged these pairs; empty if there was none."""
    planner: PlannerCall | None = None
    transcripts: list[Transcript] = Field(default_factory=list)
    """For suites in turns: one for each sample."""

    def artefacts(self) -> list[ArtefactReference]:
        """The distinct artefacts that the record refers to, in order of first reference."""
        artefacts: dict[str, ArtefactReference] = {}
        for sample in self.samples:
            named = [*sample.inputs.values(), sample.reference, sample.answer]
            for further in sample.further:
                named += [further.reference, further.answer]
            for step in sample.steps:
                named += [*step.inputs.values(), *step.outputs.values()]
            for reference in named:
                if reference is not None:
                    artefacts.setdefault(reference.digest, reference)
        return list(artefacts.values())


def without_timings(record: ResultRecord) -> ResultRecord:
    """The record without seconds, cache hits and tries: the part that is reproducible."""
    samples = [
        sample.model_copy(
            update={"steps": [step.model_copy(update={"seconds": 0.0, "cached": False}) for step in sample.steps]}
        )
        for sample in record.samples
    ]
    planner = record.planner
    if planner is not None:
        roles = without_role_seconds(planner.roles)
        planner = planner.model_copy(update={"seconds": 0.0, "tries": 1, "roles": roles})
    transcripts = [without_seconds(transcript) for transcript in record.transcripts]
    return record.model_copy(update={"samples": samples, "planner": planner, "transcripts": transcripts})
