"""Collects the calls of agents that write `evaluator.replies.dialects.action_lines`, one or all at a time.

A value is a `"$" resource`, a file name, `"result-" number ["." output]` or a literal text. `result-k` is the first
output of the k-th call, `result-k.name` another one. A result of no earlier call becomes `$result-k`, an unknown
resource, so that it is not taken for a literal.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import ParsedPlan, PlanContext
from evaluator.planners.strategies.prompting import resource_named
from evaluator.replies.actions import Action, inputs_of, outputs_of, plan_of, tool_name
from evaluator.replies.dialects.action_lines import arguments_in

_RESULT = re.compile(r"result-[0-9]{1,4}(?:\.[A-Za-z_][A-Za-z0-9_]*)?")


class Calls:
    """Collects the calls of one request into a plan."""

    def __init__(self, *, request: PlannerRequest, context: PlanContext) -> None:
        self._request = request
        self._context = context
        self._actions: list[Action] = []
        self._results: set[str] = set()
        self.tolerated: list[str] = []

    def add(self, *, tool: str, written: str, where: str) -> Mapping[str, str]:
        """Parse and add a call.

        Args:
            tool: name of the tool.
            written: text of the input.
            where: location, for errors.

        Returns:
            Names and types of the results, in the order of the signature; of type "unknown" for an unknown tool.

        Raises:
            PlanSyntaxError: the input is invalid.
        """
        name = tool_name(written=tool, context=self._context, where=where, tolerated=self.tolerated)
        inputs = {
            key: self._resolved(value)
            for key, value in arguments_in(
                written, names=tuple(inputs_of(tool=name, context=self._context)), where=where, tolerated=self.tolerated
            ).items()
        }
        kinds = outputs_of(tool=name, context=self._context)
        number = len(self._actions) + 1
        outputs = {
            output: f"result-{number}" if index == 0 else f"result-{number}.{output}"
            for index, output in enumerate(kinds or ("output0",))
        }
        self._actions.append(Action(tool=name, inputs=inputs, outputs=outputs, where=where))
        self._results.update(outputs.values())
        return {reference: str(kinds.get(output, "unknown")) for output, reference in outputs.items()}

    def plan(self, *, final: str, form: str) -> ParsedPlan:
        """The plan of all calls.

        Args:
            final: the final answer. The answers are the results that it names, or else the results that no call takes.
            form: name of the plan's form.

        Raises:
            PlanSyntaxError: there are more calls than a plan may have.
        """
        parsed = plan_of(actions=self._actions, context=self._context, form=form, tolerated=self.tolerated)
        named = [match for match in _RESULT.findall(final) if match in self._results]
        if named:
            return replace(parsed, plan=replace(parsed.plan, answers=tuple(dict.fromkeys(named))))
        if not self._actions:
            return parsed
        note = "the final answer names no result; took those that no call takes"
        return replace(parsed, tolerated=(*parsed.tolerated, note))

    def _resolved(self, value: object) -> object:
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        if not isinstance(value, str):
            return value
        if _RESULT.fullmatch(value):
            return value if value in self._results else f"${value}"
        return resource_named(written=value, request=self._request) or value


def names_of_results(results: Mapping[str, str]) -> str:
    """Results with their types, for observations and lists."""
    return ", ".join(f"{reference} ({kind})" for reference, kind in results.items())
