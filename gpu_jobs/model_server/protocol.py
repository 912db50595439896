"""Messages between worker and model server, version 2. Each is one JSON object in one frame.

The worker starts every exchange, except that the server sends `Hello` first.

    server: Hello
    worker: Load          server: Loaded | Failed
    worker: Ask           server: Follow (any number of times, each answered by Following), then Answers | Failed
    worker: CountTokens   server: TokenCount | Failed

With a server in another container, `delivery` precedes this, and `Ended` may be sent at any time.

`Ask` contains the constraints of its calls, equal ones once. A `NameAutomaton` is data and sent as a whole. Any other
constraint is an object of a strategy and stays in the worker: the server requests a node of its tree (`Follow`) and
gets all its children at once, as the trie of a `Grammar` needs them. That takes one round trip for each continued
sequence of names, and none for a repeated one in the same batch.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Call, FailureKind, GenerateCall

VERSION = 2
MOST_REQUEST_BYTES = 256 * 1024 * 1024
"""Largest frame from the worker: the prompts of all calls of a shard."""
MOST_SMALL_BYTES = 64 * 1024
"""Largest frame from the server without answers."""
MOST_ANSWER_BYTES = 64 * 1024 * 1024
"""Largest frame from the server."""
_BYTES_OF_A_TOKEN, _BYTES_OF_AN_ANSWER = 256, 4096
_LONGEST_SENTENCE = 4000
_MOST_TOKENS = 2**40

Sentence = Annotated[str, Field(max_length=_LONGEST_SENTENCE)]
Tokens = Annotated[int, Field(ge=0, le=_MOST_TOKENS)]
LogProbability = Annotated[float, Field(le=0)]


class _Message(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Hello(_Message):
    """The confined server has started."""

    type: Literal["hello"] = "hello"
    version: int = VERSION
    confined_by: Annotated[tuple[str, ...], Field(max_length=16)] = ()
    """Active layers of the sandbox (`confinement.Layer`)."""


class Load(_Message):
    """Load a model. Sent once."""

    type: Literal["load"] = "load"
    folder: str
    name: str
    device: str
    threads: int | None = None
    """Torch threads on the CPU; None: torch's default."""
    source: dict[str, JsonValue] = {}


class Identity(_Message):
    """The part of a model's identity that the server determines."""

    weights_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    precision: Literal["float32", "bfloat16", "float16"]
    architecture: Annotated[str, Field(pattern=r"^\w{1,100}$")]
    template_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")] | None
    device: Annotated[str, Field(pattern=r"^\w{1,20}$")]
    batching: Literal["padded"]


class Loaded(_Message):
    """The model is loaded."""

    type: Literal["loaded"] = "loaded"
    identity: Identity


class Failed(_Message):
    """The request as a whole failed."""

    type: Literal["failed"] = "failed"
    unusable: bool
    """Whether it is the model's fault, so that another machine would not help."""
    message: Sentence


class WireMessage(_Message):
    """A `Message`."""

    role: Literal["system", "user", "assistant"]
    content: str


class Allowed(_Message):
    """A `Following`."""

    names: tuple[str, ...]
    may_end: bool


class Node(_Message):
    """What a constraint allows after a sequence of names, and one name further."""

    own: Allowed
    children: tuple[Allowed, ...]
    """What may follow each of `own.names`."""
    problem: str | None = None
    """The constraint's error; then the other fields are empty."""


class WireTree(_Message):
    """A `Constraint` that stays in the worker."""

    type: Literal["tree"] = "tree"
    separator: str
    root: Node
    """The node of the empty sequence, which every call needs."""


class WireAutomaton(_Message):
    """A `NameAutomaton`."""

    type: Literal["automaton"] = "automaton"
    names: tuple[str, ...]
    steps: tuple[tuple[int | None, ...], ...]
    accepting: tuple[bool, ...]
    longest: int
    separator: str


WireConstraint = Annotated[WireTree | WireAutomaton, Field(discriminator="type")]


