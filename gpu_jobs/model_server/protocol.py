"""The messages between worker and model server, version 2. Each is one JSON object in one frame.

The worker speaks first in every exchange but the first one: `Hello` comes by itself.

    server: Hello
    worker: Load          server: Loaded | Failed
    worker: Ask           server: Follow (any number of times, each answered by Following), then Answers | Failed
    worker: CountTokens   server: TokenCount | Failed

Where the server runs in another container, `delivery` comes before this, and `Ended` may come at any time.

`Ask` lists the constraints of its calls, equal ones once. A `NameAutomaton` is data, and is sent whole. Any other
constraint is a strategy's object and stays in the worker: the server asks for a node of its tree (`Follow`) and gets
all its children at once, which is what the trie of a `Grammar` needs to go on. That takes one round trip for each
sequence of names that is continued, and none where it was asked before in the same batch.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Call, FailureKind, GenerateCall

VERSION = 2
MOST_REQUEST_BYTES = 256 * 1024 * 1024
"""Of a frame from the worker: the prompts of all calls of a shard."""
MOST_SMALL_BYTES = 64 * 1024
"""Of a frame from the server that holds no answers."""
MOST_ANSWER_BYTES = 64 * 1024 * 1024
"""Of a frame from the server, whatever it was asked."""
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
    """The server runs, confined, and has loaded nothing yet."""

    type: Literal["hello"] = "hello"
    version: int = VERSION
    confined_by: Annotated[tuple[str, ...], Field(max_length=16)] = ()
    """Names of the layers that the server has put on itself (`sandbox.Layer`)."""


class Load(_Message):
    """Load a model. Comes once."""

    type: Literal["load"] = "load"
    folder: str
    name: str
    device: str
    threads: int | None = None
    """Of torch on the CPU; None: as many as torch takes by itself."""
    source: dict[str, JsonValue] = {}


class Identity(_Message):
    """What the server finds out about the model; the worker knows the rest of its identity itself."""

    weights_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    precision: Literal["float32", "bfloat16", "float16"]
    architecture: Annotated[str, Field(pattern=r"^\w{1,100}$")]
    template_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")] | None
    device: Annotated[str, Field(pattern=r"^\w{1,20}$")]
    batching: Literal["padded", "continuous"]


class Loaded(_Message):
    """The model is there."""

    type: Literal["loaded"] = "loaded"
    identity: Identity


class Failed(_Message):
    """The request as a whole failed."""

    type: Literal["failed"] = "failed"
    unusable: bool
    """Whether that is the model's fault, so that no other machine would do better."""
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
    """For each of `own.names` in turn: what may follow when it is written too."""
    problem: str | None = None
    """Why the constraint has no answer; then the others are empty."""


class WireTree(_Message):
    """A `Constraint` that stays in the worker."""

    type: Literal["tree"] = "tree"
    separator: str
    root: Node
    """Before any name, which every call asks first."""


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
    """Answer these calls, in one batch or several."""

    type: Literal["ask"] = "ask"
    calls: tuple[WireCall, ...]
    constraints: tuple[WireConstraint, ...]


class Follow(_Message):
    """What may follow the names written, and each of the names that may follow them?"""

    type: Literal["follow"] = "follow"
    constraint: int
    """Position of a `WireTree` in `Ask.constraints`."""
    written: Annotated[tuple[str, ...], Field(max_length=10_000)]


class Following(_Message):
    """The answer to `Follow`."""

    type: Literal["following"] = "following"
    node: Node


class CountTokens(_Message):
    """How many tokens has a text?"""

    type: Literal["count_tokens"] = "count_tokens"
    text: str


class TokenCount(_Message):
    """The answer to `CountTokens`."""

    type: Literal["token_count"] = "token_count"
    tokens: Tokens


class WireUsage(_Message):
    """A `Usage`."""

    prompt_tokens: Tokens
    completion_tokens: Tokens


class WireBeam(_Message):
    """A `Beam`; its text is what its names are joined to."""

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
    """A `Failure`. A model in a process of this machine is not asked over a network: it fails at the first try."""

    type: Literal["failure"] = "failure"
    kind: Literal[FailureKind.UNAVAILABLE, FailureKind.REFUSED, FailureKind.PROMPT_TOO_LONG, FailureKind.BROKEN]
    message: Sentence


WireAnswer = Annotated[WireCompletion | WireScores | WireFailure, Field(discriminator="type")]


class Answers(_Message):
    """One answer for each call, in their order."""

    type: Literal["answers"] = "answers"
    answers: tuple[WireAnswer, ...]


class Ended(_Message):
    """The model's process is gone. Said by the supervisor of a server in another container (`serving`), so that the
    worker can tell a model that ends its process from a pod that the cluster took away, which says nothing."""

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
    """Bytes that the answers to these calls may have: enough for the longest tokens of any vocabulary."""
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
