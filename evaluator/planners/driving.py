"""Holding the conversations of a strategy with a language model: many at once, and so that one stops no other.

With a model that answers in batches the conversations go in rounds: all calls that wait are answered together. With one
that answers concurrently each conversation is a task of one event loop, in a thread that the planner owns.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import Protocol, cast, runtime_checkable

from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Call, ConcurrentLanguageModel, Failure, LanguageModel
from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.strategy import Strategy, StrategyWithWeights
from evaluator.core.turns import Formulation, Role, TurnReply, TurnRequest, TurnResponse
from evaluator.network.event_loop import LoopThread
from evaluator.planners.conversation import End, Talk

CONVERSATIONS = 256
"""Held at once: enough to fill batches and connections, few enough that early requests end early."""


class UnfitModelError(ValueError):
    """The language model cannot do what the strategy needs; the message says what."""


class StrategyPlanner:
    """A strategy with a language model as a planner (`Planner` and `BatchPlanner`). May be used by several threads."""

    def __init__(
        self,
        *,
        strategy: Strategy,
        model: LanguageModel | None = None,
        name: str | None = None,
        conversations: int = CONVERSATIONS,
    ) -> None:
        """Args:
        strategy: what is asked and what is made of the answers.
        model: who answers; None for strategies that ask nothing.
        name: of the planner; by default of the strategy and its model.
        conversations: how many are held at once.

        Raises:
            UnfitModelError: the model lacks an ability that the strategy needs, before anything runs.
        """
        _refuse_unfit(strategy=strategy, model=model)
        self.name = name or (strategy.name if model is None else f"{strategy.name}:{model.name}")
        self._strategy = strategy
        self._model = model
        self._conversations = conversations
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None

    def reseeded(self, run: int) -> "ReseededStrategy":
        """See `ReseedablePlanner`."""
        return ReseededStrategy(self, run)

    def identity(self) -> dict[str, JsonValue]:
        """What the plans depend on besides the request. `weights` is there if the strategy has networks of its own."""
        model = None if self._model is None else dict(self._model.identity())
        found: dict[str, JsonValue] = {"strategy": self._strategy.name, "language_model": model}
        if isinstance(self._strategy, StrategyWithWeights):
            found["weights"] = dict(self._strategy.weights_digests())
        return found

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """Answer one request. See `Planner.plan`."""
        return _single(self.plan_all([request]))

    def plan_all(
        self, requests: Iterable[PlannerRequest], *, run: int = 0
    ) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        """Answer many requests. See `BatchPlanner.plan_all`; what is drawn differs between runs."""
        talks = (Talk(strategy=self._strategy, request=request, run=run) for request in requests)
        if isinstance(self._model, ConcurrentLanguageModel):
            return self._concurrently(talks, model=self._model)
        return self._in_rounds(talks)

    def close(self) -> None:
        """End what still runs, and give back connections."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None:
            return
        if isinstance(self._model, ConcurrentLanguageModel):
            loop.submit(self._model.close()).result()
        loop.close()

    def _in_rounds(self, talks: Iterable[Talk]) -> Iterator[tuple[int, End]]:
        held: dict[int, Talk] = {}
        for index, talk in enumerate(talks):
            end = talk.begin()
            if end is not None:
                yield index, end
                continue
            held[index] = talk
            while len(held) >= self._conversations:
                yield from self._round(held)
        while held:
            yield from self._round(held)

    def _round(self, held: dict[int, Talk]) -> list[tuple[int, End]]:
        """Have all calls that wait answered together, hand out the answers, and let go of what ended."""
        calls = [call for talk in held.values() for call in talk.calls]
        started = time.monotonic()
        try:
            answers = iter(self._answers(calls))
        except Exception as error:  # noqa: BLE001 - a model's defect costs the tasks that asked it, not the run
            ends: list[tuple[int, End]] = [(index, talk.defect(error)) for index, talk in held.items()]
            held.clear()
            return ends
        share = (time.monotonic() - started) / max(1, len(calls))
        found = [
            (index, talk.go_on(list(islice(answers, len(talk.calls))), seconds=share * len(talk.calls)))
            for index, talk in held.items()
        ]
        ended = [(index, end) for index, end in found if end is not None]
        for index, _ in ended:
            del held[index]
        return ended

    def _answers(self, calls: list[Call]) -> list[Answer | Failure]:
        if not calls:
            return []
        if self._model is None:
            raise RuntimeError("it asked a language model, but said that it needs none")
        with self._lock:
            answers = self._model.answer(calls)
        if len(answers) != len(calls):
            raise RuntimeError(f"the language model gave {len(answers)} answers to {len(calls)} calls")
        return answers

    def _concurrently(self, talks: Iterable[Talk], *, model: ConcurrentLanguageModel) -> Iterator[tuple[int, End]]:
        ends: SimpleQueue[tuple[int, End] | None] = SimpleQueue()
        running = self._loop_thread().submit(self._hold_all(talks, model=model, ends=ends))
        running.add_done_callback(lambda _: ends.put(None))
        try:
            while (found := ends.get()) is not None:
                yield found
            running.result()
        finally:
            running.cancel()

    async def _hold_all(
        self,
        talks: Iterable[Talk],
        *,
        model: ConcurrentLanguageModel,
        ends: "SimpleQueue[tuple[int, End] | None]",
    ) -> None:
        places = asyncio.Semaphore(self._conversations)
        # What a strategy computes between two calls must not delay the answers to all others.
        strategist = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strategy")

        async def hold(index: int, talk: Talk) -> None:
            try:
                ends.put((index, await _held(talk=talk, model=model, strategist=strategist)))
            finally:
                places.release()

        try:
            async with asyncio.TaskGroup() as group:
                for index, talk in enumerate(talks):
                    await places.acquire()
                    group.create_task(hold(index, talk))
        finally:
            strategist.shutdown(wait=False, cancel_futures=True)

    def _loop_thread(self) -> LoopThread:
        with self._lock:
            if self._loop is None:
                self._loop = LoopThread(name=f"planner {self.name}"[:60])
            return self._loop


