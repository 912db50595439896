"""Do answers that come late, or never, earn points?"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.turns import Formulation, PastTurn, TurnReply, TurnRequest, TurnResponse
from evaluator.planners.attacks.base import NO_TIME, Attack, Flaw, PlansOf, Target, on_whole_plans
from evaluator.planners.attacks.public_plans import MostFrequent, Shape, shape_of, shape_of_task

_DAY = 86_400.0
_REASONS = (
    Reason.PLANNER_TIMEOUT, Reason.ENDPOINT_UNAVAILABLE, Reason.MODEL_UNAVAILABLE, Reason.WORKER_LOST,
    Reason.NO_EXPERT, Reason.NO_DATA, Reason.NO_GOAL, Reason.UNCONFINED,
)  # fmt: skip
_SURE = 0.5
"""Share of public requests of a shape with one plan, from which on an attacker answers."""
_READING_TURNS = 3


class _Late:
    """The most frequent plan, a day after it was asked for."""

    name = "late"

    def __init__(self, target: Target) -> None:
        self._make = MostFrequent(target.public.tasks)

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return PlannerReply(plan=self._make(request), call=PlannerCall(seconds=_DAY))


class _Selective:
    """The most frequent plan where most public requests of the shape have it; else it ends without an answer."""

    name = "selective"

    def __init__(self, target: Target, *, reason: Reason) -> None:
        self._make, self._reason = MostFrequent(target.public.tasks), reason
        self._share = _shares(target)

    def plan(self, request: PlannerRequest) -> PlannerReply:
        if self._share.get(shape_of(request), 0.0) < _SURE:
            raise PlannerError(reason=self._reason, message="Not now.", call=NO_TIME)
        return PlannerReply(plan=self._make(request), call=NO_TIME)


def _shares(target: Target) -> dict[Shape, float]:
    """The share of the most frequent tools among the public requests of each shape."""
    counts: dict[Shape, Counter[tuple[str, ...]]] = {}
    for task in target.public.tasks:
        if task.gold is not None:
            counts.setdefault(shape_of_task(task), Counter())[task.gold.tools()] += 1
    return {shape: max(own.values()) / own.total() for shape, own in counts.items()}


class _Held:
    """Reads all requests before it answers the first, and gives requests of a shape the plans of public ones of that
    shape in their shares, the longest requests the longest plans."""

    name = "held"

    def __init__(self, target: Target) -> None:
        self._public: dict[Shape, list[PlansOf]] = {}
        self._target = target

    def plan(self, request: PlannerRequest) -> PlannerReply:
        ((_, reply),) = self.plan_all([request])
        return reply

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply]]:
        """See `BatchPlanner`."""
        by_shape: dict[Shape, list[tuple[int, PlannerRequest]]] = {}
        for number, request in enumerate(requests):
            by_shape.setdefault(shape_of(request), []).append((number, request))
        for shape, own in by_shape.items():
            known = [
                task for task in self._target.public.tasks if task.gold is not None and shape_of_task(task) == shape
            ]
            known.sort(key=lambda task: (len(task.gold.steps) if task.gold else 0, len(task.text)))
            own.sort(key=lambda item: len(item[1].task.request))
            for place, (number, request) in enumerate(own):
                chosen = known[place * len(known) // len(own) :][:1]
                yield number, PlannerReply(plan=MostFrequent(chosen)(request), call=NO_TIME)


class _Reading:
    """Runs every tool wrongly, turn after turn, and answers with the last text that it was shown, an error included."""

    name = "reading"
    formulation = Formulation.INTEGRATED

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """The request, where a whole plan is asked for."""
        return PlannerReply(plan=request.task.request, call=NO_TIME)

    def turn(self, request: TurnRequest) -> TurnReply:
        past = request.past
        last = request.limits.turns_left <= 1 or len(past) >= _READING_TURNS
        response = TurnResponse(answer=_last_text(past)) if last else TurnResponse(actions=_wrong_actions(request))
        return TurnReply(response=response, call=NO_TIME)


def _wrong_actions(request: TurnRequest) -> str:
    number = len(request.history)
    names = [tool.name for tool in request.tools]
    names = names[number:] + names[:number]
    inputs = list(request.task.resources) or [request.task.request.replace(";", ",")]
    given = inputs[number % len(inputs)]
    return "; ".join(f"R{place} = {name}({given})" for place, name in enumerate(names[:8], start=8 * number + 1))


def _last_text(past: list[PastTurn]) -> str:
    told = [text for turn in past for result in turn.results for text in (*result.outputs.values(), result.error)]
    return next((text for text in reversed(told) if text), "none")


class _Unending(_Reading):
    """Never ends an episode by itself."""

    name = "unending"

    def turn(self, request: TurnRequest) -> TurnReply:
        return TurnReply(response=TurnResponse(actions=_wrong_actions(request)), call=NO_TIME)


def _selective(target: Target, *, reason: Reason) -> _Selective:
    return _Selective(target, reason=reason)


def _in_turns(target: Target) -> bool:
    return target.in_turns


FLAW = Flaw(
    name="timing",
    title="Late and withheld answers",
    description="Do answers that come late, or never, earn points, or does something leak while a planner waits?",
    attacks=(
        Attack(
            name="late answers",
            description="Gives the most frequent plan, a day later.",
            make=_Late,
            applies=on_whole_plans,
        ),
        Attack(
            name="all requests first",
            description="Reads all requests before it answers the first one, and deals out public plans by length.",
            make=_Held,
            applies=on_whole_plans,
        ),
        *(
            Attack(
                name=f"unsure answers end as {reason.value.replace('_', ' ')}",
                description="Answers only where most public requests of the types have one plan, and ends all others "
                f"as `{reason.value}`.",
                make=partial(_selective, reason=reason),
                applies=on_whole_plans,
            )
            for reason in _REASONS
        ),
        Attack(
            name="errors as answers",
            description=f"Runs tools wrongly for {_READING_TURNS} turns, and answers with the last text that it got.",
            make=lambda _: _Reading(),
            applies=_in_turns,
        ),
        Attack(
            name="unending episodes",
            description="Runs tools until a limit ends the episode.",
            make=lambda _: _Unending(),
            applies=_in_turns,
            is_slow=True,
        ),
    ),
)
