"""Whole plans as actions, and the actions of an episode as a plan, which pages draw."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from evaluator.core.plans.model import Plan, PlanSyntaxError, Step
from evaluator.core.tools.types import Catalogue
from evaluator.core.transcripts import Transcript
from evaluator.episodes.turns.wanted import NamedStep, Wanted, references_in


def wanted_of_named(plan: Plan) -> tuple[Wanted, ...]:
    """The steps of a plan as actions of tools with named inputs, each after those whose results it takes. Results keep
    their names.

    Raises:
        PlanSyntaxError: steps wait for each other.
    """
    return tuple(map(_wanted_by_name, _in_order(plan.steps)))


def _wanted_by_name(step: Step) -> Wanted:
    arguments = ", ".join(f"{name}={value}" for name, value in step.inputs.items())
    outputs = tuple(step.outputs.values()) or (f"{step.id}.result",)
    return Wanted(
        tool=step.tool, arguments=arguments, references=(), outputs=outputs,
        text=f"{', '.join(outputs)} = {step.tool}({arguments})",
        named=NamedStep(inputs=dict(step.inputs), outputs=tuple(step.outputs)),
    )  # fmt: skip


def wanted_of_plan(
    *, plan: Plan, catalogue: Catalogue, literal: Collection[str] = ()
) -> tuple[tuple[Wanted, ...], str]:
    """The steps of a plan as actions, each after those whose results it takes, and the name of its answer, empty if it
    has none. Results are called `R1`, `R2`, ... in this order unless the plan calls them so. Inputs of the tools in
    `literal` refer to nothing, whatever they contain.

    Raises:
        PlanSyntaxError: steps wait for each other.
    """
    steps = _in_order(plan.steps)
    made = [reference for step in steps for reference in step.outputs.values()]
    free = (name for number in count(1) if (name := f"R{number}") not in made)
    names = {reference: reference if _is_reference(reference) else next(free) for reference in made}
    answer = next((names[reference] for reference in reversed(plan.answers) if reference in names), "")
    wanted = [_wanted(step=step, names=names, spare=free, catalogue=catalogue) for step in steps]
    return tuple(replace(one, references=()) if one.tool in literal else one for one in wanted), answer


def plan_of_transcript(*, transcript: Transcript, catalogue: Catalogue) -> Plan:
    """What was done, as a plan: a step for each action that had results."""
    steps: list[Step] = []
    for turn in transcript.turns:
        for action in turn.actions:
            if action.problem is not None:
                continue
            number = len(steps) + 1
            tool = catalogue.tools.get(action.tool)
            own = next(iter(tool.inputs), "arguments") if tool else "arguments"
            first = next(iter(tool.outputs), "") if tool else ""
            outputs = {
                first if first and place == 0 else name: f"s{number}.{name}"
                for place, name in enumerate(action.outputs)
            }
            steps.append(Step(id=f"s{number}", tool=action.tool, inputs={own: action.arguments}, outputs=outputs))
    last = list(steps[-1].outputs.values())[-1] if steps else None
    subgoals = tuple(text for turn in transcript.turns for text in turn.subgoals)
    return Plan(steps=tuple(steps), answers=(last,) if last else (), subgoals=subgoals or None)


def _wanted(*, step: Step, names: Mapping[str, str], spare: Iterator[str], catalogue: Catalogue) -> Wanted:
    tool = catalogue.tools.get(step.tool)
    order = [name for name in (tool.inputs if tool else ()) if name in step.inputs]
    order += [name for name in step.inputs if name not in order]
    arguments = ", ".join(names.get(step.inputs[name], step.inputs[name]) for name in order)
    outputs = tuple(names[reference] for reference in step.outputs.values()) or (next(spare),)
    return Wanted(
        tool=step.tool, arguments=arguments, references=references_in(arguments), outputs=outputs,
        text=f"{', '.join(outputs)} = {step.tool}({arguments})",
    )  # fmt: skip


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps in the order of the plan, except that each comes after those whose results it takes."""
    made_by: Mapping[str, int] = {
        reference: place for place, step in enumerate(steps) for reference in step.outputs.values()
    }
    needs = [{made_by[value] for value in step.inputs.values() if value in made_by} for step in steps]
    order: list[int] = []
    left = list(range(len(steps)))
    while left:
        free = next((place for place in left if needs[place] <= set(order)), None)
        if free is None:
            raise PlanSyntaxError("it waits for its own result", where=f"step {steps[left[0]].id!r}")
        order.append(free)
        left.remove(free)
    return [steps[place] for place in order]


def _is_reference(text: str) -> bool:
    found = references_in(text)
    return len(found) == 1 and found[0].start == 0 and found[0].end == len(text)
