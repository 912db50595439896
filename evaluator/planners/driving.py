"""Strategies as planners: many conversations with a language model at once, none of which blocks another.

With a model that answers in batches, conversations proceed in rounds: each round answers all waiting calls. With a
model that answers concurrently, each conversation is a task of an event loop in a thread of the planner.
"""

import asyncio
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from queue import SimpleQueue
from types import MappingProxyType
from typing import Protocol, cast, runtime_checkable

from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, ConcurrentLanguageModel, Failure, LanguageModel
from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest, RanPlan
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.strategy import Conversation, RespondingStrategy, Strategy, StrategyWithWeights
from evaluator.core.turns import Formulation, TurnReply, TurnRequest, TurnResponse
from evaluator.network.event_loop import LoopThread
from evaluator.planners.conversation import End, StrategyConversation
from evaluator.planners.language_models.by_role import models_by_role, models_in
from evaluator.planners.language_models.limits import over_limit

CONVERSATIONS = 256
"""Concurrent conversations: enough to fill batches and connections, few enough that early requests end early."""


class UnfitModelError(ValueError):
    """The language model lacks an ability that the strategy needs. The message names it."""


class StrategyPlanner:
    """A strategy with a language model as a planner (`Planner` and `BatchPlanner`). Thread-safe."""

    def __init__(
        self,
        *,
        strategy: Strategy,
        model: LanguageModel | None = None,
        name: str | None = None,
        conversations: int = CONVERSATIONS,
    ) -> None:
        """Args:
        strategy: the strategy.
        model: its language model; None if it needs none.
        name: name of the planner; by default that of the strategy and its model.
        conversations: maximum number at once.

        Raises:
            UnfitModelError: the model lacks an ability that the strategy needs.
        """
        if model is None and strategy.needs:
            raise UnfitModelError(f"{strategy.name} needs a language model; name one as in {strategy.name}:MODEL")
        if model is not None and (lacking := strategy.needs - model.abilities):
            raise UnfitModelError(_unfit(f"{strategy.name} needs", lacking=lacking, model=model))
        self.name = name or (strategy.name if model is None else f"{strategy.name}:{model.name}")
        self._strategy = strategy
        self._model = model
        self._conversations = conversations
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None

    def reseeded(self, run: int) -> "ReseededStrategy":
        return ReseededStrategy(self, run)

    def identity(self) -> dict[str, JsonValue]:
        """What the plans depend on besides the request: the strategy, its language model, and those of its `roles`.
        `weights` is present if the strategy has its own networks."""
        model = None if self._model is None else dict(self._model.identity())
        roles = (model or {}).pop("roles", None)
        identity: dict[str, JsonValue] = {"strategy": self._strategy.name, "language_model": model}
        if roles:
            identity["roles"] = roles
        if isinstance(self._strategy, StrategyWithWeights):
            identity["weights"] = dict(self._strategy.weights_digests())
        return identity

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return _single(self.plan_all([request]))

    def plan_all(
        self, requests: Iterable[PlannerRequest], *, run: int = 0
    ) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        """See `BatchPlanner.plan_all`; `run` varies the seeds of draws."""
        conversations = (
            StrategyConversation(strategy=self._strategy, request=request, run=run) for request in requests
        )
        if isinstance(self._model, ConcurrentLanguageModel):
            return self._concurrently(conversations, model=self._model)
        return self._in_rounds(conversations)

    @property
    def is_outside(self) -> bool:
        """See `RespondingPlanner`: whether it or one of its roles has a model behind an endpoint. Those are the models
        that answer concurrently."""
        return self._model is not None and any(
            isinstance(model, ConcurrentLanguageModel) for model in models_in(self._model)
        )

    def responds_to(self, reply: PlannerReply) -> bool:
        """See `RespondingPlanner`: whether the strategy answers in sentences."""
        del reply
        return isinstance(self._strategy, RespondingStrategy)

    def respond(self, ran: RanPlan) -> PlannerReply | PlannerError:
        """The response to the results of a plan, whose `plan` is a text, or why there is none."""
        assert isinstance(self._strategy, RespondingStrategy)
        bound = _Responding(name=self._strategy.name, needs=self._strategy.needs, strategy=self._strategy, ran=ran)
        conversation = StrategyConversation(strategy=bound, request=ran.request)
        if isinstance(self._model, ConcurrentLanguageModel):
            _, end = next(self._concurrently([conversation], model=self._model))
        else:
            _, end = next(self._in_rounds([conversation]))
        return end

    def close(self) -> None:
        """Cancel running conversations and close connections."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None:
            return
        if isinstance(self._model, ConcurrentLanguageModel):
            loop.submit(self._model.close()).result()
        loop.close()

    def _in_rounds(self, conversations: Iterable[StrategyConversation]) -> Iterator[tuple[int, End]]:
        open_conversations: dict[int, StrategyConversation] = {}
        for index, conversation in enumerate(conversations):
            end = conversation.start()
            if end is not None:
                yield index, end
                continue
            open_conversations[index] = conversation
            while len(open_conversations) >= self._conversations:
                yield from self._round(open_conversations)
        while open_conversations:
            yield from self._round(open_conversations)

    def _round(self, open_conversations: dict[int, StrategyConversation]) -> list[tuple[int, End]]:
        """Answer all waiting calls in one batch and resume their conversations. Removes and returns what ended."""
        calls = [call for conversation in open_conversations.values() for call in conversation.calls]
        started = time.monotonic()
        try:
            answers = iter(self._answers(calls))
        except Exception as error:  # noqa: BLE001 - a model's defect fails the waiting tasks, not the run
            ends: list[tuple[int, End]] = [
                (index, conversation.defect(error)) for index, conversation in open_conversations.items()
            ]
            open_conversations.clear()
            return ends
        share = (time.monotonic() - started) / max(1, len(calls))
        ended: list[tuple[int, End]] = []
        for index, conversation in list(open_conversations.items()):
            own = list(islice(answers, len(conversation.calls)))
            if (end := conversation.resume(own, seconds=share * len(own))) is not None:
                ended.append((index, end))
                del open_conversations[index]
        return ended

    def _answers(self, calls: list[Call]) -> list[Answer | Failure]:
        if not calls:
            return []
        if self._model is None:
            raise RuntimeError("it asked a language model, but said that it needs none")
        with self._lock:
            failures = over_limit(calls, model=self._model)
            within = [call for place, call in enumerate(calls) if place not in failures]
            answers = self._model.answer(within) if within else []
        if len(answers) != len(within):
            raise RuntimeError(f"the language model gave {len(answers)} answers to {len(within)} calls")
        given = iter(answers)
        return [failures[place] if place in failures else next(given) for place in range(len(calls))]

    def _concurrently(
        self, conversations: Iterable[StrategyConversation], *, model: ConcurrentLanguageModel
    ) -> Iterator[tuple[int, End]]:
        ends: SimpleQueue[tuple[int, End] | None] = SimpleQueue()
        with self._lock:
            if self._loop is None:
                self._loop = LoopThread(name=f"planner {self.name}"[:60])
            loop = self._loop
        running = loop.submit(self._hold_all(conversations, model=model, ends=ends))
        running.add_done_callback(lambda _: ends.put(None))
        try:
            while (item := ends.get()) is not None:
                yield item
            running.result()
        finally:
            running.cancel()

    async def _hold_all(
        self,
        conversations: Iterable[StrategyConversation],
        *,
        model: ConcurrentLanguageModel,
        ends: "SimpleQueue[tuple[int, End] | None]",
    ) -> None:
        places = asyncio.Semaphore(self._conversations)
        # A strategy's computations between two calls must not delay other conversations.
        strategist = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strategy")

        async def hold(index: int, conversation: StrategyConversation) -> None:
            try:
                ends.put((index, await _end_of(conversation=conversation, model=model, strategist=strategist)))
            finally:
                places.release()

        try:
            async with asyncio.TaskGroup() as group:
                for index, conversation in enumerate(conversations):
                    await places.acquire()
                    group.create_task(hold(index, conversation))
        finally:
            strategist.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Responding:
    """The response of a strategy as a strategy."""

    name: str
    needs: frozenset[Ability]
    strategy: RespondingStrategy
    ran: RanPlan

    def converse(self, request: PlannerRequest) -> Conversation:
        del request
        return self.strategy.respond(self.ran)


@dataclass(frozen=True, slots=True)
class ReseededStrategy:
    """A strategy in one of several runs with different seeds. Its resources belong to `planner`."""

    planner: StrategyPlanner
    run: int

    @property
    def name(self) -> str:
        return self.planner.name

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return _single(self.plan_all([request]))

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        return self.planner.plan_all(requests, run=self.run)


def _single(ends: Iterator[tuple[int, PlannerReply | PlannerError]]) -> PlannerReply:
    _, end = next(ends)
    if isinstance(end, PlannerError):
        raise end
    return end


async def _end_of(
    *, conversation: StrategyConversation, model: ConcurrentLanguageModel, strategist: ThreadPoolExecutor
) -> End:
    loop = asyncio.get_running_loop()
    end = await loop.run_in_executor(strategist, conversation.start)
    while end is None:
        started = time.monotonic()
        failures = await loop.run_in_executor(strategist, partial(over_limit, conversation.calls, model=model))
        if failures:
            # The first failure of a turn is raised in the strategy, which never sees the other answers of that turn.
            failed = partial(conversation.resume, list(failures.values()), seconds=time.monotonic() - started)
            end = await loop.run_in_executor(strategist, failed)
            continue
        outcomes = await asyncio.gather(*map(model.answer_one, conversation.calls), return_exceptions=True)
        seconds = time.monotonic() - started
        answers: list[Answer | Failure] = []
        for answer in outcomes:
            if isinstance(answer, BaseException):
                return conversation.defect(answer)
            answers.append(answer)
        end = await loop.run_in_executor(strategist, partial(conversation.resume, answers, seconds=seconds))
    return end


_NO_ANSWER = PlannerError(
    reason=Reason.INTERNAL_ERROR, message="The planner neither answered nor failed.", call=PlannerCall(seconds=0.0)
)


@runtime_checkable
class TurnStrategy(Strategy, Protocol):
    """A strategy that acts step by step: its requests are turns, and its drafts the fields of a `TurnResponse`."""

    @property
    def formulation(self) -> Formulation: ...


class StrategyTurnPlanner(StrategyPlanner):
    """A strategy in turns (`BatchTurnPlanner`). Each answer is a separate conversation."""

    def __init__(self, *, strategy: TurnStrategy, model: LanguageModel | None = None, name: str | None = None) -> None:
        """Args:
        strategy: the strategy.
        model: its language model.
        name: name of the planner.

        Raises:
            UnfitModelError: the model lacks an ability that the strategy needs.
        """
        super().__init__(strategy=strategy, model=model, name=name)
        self.formulation = strategy.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        (end,) = self.turn_all([request])
        if isinstance(end, PlannerError):
            raise end
        return end

    def reseeded(self, run: int) -> "ReseededTurns":
        return ReseededTurns(self, run)

    def turn_all(self, requests: Iterable[TurnRequest], *, run: int = 0) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`; `run` varies the seeds of draws."""
        turns = list(requests)
        ends: list[TurnReply | PlannerError] = [_NO_ANSWER] * len(turns)
        for number, end in self.plan_all(turns, run=run):
            ends[number] = end if isinstance(end, PlannerError) else _turn(end)
        return ends


