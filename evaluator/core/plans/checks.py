"""Checks of a parsed plan: tools exist, types agree, the graph has no cycle, the answer has the expected type."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from evaluator.core.naming import similar_names
from evaluator.core.plans.literals import short
from evaluator.core.plans.model import Plan, PlanContext, Problem, Step
from evaluator.core.tools.types import ResourceType


@dataclass(frozen=True, slots=True)
class Produced:
    """The origin of a reference."""

    type: ResourceType | None
    """None if the step's tool is unknown, or has no such output."""
    step: Step


def check_plan(*, plan: Plan, context: PlanContext) -> tuple[Problem, ...]:
    """Everything wrong with a plan, in the order of its steps; empty if it can be executed."""
    produced = _produced(plan=plan, context=context)
    problems = list(_duplicates(plan))
    for number, step in enumerate(plan.steps, start=1):
        problems += _check_step(step=step, number=number, produced=produced, context=context)
    problems += _cycle(plan)
    problems += _check_answers(plan=plan, produced=produced, context=context)
    return tuple(problems)


def execution_order(plan: Plan) -> tuple[Step, ...]:
    """The steps in an order in which each comes after those it needs; ties in the order of the plan.

    Raises:
        CycleError: the plan has a cycle (`check_plan` reports it).
    """
    by_id = {step.id: step for step in plan.steps}
    return tuple(by_id[step_id] for step_id in TopologicalSorter(_dependencies(plan)).static_order())


def _dependencies(plan: Plan) -> dict[str, list[str]]:
    makers = {reference: step.id for step in plan.steps for reference in step.outputs.values()}
    return {
        step.id: list(dict.fromkeys(makers[value] for value in step.inputs.values() if value in makers))
        for step in plan.steps
    }


def _produced(*, plan: Plan, context: PlanContext) -> dict[str, Produced]:
    catalogue = context.known or context.catalogue
    produced = {}
    for step in plan.steps:
        signature = catalogue[step.tool].outputs if step.tool in catalogue else {}
        for name, reference in step.outputs.items():
            produced[reference] = Produced(type=signature.get(name), step=step)
    return produced


def _duplicates(plan: Plan) -> Iterator[Problem]:
    ids: set[str] = set()
    references: set[str] = set()
    for step in plan.steps:
        if step.id in ids:
            yield Problem("duplicate_id", f"two steps have the id {step.id!r}; ids are unique", step.id)
        ids.add(step.id)
        for reference in step.outputs.values():
            if reference in references or reference.startswith("$"):
                yield Problem(
                    "duplicate_output", f"step {step.id!r} makes {reference!r}, which is already taken", step.id
                )
            references.add(reference)


def _check_step(
    *, step: Step, number: int, produced: Mapping[str, Produced], context: PlanContext
) -> Iterator[Problem]:
    title = f'plan step {number} ("{step.tool}")'
    if step.tool not in context.catalogue:
        yield _unknown_tool(step=step, title=title, context=context)
        return
    tool = context.catalogue[step.tool]
    for argument in step.inputs:
        if argument not in tool.inputs:
            yield Problem(
                "unexpected_input",
                f'{title}: there is no input "{argument}"; {step.tool} takes {_listed(tool.inputs)}',
                step.id,
            )
    for output in step.outputs:
        if output not in tool.outputs:
            yield Problem(
                "unknown_output",
                f'{title}: there is no output "{output}"; {step.tool} gives {_listed(tool.outputs)}',
                step.id,
            )
    for argument, wanted in tool.inputs.items():
        if argument not in step.inputs:
            message = f'{title}: input "{argument}" is missing; {step.tool} takes {_listed(tool.inputs)}'
            yield Problem("missing_input", message, step.id)
            continue
        problem = _check_input(argument, step.inputs[argument], wanted, produced, context)
        if problem is not None:
            yield Problem(problem.code, f"{title}: {problem.message}; {step.tool} takes {wanted}", step.id)


def _unknown_tool(*, step: Step, title: str, context: PlanContext) -> Problem:
    if context.known is not None and step.tool in context.known:
        return Problem("tool_not_offered", f"{title}: this profile has no expert for it", step.id)
    # Not all names: the request had them, and logs and reports would repeat them for each task.
    near = similar_names(step.tool, context.catalogue.tools)
    hint = f'; did you mean "{near[0]}"?' if near else f" among the {len(context.catalogue.tools)} that were offered"
    return Problem("unknown_tool", f"{title}: there is no such tool{hint}", step.id)


def _check_input(
    argument: str, value: str, wanted: ResourceType, produced: Mapping[str, Produced], context: PlanContext
) -> Problem | None:
    if value.startswith("$"):
        found = context.resources.get(value[1:])
        if found is None:
            given = ", ".join(f"${name}" for name in context.resources)
            return Problem("unknown_reference", f'input "{argument}" is {value}, but the request gives {given}')
        origin = f"{value} of the request"
    elif value in context.resources:
        # A file that the request names: a reference without "$".
        found, origin = context.resources[value], "given by the request"
    elif value in produced:
        found = produced[value].type
        origin = f'from step "{produced[value].step.id}", {produced[value].step.tool}'
    elif wanted is ResourceType.TEXT:
        return None
    else:
        return Problem("unknown_reference", f'input "{argument}" is {short(value)}, which no step makes')
    if found is None or found is wanted:
        return None
    return Problem("type_conflict", f'input "{argument}" is {found} ({origin})')


def _cycle(plan: Plan) -> list[Problem]:
    try:
        TopologicalSorter(_dependencies(plan)).prepare()
    except CycleError as error:
        ids = [str(step_id) for step_id in error.args[1]]
        return [Problem("cycle", f"the plan has a cycle: {' -> '.join(reversed(ids))}", ids[0])]
    return []


def _check_answers(*, plan: Plan, produced: Mapping[str, Produced], context: PlanContext) -> list[Problem]:
    wanted = context.several if context.expects is None else (context.expects,)
    if not wanted or (context.may_abstain and not plan.steps and not plan.answers):
        return []
    if len(plan.answers) != len(wanted):
        expected = f"one ({wanted[0]})" if len(wanted) == 1 else f"{len(wanted)} ({', '.join(wanted)})"
        count = f"{len(plan.answers)} answer{'' if len(plan.answers) == 1 else 's'}"
        message = f"the plan has {count}; this request expects {expected}"
        return [Problem("answer_count", message)]
    problems = (
        _check_answer(answer=answer, wanted=kind, produced=produced, context=context)
        for answer, kind in zip(plan.answers, wanted, strict=True)
    )
    return [problem for problem in problems if problem is not None]


def _check_answer(
    *, answer: str, wanted: ResourceType, produced: Mapping[str, Produced], context: PlanContext
) -> Problem | None:
    if answer.startswith("$") and answer[1:] in context.resources:
        found: ResourceType | None = context.resources[answer[1:]]
    elif answer in produced:
        found = produced[answer].type
    else:
        return Problem("unknown_reference", f"the answer is {short(answer)}, which no step makes")
    if found is None or found is wanted:
        return None
    return Problem("answer_type", f"the answer {answer} is {found}; this request expects {wanted}")


def _listed(types: Mapping[str, ResourceType]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in types.items())
