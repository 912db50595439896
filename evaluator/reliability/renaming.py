"""Renames the offered tools, and converts plans back to the suite's names."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.abstaining import is_abstention
from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, Step, plan_to_json
from evaluator.core.tools.types import Catalogue
from evaluator.planners.strategies.prompting import context_of
from evaluator.replies.read import read_plan

_NOT_OFFERED = "{} (not offered)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """New names of the tools of a request, by the suite's names."""

    tools: Mapping[str, str]
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """New names of arguments by tool and argument; others are unchanged."""
    outputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """New names of results by tool and result; others are unchanged."""

    def offered(self, tool: OfferedTool) -> OfferedTool:
        """The tool with its new names."""
        inputs, outputs = self.inputs.get(tool.name, {}), self.outputs.get(tool.name, {})
        return OfferedTool(
            name=self.tools.get(tool.name, tool.name),
            description=tool.description,
            inputs={inputs.get(name, name): kind for name, kind in tool.inputs.items()},
            outputs={outputs.get(name, name): kind for name, kind in tool.outputs.items()},
        )

    def restored(self, answer: object, *, request: PlannerRequest) -> object:
        """Convert a plan from the new names to `plan/1` in the suite's names.

        Unreadable answers are returned unchanged. Names that were not offered are kept; a suite's name that was
        replaced is marked, so that it counts as invented.

        Args:
            answer: the planner's answer.
            request: the request with the new names.
        """
        if is_abstention(answer):
            return answer
        try:
            plan = read_plan(value=answer, context=replace(context_of(request), may_abstain=True)).plan
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


def plan_of(value: JsonValue) -> Plan | None:
    """The plan of a record, if any."""
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
    return {
        old.get(name, _NOT_OFFERED.format(name) if name in hidden else name): value for name, value in values.items()
    }