@dataclass(frozen=True, slots=True)
class ReseededTurns(ReseededStrategy):
    """A strategy in turns in one of several runs."""

    planner: StrategyTurnPlanner

    @property
    def formulation(self) -> Formulation:
        return self.planner.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        (end,) = self.turn_all([request])
        if isinstance(end, PlannerError):
            raise end
        return end

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        return self.planner.turn_all(requests, run=self.run)


def strategy_planner_of(
    *,
    strategy: Strategy,
    model: LanguageModel | None,
    name: str,
    roles: Mapping[str, LanguageModel] = MappingProxyType({}),
) -> StrategyPlanner:
    """The planner of a strategy and its models, in turns if the strategy acts in turns.

    Args:
        strategy: the strategy.
        model: its language model.
        name: name of the planner.
        roles: language models of roles that do not use `model`.

    Raises:
        UnfitModelError: a model lacks an ability that the strategy needs.
    """
    for role, other in roles.items():
        if lacking := strategy.needs - other.abilities:
            raise UnfitModelError(_unfit(f"{strategy.name} needs for {role}", lacking=lacking, model=other))
    if roles and model is not None:
        model = models_by_role(main=model, roles=roles)
    if isinstance(strategy, TurnStrategy):
        return StrategyTurnPlanner(strategy=strategy, model=model, name=name)
    return StrategyPlanner(strategy=strategy, model=model, name=name)


def _unfit(needing: str, *, lacking: Collection[Ability], model: LanguageModel) -> str:
    needed = " and ".join(ability.in_words for ability in sorted(lacking))
    can = ", ".join(ability.in_words for ability in sorted(model.abilities))
    return f"{needing} a language model that can {needed}; {model.name} can only {can}"


def _turn(reply: PlannerReply) -> TurnReply | PlannerError:
    try:
        response = TurnResponse.model_validate(cast("dict[str, JsonValue]", reply.plan))
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        message = f"The answer is no turn: {problem}."
        return PlannerError(reason=Reason.INVALID_RESPONSE, message=message, call=reply.call)
    return TurnReply(response=response, call=reply.call)
