"""Do ids, order or resources of a request tell which public request it is like?"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.suites.base import Suite, Task
from evaluator.planners.attacks.base import NO_TIME, Attack, Flaw, PlansOf, Target, empty_plan
from evaluator.planners.attacks.public_plans import Shape, closed_season, plan_from, shape_of, shape_of_task


def _is_hidden(target: Target) -> bool:
    return target.is_hidden


class _ByPlace:
    """The n-th request gets the gold plan of the n-th known request of its shape, or of the n-th request."""

    name = "place"

    def __init__(self, known: Sequence[Task], *, within_shape: bool) -> None:
        self._known, self._within_shape = known, within_shape

    def plan(self, request: PlannerRequest) -> PlannerReply:
        ((_, reply),) = self.plan_all([request])
        return reply

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply]]:
        """See `BatchPlanner`; requests come in the order in which they are asked."""
        seen: dict[Shape | None, int] = {}
        for number, request in enumerate(requests):
            shape = shape_of(request) if self._within_shape else None
            tasks = _of_shape(self._known, shape=shape)
            place = seen.get(shape, 0)
            seen[shape] = place + 1
            task = tasks[place % len(tasks)] if tasks else None
            yield number, PlannerReply(plan=plan_from(task, request=request), call=NO_TIME)


def _of_shape(tasks: Sequence[Task], *, shape: Shape | None) -> Sequence[Task]:
    return tasks if shape is None else [task for task in tasks if shape_of_task(task) == shape]


class _ById:
    """The public request whose key is most like the name of a request."""

    def __init__(self, suite: Suite) -> None:
        self._keys = {task.key: task for task in suite.tasks}
        self._tasks = list(suite.tasks)

    def __call__(self, request: PlannerRequest) -> object:
        name = request.task.id
        task = self._keys.get(name)
        if task is None and name.isalnum() and not name.isdecimal():
            # A name that was drawn by the digits of a place would give the place away.
            task = self._tasks[int(name, 36) % len(self._tasks)]
        return plan_from(task, request=request)


class _ByResources:
    """The public request of the same shape whose resources have the most similar names."""

    def __init__(self, suite: Suite) -> None:
        self._tasks = suite.tasks

    def __call__(self, request: PlannerRequest) -> object:
        names = " ".join(request.task.resources)
        alike = _of_shape(self._tasks, shape=shape_of(request))
        nearest = max(
            alike, key=lambda task: SequenceMatcher(None, " ".join(task.resources), names).ratio(), default=None
        )
        return plan_from(nearest, request=request)


def _first_tool(request: PlannerRequest) -> object:
    files = list(request.task.resources.items())
    wanted = request.expects.type or next(iter(request.expects.types), None)
    for tool in request.tools:
        made = [name for name, kind in tool.outputs.items() if wanted in (None, kind)]
        inputs = {
            slot: next(
                (f"${name}" for name, own in files if own == kind), request.task.request if kind == "text" else ""
            )
            for slot, kind in tool.inputs.items()
        }
        if made and all(inputs.values()):
            step = {
                "id": "s1",
                "tool": tool.name,
                "inputs": inputs,
                "outputs": {name: f"s1.{name}" for name in tool.outputs},
            }
            return {"steps": [step], "answers": [f"s1.{made[0]}"]}
    return empty_plan()


FLAW = Flaw(
    name="isolation",
    title="Isolation",
    description="Do the id, the place or the resources of a request tell which plan is right?",
    attacks=(
        Attack(
            name="ids",
            description="Takes the gold plan of the public request whose key the id of a request gives.",
            make=lambda target: PlansOf("ids", _ById(target.public)),
            applies=_is_hidden,
        ),
        Attack(
            name="order",
            description="Takes the gold plan of the public request in the same place.",
            make=lambda target: _ByPlace(target.public.tasks, within_shape=False),
            applies=_is_hidden,
        ),
        Attack(
            name="order among like requests",
            description="The same, counting only requests of the same types of inputs and answers.",
            make=lambda target: _ByPlace(target.public.tasks, within_shape=True),
            applies=_is_hidden,
        ),
        Attack(
            name="order of a closed season",
            description="Takes the gold plan of the request in the same place of a closed season, among like requests.",
            make=lambda target: _ByPlace(closed_season(target.public), within_shape=True),
            applies=_is_hidden,
        ),
        Attack(
            name="order of the tools",
            description="Calls the first offered tool that takes what a request has and makes what it asks for.",
            make=lambda _: PlansOf("first tool", _first_tool),
        ),
        Attack(
            name="resource names",
            description="Takes the gold plan of the public request of the same types with the most similar names.",
            make=lambda target: PlansOf("resources", _ByResources(target.public)),
            applies=_is_hidden,
        ),
    ),
)
