"""`VllmModel`: a language model behind vLLM, with the abilities of a local one. Imports no torch.

Constraints are applied by the client. Wherever a constraint leaves a choice, one request scores all its spellings
(`prompt_logprobs`), which gives the model's log-probability of every token on every allowed path. They are then
renormalized over the allowed tokens, token by token: the same policy as that of a local model (`constrained`), over
whose completions the probabilities sum to one. vLLM's own guided decoding is not used: it does not report the
probabilities after its masks, and has no beam search.
"""

import math
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import (
    Ability,
    Answer,
    Beam,
    Call,
    Completion,
    Failure,
    FailureKind,
    Following,
    GenerateCall,
    Message,
    ScoreCall,
    Scores,
    Usage,
)
from evaluator.planners.language_models.spelling import Grammar, Speller, Tokens, UnspellableError, common_prefix
from evaluator.planners.language_models.vllm.api import VllmApi, VllmError

_AT_ONCE = 16
"""Concurrent calls; vLLM batches them."""
_TAIL = 8
"""Enough tokens to decode the prompt's last character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """Facts from the model's files, read by the worker that delivered them."""

    ends: Tokens
    """Tokens that end a completion; the first one ends constrained ones."""
    templated: bool
    """Whether its tokenizer has a chat template."""
    identity: Mapping[str, JsonValue]
    """Kind, name, source and digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    ids: Tokens
    anchor: str
    lead: str


class VllmModel:
    """A `LanguageModel` behind vLLM."""

    abilities = frozenset({Ability.GENERATE, Ability.SCORE, Ability.CONSTRAIN})

    def __init__(
        self, api: VllmApi, *, name: str, facts: ModelFacts, answer_seconds: float = 180.0, call_seconds: float = 50.0
    ) -> None:
        """Args:
        api: API of the model's server.
        name: name of the model.
        facts: facts from its files.
        answer_seconds: limit of a batch of calls.
        call_seconds: added to the limit for each call.

        Raises:
            VllmError: the server does not report its context length, or does not tokenize.
        """
        self.name = name
        self._api = api
        self._facts = facts
        self._seconds = (answer_seconds, call_seconds)
        self._lost: Failure | None = None
        self._context = api.longest_context()
        plain, full = api.tokens("a"), api.tokens("a", special=True)
        start = next((at for at in range(len(full)) if full[at : at + len(plain)] == plain), 0)
        self._before = full[:start]
        # The API reports no character offsets, and `SpanlessGrammar` needs none.
        self._speller = Speller(lambda text: (tokens := api.tokens(text), [(0, 0)] * len(tokens)))

    @property
    def is_broken(self) -> bool:
        """Whether its server is unreachable, hangs or violates its API."""
        return self._lost is not None

    def close(self) -> None:
        """Close the connections. All later calls fail."""
        if self._lost is None:
            self._lost = _failure("was closed", kind=FailureKind.BROKEN)
        self._api.close()

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        together, each = self._seconds
        self._api.limit(together + each * len(calls))
        with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="vllm") as pool:
            return list(pool.map(self._answered, calls))

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, without special ones; an estimate if the server fails."""
        self._api.limit(self._seconds[0])
        try:
            return len(self._api.tokens(text))
        except VllmError:
            return len(text.encode(errors="replace")) // 4

    def identity(self) -> Mapping[str, JsonValue]:
        return dict(self._facts.identity)

    def _answered(self, call: Call) -> Answer | Failure:
        if self._lost is not None:
            return self._lost
        try:
            return self._scored(call) if isinstance(call, ScoreCall) else self._generated(call)
        except UnspellableError as error:
            return Failure(kind=FailureKind.REFUSED, message=str(error))
        except VllmError as error:
            failure = _failure(str(error), kind=error.kind)
            if error.kind not in (FailureKind.REFUSED, FailureKind.PROMPT_TOO_LONG):
                # As with the arena's model server, it is not called again: each call would wait for its deadline.
                self._lost = failure
            return failure
        except Exception as error:  # noqa: BLE001 - a constraint is a strategy's code
            return Failure(kind=FailureKind.UNAVAILABLE, message=f"{type(error).__name__}: {error}"[:2000])

    def _generated(self, call: GenerateCall) -> Answer | Failure:
        problem = call.problem()
        if problem is not None:
            return _refused(problem)
        prompt = self._prompt(call.messages)
        room = min(call.max_tokens, self._context - len(prompt.ids) - 1)
        if room < 1:
            return self._too_long(prompt)
        if call.constraint is not None:
            return self._constrained(call, prompt=prompt, room=room)
        text = self._api.completion(
            prompt.ids, max_tokens=room, temperature=call.temperature, top_p=call.top_p, seed=call.seed,
            stop=call.stop, ends=self._facts.ends,
        )  # fmt: skip
        return Completion(text=text.text.strip(), usage=text.usage, truncated=text.truncated)

    def _scored(self, call: ScoreCall) -> Answer | Failure:
        prompt = self._prompt(call.messages)
        tails = [self._continuation(text, prompt=prompt) for text in call.continuations]
        if len(prompt.ids) + max(map(len, tails), default=0) + 1 > self._context:
            return self._too_long(prompt)
        rows = [(prompt.ids, tail) for tail in tails if tail]
        scores = iter(self._api.log_probabilities(rows))
        values = tuple(math.fsum(next(scores)) if tail else 0.0 for tail in tails)
        return Scores(
            log_probabilities=values, usage=Usage(prompt_tokens=len(prompt.ids) + sum(map(len, tails)))
        )  # fmt: skip

    def _constrained(self, call: GenerateCall, *, prompt: _Prompt, room: int) -> Completion | Failure:
        assert call.constraint is not None
        end = self._facts.ends[0]
        grammar = SpanlessGrammar(
            constraint=call.constraint, speller=self._speller, end=end, anchor=prompt.anchor, lead=prompt.lead
        )
        if not grammar.allowed(()):
            return _refused("The constraint allows no completion at all.")
        policy = Policy(grammar=grammar, api=self._api, prompt=prompt.ids)
        if call.temperature > 0:
            candidates = sample(policy, call=call, room=room, end=end)
        else:
            candidates = beam_search(policy, beams=call.beams, room=room, end=end)
        read = [(tokens, value, *grammar.names(tokens)) for tokens, value in candidates]
        ended = [candidate for candidate in read if candidate[3]]
        # A beam that may neither go on nor end is a dead end.
        results = ended or [candidate for candidate in read if grammar.allowed(candidate[0])]
        if not results:
            return _refused(
                "The constraint led to names after which nothing may follow and the completion may not end."
            )
        beams = sorted(
            (Beam(text=call.constraint.separator.join(names), log_probability=min(0.0, value), names=names)
             for _, value, names, _ in results),
            key=lambda beam: (-beam.log_probability, beam.names),
        )  # fmt: skip
        usage = Usage(prompt_tokens=len(prompt.ids), completion_tokens=sum(len(tokens) for tokens, *_ in results))
        return Completion(text=beams[0].text, usage=usage, truncated=not ended, beams=tuple(beams))

    def _prompt(self, messages: Sequence[Message]) -> _Prompt:
        if not self._facts.templated:
            text = "\n\n".join(message.content for message in messages).rstrip(" ")
            return _Prompt(ids=(*self._before, *self._api.tokens(text)), anchor=text[-1:], lead=_lead(text))
        ids = self._templated(messages)
        text = self._api.text(ids[-_TAIL:])
        return _Prompt(ids=ids, anchor=text[-1:], lead=_lead(text))

    def _templated(self, messages: Sequence[Message]) -> Tokens:
        try:
            return self._api.prompt(messages)
        except VllmError as error:
            if error.kind is not FailureKind.REFUSED or [each.role for each in messages][:2] != ["system", "user"]:
                raise
        # Some templates refuse system messages: prepend it to the user's message.
        joined = Message("user", f"{messages[0].content}\n\n{messages[1].content}")
        return self._api.prompt([joined, *messages[2:]])

    def _continuation(self, text: str, *, prompt: _Prompt) -> Tokens:
        lead = "" if text[:1].isspace() else prompt.lead
        return self._speller.spell(prompt.anchor, lead + text)[0] if text else ()

    def _too_long(self, prompt: _Prompt) -> Failure:
        message = (
            f"The prompt has {len(prompt.ids)} tokens; the language model reads at most {self._context}, its "
            "completion included."
        )
        return Failure(kind=FailureKind.PROMPT_TOO_LONG, message=message)


