"""ControlLLM's planning metrics (section 4.2), decided by rules, and agreement with the gold plan.

Each metric is an indicator of one plan; a suite's figure is its mean. In the paper annotators voted; `docs/suites.md`
states the rules for what the paper leaves open.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from evaluator.controlllm.toolbench.goals.goal import Goal, Matching
from evaluator.controlllm.toolbench.meaning.verdict import Pair, Settle, Verdict, leave_undecided, some
from evaluator.controlllm.toolbench.terms import CallTerm, LiteralTerm, ReadCall, Term, interpret, normal_reference
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Column
from evaluator.core.tools.types import Catalogue, ResourceType
from evaluator.scoring.metrics.planning import PlanProfile, compare, depth

INDICATORS = ("IR", "NR", "HR", "CR", "SE")
LOWER_IS_BETTER = frozenset({"IR", "HR"})
UNASKED = "its result was not asked for"
"""In the reason for SE = 0 of plans that guess."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The indicators of one plan, each 0 or 1, with their reasons.

    IR: it calls an irrelevant tool (lower is better). NR: it has the necessary tools, ignoring arguments. HR: it names
    a false resource (lower is better). CR: no argument has a wrong type. SE: it solves the request; 0 if undecided.
    """

    IR: int
    NR: int
    HR: int
    CR: int
    SE: int
    why: Mapping[str, str]
    undecided: tuple[Pair, ...] = ()
    """Pairs of texts on which SE depends; none if SE is decided."""
    refused: tuple[Pair, ...] = ()
    """Pairs of texts that the rules take for different, without which SE might be 1."""

    def indicators(self) -> dict[str, int]:
        """The five indicators by name."""
        return {name: getattr(self, name) for name in INDICATORS}


def missing_plan(reason: str) -> Judgement:
    """The judgement of a missing or unreadable plan, the worst in every indicator."""
    return Judgement(IR=1, NR=0, HR=1, CR=0, SE=0, why=dict.fromkeys(INDICATORS, reason))


def judge_plan(
    *,
    plan: Plan,
    goal: Goal,
    catalogue: Catalogue,
    files: Mapping[str, frozenset[ResourceType]],
    settle: Settle = leave_undecided,
    as_executed: bool = False,
) -> Judgement:
    """Judge a plan.

    Args:
        plan: the plan.
        goal: the goal of the request.
        catalogue: the available tools.
        files: the request's files and the types in which it gives them.
        settle: settles pairs of texts that the rules do not accept; not called for others.
        as_executed: whether steps are read in execution order, and the n-th answer must meet the n-th part of the goal.
            Otherwise steps are read in the written order, and any output may meet a part.
    """
    calls = interpret(plan=plan, catalogue=catalogue, files=files, as_executed=as_executed)
    answers: list[CallTerm | None] | None = None
    if as_executed:
        results = {
            normal_reference(reference): term
            for call in calls
            for reference, term in zip(call.step.outputs.values(), call.outputs, strict=False)
        }
        answers = [results.get(normal_reference(answer)) for answer in plan.answers]
    irrelevant = _irrelevant(calls=calls, goal=goal)
    lacking = _lacking(calls=calls, goal=goal)
    false = [
        f"step {call.number} ({call.step.tool}): {name} is {reference}, which does not exist there"
        for call in calls
        for name, read in call.arguments.items()
        for reference in read.false_references
    ]
    conflicts = _conflicts(calls=calls, catalogue=catalogue)
    unmet, undecided, refused = _unmet(calls=calls, goal=goal, settle=settle, answers=answers)
    if answers is None and not unmet:
        unmet = _guesses(calls=calls, goal=goal, settle=settle)
    doubts = [f"undecided whether “{pair.given}” means “{pair.wanted}”: {pair.why}" for pair in undecided]
    return Judgement(
        IR=int(bool(irrelevant)),
        NR=int(not lacking),
        HR=int(bool(false)),
        CR=int(not conflicts),
        SE=int(not unmet and not undecided),
        why={
            "IR": "; ".join(irrelevant) or "Every call is in a sufficient chain, and none is repeated.",
            "NR": "; ".join(lacking) or "The plan calls all tools of a sufficient chain for every part.",
            "HR": "; ".join(false) or "Every resource exists where it is used.",
            "CR": "; ".join(conflicts) or "Every argument has the declared type.",
            "SE": "; ".join([*unmet, *doubts]) or "Every part is met by an output.",
        },
        undecided=() if unmet else undecided,
        refused=refused,
    )


def _irrelevant(*, calls: Sequence[ReadCall], goal: Goal) -> list[str]:
    reasons = []
    first: dict[int, int] = {}
    for call in calls:
        title = f"step {call.number} ({call.step.tool})"
        if not call.known:
            reasons.append(f"{title}: there is no such tool")
        elif call.step.tool not in goal.relevant:
            reasons.append(f"{title}: in no sufficient chain of this request")
        elif call.identity in first:
            reasons.append(f"{title}: repeats step {first[call.identity]}")
        first.setdefault(call.identity, call.number)
    return reasons


def _lacking(*, calls: Sequence[ReadCall], goal: Goal) -> list[str]:
    tools = {call.step.tool for call in calls if call.known}
    reasons = []
    for part, chains in zip(goal.parts, goal.chains, strict=True):
        if not any(chain <= tools for chain in chains):
            nearest = min(chains, key=lambda chain: (len(chain - tools) / len(chain), len(chain), sorted(chain)))
            reasons.append(f"{part.sentence()}: lacks {', '.join(sorted(nearest - tools))}")
    return reasons


def _conflicts(*, calls: Sequence[ReadCall], catalogue: Catalogue) -> list[str]:
    reasons = []
    for call in calls:
        declared = catalogue[call.step.tool].inputs if call.known else {}
        for name, read in call.arguments.items():
            if name in declared and read.roles and declared[name] not in read.roles:
                types = " or ".join(sorted(read.roles))
                reasons.append(f"step {call.number} ({call.step.tool}): {name} is {types}, it takes {declared[name]}")
    return reasons


def _unmet(
    *, calls: Sequence[ReadCall], goal: Goal, settle: Settle, answers: Sequence[CallTerm | None] | None
) -> tuple[list[str], tuple[Pair, ...], tuple[Pair, ...]]:
    """The unmet parts, as sentences, the undecided pairs of the others, and the refused pairs of the unmet ones.

    The last are none if an unmet part has no such pair, so that overturning them would not help.
    """
    outputs = [term for call in calls for term in call.outputs if term.known]
    unmet: list[str] = []
    undecided: dict[Pair, None] = {}
    refused: dict[Pair, None] = {}
    is_hopeless = False
    for place, part in enumerate(goal.parts):
        matching = Matching(goal=goal, settle=settle)
        terms = outputs if answers is None else [term for term in answers[place : place + 1] if term in outputs]
        verdict = some(matching.met_by(part=part.number, term=term) for term in terms if term is not None)
        if verdict is Verdict.DIFFERENT:
            reason = "no output is" if answers is None else f"answer {place + 1} is not"
            unmet.append(f"{part.sentence()}: {reason} this")
            refused |= matching.refused
            is_hopeless |= not matching.refused
        elif verdict is Verdict.UNDECIDED:
            undecided |= matching.undecided
    return unmet, tuple(undecided), () if is_hopeless else tuple(refused)


def _guesses(*, calls: Sequence[ReadCall], goal: Goal, settle: Settle) -> list[str]:
    """The results by which a plan guesses, as sentences. Otherwise a plan with every result would solve every request.

    The results of a plan are those that no step takes. Of those that meet no part, for each part one may be made
    without a new text of what meets a part, such as the picture with the boxes that were counted, and one may be
    undecided. The others are a detour if they take fewer calls than what meets the parts, and share none with it. So
    no two guesses can both pay: only one can be the longer one. Equal calls are one.
    """
    first: dict[int, int] = {}
    for call in calls:
        first.setdefault(call.identity, call.number)
    by_number = {call.number: call for call in calls if call.known and first[call.identity] == call.number}
    by_output = {id(term): first[call.identity] for call in calls if call.known for term in call.outputs}
    makers = {
        number: {by_output[id(term)] for term in _terms(call) if id(term) in by_output}
        for number, call in by_number.items()
    }
    verdicts = {number: _verdict(call, goal=goal, settle=settle) for number, call in by_number.items()}
    # Without a decided output, the goal is met by undecided ones.
    best = Verdict.SAME if Verdict.SAME in verdicts.values() else Verdict.UNDECIDED
    needed = _with_makers({number for number, verdict in verdicts.items() if verdict is best}, makers=makers)
    added, doubtful, others = list[int](), list[int](), list[int]()
    for number in sorted(by_number.keys() - set[int]().union(*makers.values())):
        own = _with_makers({number}, makers=makers)
        has_text = any(isinstance(term, LiteralTerm) for each in own - needed for term in _terms(by_number[each]))
        if verdicts[number] is not Verdict.DIFFERENT:
            doubtful += [number] if verdicts[number] is Verdict.UNDECIDED else []
        elif own & needed and not has_text:
            added.append(number)
        else:
            others.append(number)
    most = len(goal.parts)
    wrong = [*added[most:], *doubtful[most:]]
    aside = _with_makers(set(others), makers=makers)
    if aside & needed or len(aside) >= max(1, len(needed)):
        wrong += others
    return [
        f"step {number} ({by_number[number].step.tool}): {UNASKED}, and a plan that gives many answers solves nothing"
        for number in sorted(wrong)
    ]


def _verdict(call: ReadCall, *, goal: Goal, settle: Settle) -> Verdict:
    """Whether an output of a call meets a part."""
    matching = Matching(goal=goal, settle=settle)
    return some(matching.met_by(part=part.number, term=term) for part in goal.parts for term in call.outputs)


def _with_makers(numbers: Set[int], *, makers: Mapping[int, Set[int]]) -> set[int]:
    """The calls with these numbers and all that they depend on."""
    found, waiting = set[int](), list(numbers)
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += makers[number]
    return found


def _terms(call: ReadCall) -> list[Term]:
    return [read.term for read in call.arguments.values()]


_graded = partial(Column, indicator=True)
_size = partial(Column, indicator=True, ordered=False, higher_is_better=False, fault=None, high=None)

COLUMNS = (
    _graded(
        key="node_f1",
        label="Node F1",
        description="Multiset F1 of the tools against the gold plan (TaskBench, m&m's).",
    ),
    _graded(
        key="edge_f1",
        label="Edge F1",
        description="Multiset F1 of the data flow against the gold plan (TaskBench, m&m's). If the gold plan has none, "
        "1 for plans without any that solve the request, else 0.",
    ),
    _graded(
        key="parameter_name_f1",
        label="Names F1",
        description="Multiset F1 of the pairs (tool, argument) against the gold plan (t-F1 of TaskBench, argname-F1 of "
        "m&m's).",
        title="Parameter names F1",
    ),
    _graded(
        key="parameter_value_f1",
        label="Values F1",
        description="Multiset F1 of the triples (tool, argument, value) against the gold plan (v-F1 of TaskBench, "
        "argvalue-F1 of m&m's).",
        title="Parameter values F1",
    ),
    _graded(
        key="order",
        label="Order",
        description="Longest common subsequence of the tools, in topological order, with those of the gold plan, over "
        "the length of the longer plan (Bakkelund 2009).",
        title="Order agreement",
    ),
    _graded(
        key="efficiency",
        label="Efficiency",
        description="Length of the shortest sufficient plan over the length of the plan; only for plans that solve the "
        "request (compare SPL, Anderson et al. 2018).",
        title="Step efficiency",
        fault=None,
    ),
    _size(
        key="length",
        label="Steps",
        description="Mean number of steps; describes the form of plans, not their quality.",
    ),
    _size(
        key="depth",
        label="Depth",
        description="Mean length of the longest chain of steps; describes the form of plans, not their quality.",
    ),
)


def measures(*, plan: Plan, gold: PlanProfile, shortest: int, solves: bool) -> dict[str, float]:
    """The values of `COLUMNS` for one plan; `efficiency` is absent where the plan does not solve the request.

    Args:
        plan: the parsed plan.
        gold: of the request's gold plan.
        shortest: calls of the shortest sufficient plan, at least 1.
        solves: whether SE = 1.
    """
    agreement = compare(plan=PlanProfile(plan), gold=gold, is_right=solves)
    values = {
        "node_f1": agreement.node_f1,
        "edge_f1": agreement.edge_f1,
        "parameter_name_f1": agreement.parameter_name_f1,
        "parameter_value_f1": agreement.parameter_value_f1,
        "order": agreement.order,
        "length": float(len(plan.steps)),
        "depth": float(depth(plan)),
    }
    return values | ({"efficiency": step_efficiency(shortest=shortest, length=len(plan.steps))} if solves else {})


def step_efficiency(*, shortest: int, length: int) -> float:
    """Length of the shortest sufficient plan over the length of a plan that solves the request, in (0, 1].

    It is SPL (Anderson et al., On evaluation of embodied navigation agents, arXiv:1807.06757, section 3.1) of one
    success, with calls instead of distances. A plan in which one question covers two parts may be shorter than the
    shortest sufficient plan; its efficiency is 1.

    Raises:
        ValueError: a length is not positive.
    """
    if shortest < 1 or length < 1:
        raise ValueError(f"plans that solve a request have at least one step, not {shortest} or {length}")
    return min(1.0, shortest / length)
