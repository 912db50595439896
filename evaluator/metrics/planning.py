"""ControlLLM's planning metrics (section 4.2), decided for one plan at a time, without people.

Each is an indicator for one solution; a suite's figure is its mean. The rules where the paper leaves room are stated in
`docs/toolbench.md`; the annotators of the paper voted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.plans.model import Plan
from evaluator.suites.toolbench.goals import Goal
from evaluator.suites.toolbench.terms import ReadCall, interpret
from evaluator.tools.types import Catalogue, ResourceType

INDICATORS = ("IR", "NR", "HR", "CR", "SE")
LOWER_IS_BETTER = frozenset({"IR", "HR"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """The indicators of one plan, each 0 or 1, with their reasons.

    IR: it calls an irrelevant tool (lower is better). NR: it holds the necessary tools, arguments aside. HR: it names a
    false resource (lower is better). CR: no argument has a wrong type. SE: it solves the request.
    """

    IR: int
    NR: int
    HR: int
    CR: int
    SE: int
    why: Mapping[str, str]

    def indicators(self) -> dict[str, int]:
        """The five figures by name."""
        return {name: getattr(self, name) for name in INDICATORS}


def missing_plan(reason: str) -> Judgement:
    """The judgement of a request without a readable plan: it counts against the planner in every indicator."""
    return Judgement(IR=1, NR=0, HR=1, CR=0, SE=0, why=dict.fromkeys(INDICATORS, reason))


def judge_plan(
    *, plan: Plan, goal: Goal, catalogue: Catalogue, files: Mapping[str, frozenset[ResourceType]]
) -> Judgement:
    """Judge a plan as it is written, top to bottom.

    Args:
        plan: the plan.
        goal: what the request wants.
        catalogue: the tools there are.
        files: the request's files and the types in which it gives them.
    """
    calls = interpret(plan=plan, catalogue=catalogue, files=files)
    irrelevant = _irrelevant(calls=calls, goal=goal)
    lacking = _lacking(calls=calls, goal=goal)
    false = _false_resources(calls)
    conflicts = _conflicts(calls=calls, catalogue=catalogue)
    unmet = _unmet(calls=calls, goal=goal)
    return Judgement(
        IR=int(bool(irrelevant)),
        NR=int(not lacking),
        HR=int(bool(false)),
        CR=int(not conflicts),
        SE=int(not unmet),
        why={
            "IR": "; ".join(irrelevant) or "Every call is in some sufficient chain, and none is repeated.",
            "NR": "; ".join(lacking) or "For every part all tools of a sufficient chain are called.",
            "HR": "; ".join(false) or "Every resource exists where it is used.",
            "CR": "; ".join(conflicts) or "Every argument has the declared type.",
            "SE": "; ".join(unmet) or "Every part is met by some output.",
        },
    )


def _irrelevant(*, calls: Sequence[ReadCall], goal: Goal) -> list[str]:
    found = []
    seen: dict[int, int] = {}
    for call in calls:
        title = f"step {call.number} ({call.step.tool})"
        if not call.known:
            found.append(f"{title}: there is no such tool")
        elif call.step.tool not in goal.relevant:
            found.append(f"{title}: in no sufficient chain of this request")
        elif call.identity in seen:
            found.append(f"{title}: repeats step {seen[call.identity]}")
        seen.setdefault(call.identity, call.number)
    return found


def _lacking(*, calls: Sequence[ReadCall], goal: Goal) -> list[str]:
    tools = {call.step.tool for call in calls if call.known}
    found = []
    for part, chains in zip(goal.parts, goal.chains, strict=True):
        if not any(chain <= tools for chain in chains):
            nearest = min(chains, key=lambda chain: (len(chain - tools) / len(chain), len(chain), sorted(chain)))
            found.append(f"{part.sentence()}: lacks {', '.join(sorted(nearest - tools))}")
    return found


def _false_resources(calls: Sequence[ReadCall]) -> list[str]:
    return [
        f"step {call.number} ({call.step.tool}): {name} is {reference}, which does not exist there"
        for call in calls
        for name, read in call.arguments.items()
        for reference in read.false_references
    ]


def _conflicts(*, calls: Sequence[ReadCall], catalogue: Catalogue) -> list[str]:
    found = []
    for call in calls:
        if not call.known:
            continue
        declared = catalogue[call.step.tool].inputs
        for name, read in call.arguments.items():
            wanted = declared.get(name)
            if wanted is not None and read.roles and wanted not in read.roles:
                passed = " or ".join(sorted(read.roles))
                found.append(f"step {call.number} ({call.step.tool}): {name} is {passed}, it takes {wanted}")
    return found


def _unmet(*, calls: Sequence[ReadCall], goal: Goal) -> list[str]:
    outputs = [term for call in calls for term in call.outputs if term.known]
    return [
        f"{part.sentence()}: no output is this"
        for part in goal.parts
        if not any(goal.met_by(part=part.number, term=term) for term in outputs)
    ]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a plan agrees with a gold plan, each in [0, 1]; a missing plan has 0 in all."""

    node_f1: float
    """Tools as a multiset."""
    edge_f1: float
    """Pairs (tool, tool that takes its output) as a multiset; 1 if both plans have none."""
    parameter_f1: float
    """Triples (tool, argument, value) as a multiset, a step's output standing for its tool."""


def agreement(*, plan: Plan, gold: Plan) -> Agreement:
    """Multiset F1 of nodes, edges and parameters of a plan against the gold plan (as TaskBench counts them)."""
    if not plan.steps:
        return Agreement(node_f1=0.0, edge_f1=0.0, parameter_f1=0.0)
    return Agreement(
        node_f1=_f1(_nodes(plan), _nodes(gold)),
        edge_f1=_f1(_edges(plan), _edges(gold)),
        parameter_f1=_f1(_parameters(plan), _parameters(gold)),
    )


def depth(plan: Plan) -> int:
    """Length of the longest chain of steps, each taking an output of the one before; 0 for an empty plan."""
    makers = {reference: index for index, step in enumerate(plan.steps) for reference in step.outputs.values()}
    found: list[int] = []
    for index, step in enumerate(plan.steps):
        before = [found[makers[v]] for v in step.inputs.values() if v in makers and makers[v] < index]
        found.append(1 + max(before, default=0))
    return max(found, default=0)


def _makers(plan: Plan) -> dict[str, str]:
    return {reference: step.tool for step in plan.steps for reference in step.outputs.values()}


def _nodes(plan: Plan) -> Counter[object]:
    return Counter(step.tool for step in plan.steps)


def _edges(plan: Plan) -> Counter[object]:
    makers = _makers(plan)
    return Counter((makers[v], step.tool) for step in plan.steps for v in step.inputs.values() if v in makers)


def _parameters(plan: Plan) -> Counter[object]:
    makers = _makers(plan)
    return Counter(
        (step.tool, name, ("output of", makers[value]) if value in makers else value.strip().lower())
        for step in plan.steps
        for name, value in step.inputs.items()
    )


def _f1(found: Counter[object], wanted: Counter[object]) -> float:
    if not found and not wanted:
        return 1.0
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total())