class WireGenerate(_Message):
    """A `GenerateCall`."""

    type: Literal["generate"] = "generate"
    messages: tuple[WireMessage, ...]
    max_tokens: int
    temperature: float
    top_p: float
    seed: int
    stop: tuple[str, ...]
    constraint: int | None
    """Position in `Ask.constraints`."""
    beams: int


class WireScore(_Message):
    """A `ScoreCall`."""

    type: Literal["score"] = "score"
    messages: tuple[WireMessage, ...]
    continuations: tuple[str, ...]


WireCall = Annotated[WireGenerate | WireScore, Field(discriminator="type")]


class Ask(_Message):
    """Request answers to these calls."""

    type: Literal["ask"] = "ask"
    calls: tuple[WireCall, ...]
    constraints: tuple[WireConstraint, ...]


class Follow(_Message):
    """Request the `Node` of a sequence of names."""

    type: Literal["follow"] = "follow"
    constraint: int
    """Position of a `WireTree` in `Ask.constraints`."""
    written: Annotated[tuple[str, ...], Field(max_length=10_000)]


class Following(_Message):
    """Response to `Follow`."""

    type: Literal["following"] = "following"
    node: Node


class CountTokens(_Message):
    """Request the number of tokens of a text."""

    type: Literal["count_tokens"] = "count_tokens"
    text: str


class TokenCount(_Message):
    """Response to `CountTokens`."""

    type: Literal["token_count"] = "token_count"
    tokens: Tokens


class WireUsage(_Message):
    """A `Usage`."""

    prompt_tokens: Tokens
    completion_tokens: Tokens


class WireBeam(_Message):
    """A `Beam`; its text follows from its names."""

    log_probability: LogProbability
    names: tuple[str, ...]


class WireCompletion(_Message):
    """A `Completion`."""

    type: Literal["completion"] = "completion"
    text: str
    usage: WireUsage
    truncated: bool
    beams: tuple[WireBeam, ...]


class WireScores(_Message):
    """`Scores`."""

    type: Literal["scores"] = "scores"
    log_probabilities: tuple[LogProbability, ...]
    usage: WireUsage


class WireFailure(_Message):
    """A `Failure` of one of the kinds that are possible without a network."""

    type: Literal["failure"] = "failure"
    kind: Literal[FailureKind.UNAVAILABLE, FailureKind.REFUSED, FailureKind.PROMPT_TOO_LONG, FailureKind.BROKEN]
    message: Sentence


WireAnswer = Annotated[WireCompletion | WireScores | WireFailure, Field(discriminator="type")]


class Answers(_Message):
    """One answer for each call, in order."""

    type: Literal["answers"] = "answers"
    answers: tuple[WireAnswer, ...]


class Ended(_Message):
    """The model's process has ended. Sent by the supervisor of a server in another container (`serving`), so that the
    worker can distinguish a model that ends its process from an evicted pod, which sends nothing."""

    type: Literal["ended"] = "ended"
    why: Sentence
    """Part of a sentence."""


Request = Annotated[Load | Ask | Following | CountTokens, Field(discriminator="type")]
Response = Annotated[Hello | Loaded | Failed | Follow | Answers | TokenCount | Ended, Field(discriminator="type")]
REQUEST: TypeAdapter[Load | Ask | Following | CountTokens] = TypeAdapter(Request)
RESPONSE: TypeAdapter[Hello | Loaded | Failed | Follow | Answers | TokenCount | Ended] = TypeAdapter(Response)


def encoded(message: _Message) -> bytes:
    """The content of a frame."""
    return message.model_dump_json().encode()


def most_answer_bytes(calls: Sequence[Call]) -> int:
    """Size limit of the answers to these calls: enough for the longest tokens of any vocabulary."""
    total = sum(
        _BYTES_OF_AN_ANSWER
        + (
            _BYTES_OF_A_TOKEN * max(1, call.max_tokens) * max(1, call.beams)
            if isinstance(call, GenerateCall)
            else 32 * len(call.continuations)
        )
        for call in calls
    )
    return min(MOST_ANSWER_BYTES, MOST_SMALL_BYTES + total)
