"""Giving the offered tools other names, and taking plans in these names back to the suite's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.abstaining import is_abstention
from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, Step, plan_to_json
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.replies.read import read_plan

_NOT_OFFERED = "{} (not offered)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The new names of the tools of one request."""

    tools: Mapping[str, str]
    """By the suite's name."""
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """New names of arguments by tool and argument, all in the suite's names; what is absent keeps its name."""
    outputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Likewise of results."""

    def offered(self, tool: OfferedTool) -> OfferedTool:
        """The tool under its new names."""
        inputs, outputs = self.inputs.get(tool.name, {}), self.outputs.get(tool.name, {})
        return OfferedTool(
            name=self.tools.get(tool.name, tool.name),
            description=tool.description,
            inputs={inputs.get(name, name): kind for name, kind in tool.inputs.items()},
            outputs={outputs.get(name, name): kind for name, kind in tool.outputs.items()},
        )

    def restored(self, answer: object, *, request: PlannerRequest) -> object:
        """A plan in the new names as `plan/1` in the suite's own.

        What cannot be read as a plan is returned as it is. A name that was not offered stays, unless it is the suite's
        name of something that was offered under another: then it gets a mark, so that it counts as invented.

        Args:
            answer: of the planner.
            request: that the planner answered, in the new names.
        """
        if is_abstention(answer):
            return answer
        try:
            plan = read_plan(value=answer, context=context_of(request)).plan
        except PlanSyntaxError:
            return answer
        old = {new: name for name, new in self.tools.items()}
        return plan_to_json(replace(plan, steps=tuple(self._step(step, old=old) for step in plan.steps)))

    def _step(self, step: Step, *, old: Mapping[str, str]) -> Step:
        tool = old.get(step.tool)
        if tool is None:
            hidden = step.tool in self.tools and self.tools[step.tool] != step.tool
            return replace(step, tool=_NOT_OFFERED.format(step.tool) if hidden else step.tool)
        return replace(
            step,
            tool=tool,
            inputs=_renamed(step.inputs, names=self.inputs.get(tool, {})),
            outputs=_renamed(step.outputs, names=self.outputs.get(tool, {})),
        )


def context_of(request: PlannerRequest) -> PlanContext:
    """What a plan for a request is read against: the tools and resources that it offers."""
    tools = {
        tool.name: Tool(
            name=tool.name,
            domain="",
            description=tool.description,
            inputs={name: ResourceType(kind) for name, kind in tool.inputs.items()},
            outputs={name: ResourceType(kind) for name, kind in tool.outputs.items()},
        )
        for tool in request.tools
    }
    expects = request.expects
    return PlanContext(
        catalogue=Catalogue(name="offered", tools=MappingProxyType(tools)),
        resources={name: ResourceType(kind) for name, kind in request.task.resources.items()},
        expects=None if expects.type is None else ResourceType(expects.type),
        several=tuple(map(ResourceType, expects.types)),
        may_abstain=True,
    )


def plan_of(value: JsonValue) -> Plan | None:
    """The plan of a record; None if it has none."""
    if not isinstance(value, dict):
        return None
    nothing = PlanContext(catalogue=Catalogue(name="none", tools={}), resources={}, expects=None, may_abstain=True)
    try:
        return read_plan(value=value, context=nothing).plan
    except PlanSyntaxError:
        return None


def _renamed(values: Mapping[str, str], *, names: Mapping[str, str]) -> dict[str, str]:
    old = {new: name for name, new in names.items()}
    hidden = {name for name, new in names.items() if new != name}
    return {old.get(name, _NOT_OFFERED.format(name) if name in hidden else name): it for name, it in values.items()}
