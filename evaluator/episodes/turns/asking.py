"""Runs many episodes concurrently: queries the planner for turns and runs actions in between."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue

from evaluator.core.planner import PlannerError
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.transcripts import ActionProblem
from evaluator.core.turns import BatchTurnPlanner, TurnPlanner, TurnReply, TurnRequest
from evaluator.episodes.turns.environment import Call, Environment, Outcome, Refused
from evaluator.episodes.turns.episode import Episode
from evaluator.episodes.turns.faults import FaultInjector

OPEN_EPISODES = 1024
"""Concurrent episodes."""
CALLS_AT_ONCE = 64
"""Concurrent calls of a planner without batches."""
_NO_TIME = PlannerCall(seconds=0.0)


@dataclass(frozen=True, slots=True)
class OpenEpisode:
    """An episode and a function that builds the request of its next turn."""

    episode: Episode
    request: Callable[[], TurnRequest]


End = TurnReply | PlannerError


def run_episodes(
    *,
    planner: TurnPlanner,
    episodes: Iterator[OpenEpisode],
    environment: Environment,
    at_once: int = OPEN_EPISODES,
    faults: FaultInjector | None = None,
) -> Iterator[Episode]:
    """Run the episodes concurrently and yield each when it ends.

    Ready actions of several episodes run together. Failures of the planner in one episode do not affect the others.
    """
    answers = _BatchCalls(planner) if isinstance(planner, BatchTurnPlanner) else _ConcurrentCalls(planner)
    open_episodes: dict[int, OpenEpisode] = {}
    numbers = count()
    try:
        while True:
            while len(open_episodes) < at_once and (opened := next(episodes, None)) is not None:
                number = next(numbers)
                open_episodes[number] = opened
                answers.ask(number, opened.request)
            if not open_episodes:
                return
            ends = answers.wait()
            for number, end in ends:
                episode = open_episodes[number].episode
                if isinstance(end, PlannerError):
                    episode.fail(end)
                else:
                    episode.receive(end)
            _run_ready([open_episodes[number].episode for number, _ in ends], environment=environment, faults=faults)
            for number, _ in ends:
                if open_episodes[number].episode.stop is None:
                    answers.ask(number, open_episodes[number].request)
                else:
                    yield open_episodes.pop(number).episode
    finally:
        answers.close()


def _run_ready(episodes: Sequence[Episode], *, environment: Environment, faults: FaultInjector | None) -> None:
    """Run the actions of these episodes until each one waits for an answer or has ended."""
    running = list(episodes)
    while True:
        ready = [(episode, call) for episode in running if (call := episode.ready) is not None]
        if not ready:
            return
        outcomes = _outcomes(ready, environment=environment, faults=faults)
        for (episode, _), (outcome, seconds) in zip(ready, outcomes, strict=True):
            episode.finish_action(outcome, seconds=seconds)
        running = [episode for episode, _ in ready]


def _outcomes(
    ready: Sequence[tuple[Episode, Call]], *, environment: Environment, faults: FaultInjector | None
) -> list[tuple[Outcome, float]]:
    if faults is None:
        return _run([call for _, call in ready], environment=environment)
    injected = [faults.before_call(episode, call) for episode, call in ready]
    calls = [call for (_, call), outcome in zip(ready, injected, strict=True) if outcome is None]
    results = iter(_run(calls, environment=environment) if calls else ())
    return [
        (outcome, 0.0) if outcome is not None else faults.after_call(episode, call, result=next(results))
        for (episode, call), outcome in zip(ready, injected, strict=True)
    ]


def _run(calls: Sequence[Call], *, environment: Environment) -> list[tuple[Outcome, float]]:
    started = time.monotonic()
    try:
        outcomes = list(environment.run(calls))
    except Exception as error:  # noqa: BLE001 - a defective tool fails its actions, not the run
        message = f"The tool failed: {type(error).__name__}."
        outcomes = [Refused(ActionProblem.TOOL_ERROR, message) for _ in calls]
    share = (time.monotonic() - started) / len(calls)
    return [(outcome, share) for outcome in outcomes]


def _defect(error: Exception) -> PlannerError:
    message = f"Asking the planner failed: {type(error).__name__}: {error}."
    return PlannerError(reason=Reason.INTERNAL_ERROR, message=message, call=_NO_TIME)


class _ConcurrentCalls:
    """Calls a planner for each turn, concurrently."""

    def __init__(self, planner: TurnPlanner) -> None:
        self._planner = planner
        self._pool = ThreadPoolExecutor(max_workers=CALLS_AT_ONCE, thread_name_prefix="planner")
        self._ends: SimpleQueue[tuple[int, End]] = SimpleQueue()

    def ask(self, number: int, request: Callable[[], TurnRequest]) -> None:
        self._pool.submit(self._answer, number, request)

    def _answer(self, number: int, request: Callable[[], TurnRequest]) -> None:
        end: End
        try:
            end = self._planner.turn(request())
        except PlannerError as error:
            end = error
        except Exception as error:  # noqa: BLE001 - a planner is foreign code; one bad task stops no other
            end = _defect(error)
        self._ends.put((number, end))

    def wait(self) -> list[tuple[int, End]]:
        ends = [self._ends.get()]
        while not self._ends.empty():
            ends.append(self._ends.get())
        return ends

    def close(self) -> None:
        # Only after an interruption is a call still open; it may never return.
        self._pool.shutdown(wait=False, cancel_futures=True)


class _BatchCalls:
    """Calls a planner once for many turns."""

    def __init__(self, planner: BatchTurnPlanner) -> None:
        self._planner = planner
        self._waiting: list[tuple[int, Callable[[], TurnRequest]]] = []

    def ask(self, number: int, request: Callable[[], TurnRequest]) -> None:
        self._waiting.append((number, request))

    def wait(self) -> list[tuple[int, End]]:
        waiting, self._waiting = self._waiting, []
        try:
            ends: list[End] = list(self._planner.turn_all([request() for _, request in waiting]))
            if len(ends) != len(waiting):
                raise RuntimeError(f"it gave {len(ends)} answers to {len(waiting)} turns")
        except Exception as error:  # noqa: BLE001 - a planner is foreign code
            ends = [_defect(error)] * len(waiting)
        return [(number, end) for (number, _), end in zip(waiting, ends, strict=True)]

    def close(self) -> None:
        self._waiting.clear()