class SpanlessGrammar(Grammar):
    """A grammar for a tokenizer without character offsets: compares with the spelling of the text alone instead."""

    def _shared(self, names: tuple[str, ...], *, after: Following) -> Tokens:
        shared = self._spell((*names, ""))[0]
        for name in after.names:
            shared = common_prefix(shared, self._spell((*names, name))[0])
        return shared


@dataclass(slots=True, kw_only=True)
class Policy:
    """The model's distribution renormalized over the allowed tokens. Queries the server only where there is a
    choice."""

    grammar: Grammar
    api: VllmApi
    prompt: Tokens
    _known: dict[Tokens, float] = field(default_factory=dict)
    """Log-probabilities over the whole vocabulary: of the last token of a sequence, given those before it."""

    def after(self, several: Sequence[Tokens]) -> list[dict[int, float]]:
        """The log-probabilities of the tokens that may follow each of these beginnings."""
        allowed = [self.grammar.allowed(written) for written in several]
        self._learn(several, allowed=allowed)
        return [self._renormalised(written, tokens) for written, tokens in zip(several, allowed, strict=True)]

    def _learn(self, several: Sequence[Tokens], *, allowed: Sequence[Tokens]) -> None:
        rows: dict[Tokens, Tokens] = {}
        for written, tokens in zip(several, allowed, strict=True):
            if len(tokens) > 1 and any((*written, token) not in self._known for token in tokens):
                rows.update({(*written, *rest): written for rest in self.grammar.ahead(written)})
        queries = [((*self.prompt, *written), whole[len(written) :]) for whole, written in rows.items()]
        for (whole, written), values in zip(rows.items(), self.api.log_probabilities(queries), strict=True):
            for at, value in enumerate(values):
                self._known[whole[: len(written) + at + 1]] = value

    def _renormalised(self, written: Tokens, tokens: Tokens) -> dict[int, float]:
        if len(tokens) < 2:
            return dict.fromkeys(tokens, 0.0)
        values = {token: self._known[*written, token] for token in tokens}
        most = max(values.values())
        total = most + math.log(math.fsum(math.exp(value - most) for value in values.values()))
        return {token: min(0.0, value - total) for token, value in values.items()}