@dataclass(frozen=True, slots=True)
class ReseededStrategy:
    """A strategy in one of several runs that draw differently. It shares everything with the planner, which is closed
    by its owner."""

    planner: StrategyPlanner
    run: int

    @property
    def name(self) -> str:
        """Of the planner."""
        return self.planner.name

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """Answer one request. See `Planner.plan`."""
        return _single(self.plan_all([request]))

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        """Answer many requests. See `BatchPlanner.plan_all`."""
        return self.planner.plan_all(requests, run=self.run)


def _single(ends: Iterator[tuple[int, PlannerReply | PlannerError]]) -> PlannerReply:
    _, end = next(ends)
    if isinstance(end, PlannerError):
        raise end
    return end


async def _held(*, talk: Talk, model: ConcurrentLanguageModel, strategist: ThreadPoolExecutor) -> End:
    loop = asyncio.get_running_loop()
    end = await loop.run_in_executor(strategist, talk.begin)
    while end is None:
        started = time.monotonic()
        found = await asyncio.gather(*map(model.answer_one, talk.calls), return_exceptions=True)
        seconds = time.monotonic() - started
        answers: list[Answer | Failure] = []
        for answer in found:
            if isinstance(answer, BaseException):
                return talk.defect(answer)
            answers.append(answer)
        end = await loop.run_in_executor(strategist, partial(talk.go_on, answers, seconds=seconds))
    return end


def _refuse_unfit(*, strategy: Strategy, model: LanguageModel | None) -> None:
    if model is None:
        if strategy.needs:
            raise UnfitModelError(f"{strategy.name} needs a language model; name one as in {strategy.name}:MODEL")
        return
    lacking = sorted(strategy.needs - model.abilities)
    if lacking:
        can = ", ".join(sorted(model.abilities))
        raise UnfitModelError(
            f"{strategy.name} needs a language model that can {' and '.join(lacking)}; {model.name} can only {can}"
        )


_NO_ANSWER = PlannerError(
    reason=Reason.INTERNAL_ERROR, message="The planner neither answered nor failed.", call=PlannerCall(seconds=0.0)
)


