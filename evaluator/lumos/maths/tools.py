"""The tools of word problems: exact, local, in place of WolframAlpha.

| tool | arguments | result |
|---|---|---|
| `Calculator` | an expression | a number, or an expression if there are variables |
| `SetEquation` | equations or inequalities | the same, with earlier results in place of references |
| `SolveEquation` | equations, then optionally variables | the values of the unknowns |
| `SolveInequality` | inequalities in one unknown | the numbers that satisfy all of them |
| `Define` | expressions, equations or `f(x) = ...`, one for each output | the same |
| `Count` | a list | the number of its items |

`Code`, which runs programs, is in `code`.

References to earlier results are parsed as part of the expressions; values are not pasted into text. `R4(R5, R6)` is
the expression R4 with R5 and R6 in place of its variables, in alphabetical order; with one argument it is a product if
R4 is a number. A result such as `x = 5` can be used as a number.

`SolveEquation` solves for the variables named after the equations, or for all, in alphabetical order. With one output
and one unknown the result is its value or values (`-2 or 2`); with one output and several unknowns it is
`x = 3, y = 4`. With as many outputs as unknowns, each gets its unknown's values; with as many outputs as one unknown
has values, each gets one, in increasing order. An expression without variables is calculated.

An expression of a result with several values has several values too, unless they are equal; `max` and `min` choose
among them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from evaluator.lumos.maths.algebra.errors import Failure, MathsError
from evaluator.lumos.maths.algebra.parser import Chain, Name, Node, Ref, Series, parse_items, relations_of
from evaluator.lumos.maths.algebra.values import (
    Alternatives,
    Number,
    Relation,
    Relations,
    Result,
    bounded,
    relation_of,
    result_of,
)
from evaluator.lumos.maths.session import Session, combined, letters_of


def without_head(chain: Chain) -> Node | None:
    """The expression that an item defines; None for an equation or inequality.

    `f(x) = x + 1` defines `x + 1`: variables are replaced in alphabetical order. The head is parsed as a product of its
    letters, because a name before a bracket is a factor.

    Raises:
        MathsError: the argument of the function is not a single variable.
    """
    if chain.expression is not None:
        return chain.expression
    head = chain.sides[0]
    if not isinstance(head, Series) or head.operators != ("*",) or chain.operators != ("=",):
        return None
    function, variable = head.operands
    if not isinstance(function, Name) or function.name not in "fghFGH":
        return None
    if not isinstance(variable, Name):
        raise MathsError(Failure.SYNTAX, "expected one variable, as in f(x) = x + 1", offset=head.at)
    return chain.sides[1]


CODE = "Code"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The values of an action's outputs, in order."""

    values: tuple[Result, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Canonical texts of the values."""
        return tuple(value.text for value in self.values)


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why an action has no values."""

    kind: Failure
    sentence: str
    offset: int | None = None
    """Position of the error in the arguments, from 0; None for the arguments as a whole."""


def run(
    *, tool: str, arguments: str, values: Mapping[str, Result] = MappingProxyType({}), outputs: int = 1,
    others: tuple[str, ...] = (),
) -> Outcome | ToolFailure:  # fmt: skip
    """Run one action, deterministically.

    Args:
        tool: a name in `TOOLS`, case-insensitive.
        arguments: the raw text between the parentheses, with references.
        values: earlier results by reference, such as `R1`.
        outputs: number of outputs; at least one.
        others: tools that are run elsewhere.

    Returns:
        As many values as outputs, or a failure.
    """
    name = _NAMES.get(tool.strip().lower())
    if name is None:
        return ToolFailure(
            Failure.UNKNOWN_TOOL, f"there is no tool {tool[:60]!r}; there are: {', '.join((*TOOLS, *others))}"
        )
    call = _Call(arguments=arguments, session=Session(values=values), outputs=outputs)
    try:
        if not arguments.strip():
            raise MathsError(Failure.SYNTAX, f"{name} needs arguments")
        results = TOOLS[name](call)
        for value in results:
            bounded(value.text)
    except MathsError as error:
        return ToolFailure(error.kind, str(error), error.offset)
    if len(results) != outputs:
        sentence = f"{name} has {len(results)} results here, but the action has {outputs} outputs"
        return ToolFailure(Failure.OUTPUTS, sentence)
    return Outcome(results)


@dataclass(frozen=True, slots=True)
class _Call:
    arguments: str
    session: Session
    outputs: int

    def items(self, *, thousands: bool = True) -> tuple[Chain, ...]:
        letters = letters_of(self.arguments, values=self.session.values)
        return parse_items(self.arguments, letters=letters, thousands=thousands)


def _calculator(call: _Call) -> tuple[Result, ...]:
    chains = call.items()
    for chain in chains:
        if chain.expression is None:
            message = "Calculator takes an expression; an equation is for SetEquation or SolveEquation"
            raise MathsError(Failure.SYNTAX, message, offset=chain.at)
    if len(chains) > 1 and len(chains) != call.outputs:
        raise MathsError(Failure.SYNTAX, "Calculator takes one expression", offset=chains[1].at)
    return tuple(_calculated(chain, session=call.session) for chain in chains)


def _calculated(chain: Chain, *, session: Session) -> Result:
    node = chain.expression
    assert node is not None
    results = []
    for chosen in session.choices([node]):
        state = chosen.evaluator()
        value = state.value(node)
        results.append(result_of(value, exact=state.exact))
    return combined(results)


def _relations(chains: Sequence[Chain], *, call: _Call) -> Relations:
    """The relations of items, including those of referenced results."""
    relations: list[Relation] = []
    state = call.session.evaluator()
    for chain in chains:
        node = chain.expression
        if isinstance(node, Ref):
            earlier = call.session.value(node.name, node.at)
            if not isinstance(earlier, Relations):
                raise MathsError(Failure.KIND, f"{node.name} is {earlier.text}, not an equation", offset=node.at)
            relations += earlier.relations
            state.exact = state.exact and earlier.exact
        elif node is not None:
            raise MathsError(Failure.SYNTAX, "expected an equation or inequality", offset=chain.at)
        for left, operator, right in relations_of(chain):
            relations.append(relation_of(state.value(left), operator, state.value(right)))
    return Relations(tuple(relations), state.exact)


def _solve_equation(call: _Call) -> tuple[Result, ...]:
    chains = list(call.items())
    if len(chains) == 1 and chains[0].expression is not None and not isinstance(chains[0].expression, Ref):
        value = _calculated(chains[0], session=call.session)
        if isinstance(value, Number):
            return (value,)
        raise MathsError(Failure.SYNTAX, "expected an equation, such as 2x + 1 = 7", offset=chains[0].at)
    # Loads sympy, which only solving and variables need.
    from evaluator.lumos.maths.solving import solved

    named: list[str] = []
    while len(chains) > 1 and isinstance(chains[-1].expression, Name):
        named.insert(0, chains.pop().expression.name)  # type: ignore[union-attr]
    solutions: list[tuple[Result, ...]] = []
    for chosen in call.session.choices([side for chain in chains for side in chain.sides]):
        system = _relations(chains, call=_Call(call.arguments, chosen, call.outputs))
        solutions.append(solved(relations=system.relations, named=named, outputs=call.outputs, exact=system.exact))
    if len(solutions) == 1:
        return solutions[0]
    return tuple(combined(list(values)) for values in zip(*solutions, strict=True))


def _solve_inequality(call: _Call) -> tuple[Result, ...]:
    # Loads sympy.
    from evaluator.lumos.maths.solving import solved_inequalities

    system = _relations(call.items(), call=call)
    return (solved_inequalities(relations=system.relations, exact=system.exact),)


def _define(call: _Call) -> tuple[Result, ...]:
    results: list[Result] = []
    for chain in call.items():
        node = without_head(chain)
        if node is not None:
            state = call.session.evaluator()
            results.append(result_of(state.value(node), exact=state.exact))
        else:
            results.append(_relations((chain,), call=call))
    systems = [result for result in results if isinstance(result, Relations)]
    if call.outputs == 1 and len(results) > 1 and len(systems) == len(results):
        return (Relations(tuple(relation for system in systems for relation in system.relations)),)
    return tuple(results)


def _count(call: _Call) -> tuple[Result, ...]:
    text = call.arguments.strip()
    if text[0] + text[-1] in ("[]", "{}"):
        call = _Call(text[1:-1], call.session, call.outputs)
        if not text[1:-1].strip():
            return (Number(0),)
    chains = call.items(thousands=False)
    node = chains[0].expression
    if len(chains) == 1 and isinstance(node, Ref):
        value = call.session.value(node.name, node.at)
        if isinstance(value, Alternatives):
            return (Number(len(value.items)),)
    if any(chain.expression is None for chain in chains):
        raise MathsError(Failure.KIND, "Count takes a list of numbers or expressions, with commas", offset=chains[0].at)
    return (Number(len(chains)),)


TOOLS: Mapping[str, Callable[[_Call], tuple[Result, ...]]] = {
    "Calculator": _calculator,
    "SetEquation": lambda call: (_relations(call.items(), call=call),),
    "SolveEquation": _solve_equation,
    "SolveInequality": _solve_inequality,
    "Define": _define,
    "Count": _count,
}
"""Implementations by name of the tool."""
_NAMES = {name.lower(): name for name in TOOLS}