Candidates = list[tuple[Tokens, float]]
"""Completions with their log-probabilities."""


def beam_search(policy: Policy, *, beams: int, room: int, end: int) -> Candidates:
    """The most probable completions by beam search; with one beam, by greedy decoding."""
    open_beams: Candidates = [((), 0.0)]
    ended: Candidates = []
    for _ in range(room):
        following = policy.after([written for written, _ in open_beams])
        candidates = [
            ((*written, token), so_far + value)
            for (written, so_far), choices in zip(open_beams, following, strict=True)
            for token, value in choices.items()
        ]
        candidates.sort(key=lambda beam: (-beam[1], beam[0]))
        best = candidates[:beams]
        ended = sorted([*ended, *(beam for beam in best if beam[0][-1] == end)], key=lambda beam: -beam[1])[:beams]
        # As in transformers' `generate`: a finished beam must be among the best, and an open one takes its place.
        open_beams = [beam for beam in (best if beams == 1 else candidates[: 2 * beams]) if beam[0][-1] != end][:beams]
        # A sum of log-probabilities only falls: a beam behind all finished ones stays behind.
        if not open_beams or (len(ended) == beams and open_beams[0][1] <= ended[-1][1]):
            return ended
    return [*ended, *open_beams]


def sample(policy: Policy, *, call: GenerateCall, room: int, end: int) -> Candidates:
    """One completion, drawn token by token."""
    chance = random.Random(call.seed)  # noqa: S311 - no secret
    written: Tokens = ()
    total = 0.0
    while len(written) < room and written[-1:] != (end,):
        (choices,) = policy.after([written])
        if not choices:
            break
        most = max(choices.values())
        weights = {token: math.exp((value - most) / call.temperature) for token, value in choices.items()}
        mass = math.fsum(weights.values())
        nucleus: dict[int, float] = {}
        for token, weight in sorted(weights.items(), key=lambda entry: (-entry[1], entry[0])):
            # The smallest set whose probabilities reach top_p.
            if math.fsum(nucleus.values()) >= call.top_p * mass:
                break
            nucleus[token] = weight
        token = chance.choices(list(nucleus), weights=list(nucleus.values()))[0]
        written, total = (*written, token), total + choices[token]
    return [(written, total)]


def _lead(text: str) -> str:
    return "" if not text or text[-1].isspace() else " "


def _refused(message: str) -> Failure:
    return Failure(kind=FailureKind.REFUSED, message=message)


def _failure(what: str, *, kind: FailureKind) -> Failure:
    return Failure(kind=kind, message=f"The language model {what[:1500].rstrip('.')}.")