@runtime_checkable
class TurnStrategy(Strategy, Protocol):
    """A strategy that acts step by step: its requests are turns, and its drafts the fields of a `TurnResponse`."""

    @property
    def formulation(self) -> Formulation:
        """How planning and acting take turns."""
        ...


class StrategyTurnPlanner(StrategyPlanner):
    """A strategy in turns (`BatchTurnPlanner`). Roles may have models of their own."""

    def __init__(
        self,
        *,
        strategy: TurnStrategy,
        model: LanguageModel | None = None,
        name: str | None = None,
        modules: Mapping[Role, LanguageModel] | None = None,
    ) -> None:
        """Args:
        strategy: what is asked and what is made of the answers.
        model: who answers.
        name: of the planner.
        modules: who answers instead in these roles.

        Raises:
            UnfitModelError: a model lacks an ability that the strategy needs.
        """
        super().__init__(strategy=strategy, model=model, name=name)
        self.formulation = strategy.formulation
        self._modules = {
            role: StrategyPlanner(strategy=strategy, model=module) for role, module in (modules or {}).items()
        }

    def identity(self) -> dict[str, JsonValue]:
        """See `StrategyPlanner.identity`, with the models of roles that have their own."""
        modules: dict[str, JsonValue] = {
            str(role): planner.identity()["language_model"] for role, planner in self._modules.items()
        }
        return {**super().identity(), **({"modules": modules} if modules else {})}

    def turn(self, request: TurnRequest) -> TurnReply:
        """See `TurnPlanner`."""
        (end,) = self.turn_all([request])
        if isinstance(end, PlannerError):
            raise end
        return end

    def reseeded(self, run: int) -> "ReseededTurns":
        """See `ReseedablePlanner`."""
        return ReseededTurns(self, run)

    def turn_all(self, requests: Iterable[TurnRequest], *, run: int = 0) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`; what is drawn differs between runs."""
        asked = list(requests)
        ends: list[TurnReply | PlannerError] = [_NO_ANSWER] * len(asked)
        planners: tuple[StrategyPlanner, ...] = (self, *self._modules.values())
        for planner in planners:
            own = [place for place, request in enumerate(asked) if self._modules.get(request.role, self) is planner]
            for number, end in planner.plan_all([asked[place] for place in own], run=run):
                ends[own[number]] = end if isinstance(end, PlannerError) else _turn(end)
        return ends

    def close(self) -> None:
        """See `StrategyPlanner.close`."""
        super().close()
        for planner in self._modules.values():
            planner.close()


@dataclass(frozen=True, slots=True)
class ReseededTurns(ReseededStrategy):
    """A strategy in turns in one of several runs."""

    planner: StrategyTurnPlanner

    @property
    def formulation(self) -> Formulation:
        """See `TurnPlanner`."""
        return self.planner.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        """See `TurnPlanner`."""
        (end,) = self.turn_all([request])
        if isinstance(end, PlannerError):
            raise end
        return end

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`."""
        return self.planner.turn_all(requests, run=self.run)


def strategy_planner_of(
    *,
    strategy: Strategy,
    model: LanguageModel | None,
    name: str,
    modules: Mapping[Role, LanguageModel] | None = None,
) -> StrategyPlanner:
    """The planner of a strategy and its models: one that acts in turns if the strategy does.

    Raises:
        UnfitModelError: a model lacks an ability that the strategy needs.
    """
    if isinstance(strategy, TurnStrategy):
        return StrategyTurnPlanner(strategy=strategy, model=model, name=name, modules=modules)
    return StrategyPlanner(strategy=strategy, model=model, name=name)


def _turn(reply: PlannerReply) -> TurnReply | PlannerError:
    try:
        response = TurnResponse.model_validate(cast("dict[str, JsonValue]", reply.plan))
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        message = f"The answer is no turn: {problem}."
        return PlannerError(reason=Reason.INVALID_RESPONSE, message=message, call=reply.call)
    return TurnReply(response=response, call=reply.call)
