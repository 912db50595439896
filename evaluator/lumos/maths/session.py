"""References in expressions: earlier results as numbers, expressions, and functions of arguments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.lumos.maths.algebra.errors import Failure, MathsError
from evaluator.lumos.maths.algebra.evaluate import Evaluator, Value, evaluated
from evaluator.lumos.maths.algebra.parser import REFERENCE, Apply, Call, Minus, Node, Power, Ref, Series, tokens_of
from evaluator.lumos.maths.algebra.values import MAX_ALTERNATIVES, Alternatives, Expression, Number, Relations, Result

_CHOOSING = ("max", "min")


@dataclass(frozen=True, slots=True)
class Session:
    """The earlier results that an action may refer to."""

    values: Mapping[str, Result]

    def value(self, name: str, at: int) -> Result:
        """The result with this name.

        Raises:
            MathsError: there is no such result.
        """
        try:
            return self.values[name]
        except KeyError:
            known = ", ".join(list(self.values)[:20]) or "none yet"
            message = f"{name} is not the result of an earlier action; there are: {known}"
            raise MathsError(Failure.REFERENCE, message, offset=at) from None

    def evaluator(self) -> Evaluator:
        """An evaluator of expressions with references."""
        return _Evaluator(self)

    def choices(self, nodes: Sequence[Node]) -> "Iterator[Session]":
        """A session for each value of the reference that has several; otherwise this session.

        Raises:
            MathsError: more than one reference has several values.
        """
        several = sorted(
            {name for node in nodes for name in _references(node) if isinstance(self.values.get(name), Alternatives)}
        )
        if len(several) > 1:
            message = f"{' and '.join(several)} have several values each; choose with max or min first"
            raise MathsError(Failure.KIND, message)
        if not several:
            yield self
            return
        value = self.values[several[0]]
        assert isinstance(value, Alternatives)
        for item in value.items:
            yield replace(self, values={**self.values, several[0]: item})


class _Evaluator(Evaluator):
    """Evaluates references by a session."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        super().__init__(
            reference=lambda name, at: self._usable(session.value(name, at), name=name, at=at), apply=self._applied
        )
        self._session = session

    def _function(self, node: Call) -> Value:
        return self._chosen(node) if node.function in _CHOOSING else super()._function(node)

    def _usable(self, value: Result, *, name: str, at: int) -> Value:
        """A result as a number or expression."""
        if isinstance(value, Number):
            self.exact = self.exact and value.exact
            return value.value
        if isinstance(value, Expression):
            self.exact = self.exact and value.exact
            return evaluated(value.body, bindings={}, state=self)
        assignments = value.assignments if isinstance(value, Relations) else None
        if isinstance(value, Relations) and assignments is not None and len(assignments) == 1:
            self.exact = self.exact and value.exact
            return evaluated(next(iter(assignments.values())), bindings={}, state=self)
        message = f"{name} is {value.text[:60]}; expected a number or an expression"
        raise MathsError(Failure.KIND, message, offset=at)

    def _applied(self, name: str, arguments: Sequence[Node], at: int) -> Value:
        """`R4(R5, R6)`."""
        result = self._session.value(name, at)
        if not isinstance(result, Expression):
            value = self._usable(result, name=name, at=at)
            if len(arguments) == 1:
                return self.operation("*", value, self.value(arguments[0]))
            raise MathsError(Failure.KIND, f"{name} has no variables to replace", offset=at)
        self.exact = self.exact and result.exact
        return evaluated(result.body, bindings=self._bindings_of(name, result, arguments, at), state=self)

    def _bindings_of(self, name: str, body: Expression, arguments: Sequence[Node], at: int) -> dict[str, Value]:
        variables = body.variables
        if len(arguments) == 1 and isinstance(arguments[0], Ref):
            solution = self._session.value(arguments[0].name, arguments[0].at)
            assigned = solution.assignments if isinstance(solution, Relations) else None
            if assigned is not None and assigned.keys() >= set(variables):
                assert isinstance(solution, Relations)
                self.exact = self.exact and solution.exact
                return {variable: evaluated(assigned[variable], bindings={}, state=self) for variable in variables}
        if len(arguments) != len(variables):
            count = f"{len(variables)} variables ({', '.join(variables)})"
            raise MathsError(Failure.KIND, f"{name} has {count}, but {len(arguments)} values are given", offset=at)
        return {variable: self.value(argument) for variable, argument in zip(variables, arguments, strict=True)}

    def _chosen(self, node: Call) -> Value:
        """`max` and `min`, which take all values of a result."""
        values: list[Value] = []
        for argument in node.arguments:
            several = self._session.values.get(argument.name) if isinstance(argument, Ref) else None
            if isinstance(several, Alternatives) and isinstance(argument, Ref):
                values += [self._usable(item, name=argument.name, at=argument.at) for item in several.items]
            else:
                values.append(self.value(argument))
        return self.call(node.function, values)


def combined(values: Sequence[Result]) -> Result:
    """One value if all are equal, otherwise alternatives; numbers in increasing order.

    Raises:
        MathsError: too many alternatives.
    """
    flat = [item for value in values for item in (value.items if isinstance(value, Alternatives) else (value,))]
    distinct = list(dict.fromkeys(flat))
    if len(distinct) == 1:
        return distinct[0]
    if len(distinct) > MAX_ALTERNATIVES:
        raise MathsError(Failure.LIMIT, f"more than {MAX_ALTERNATIVES} values")
    if all(isinstance(item, Number) for item in distinct):
        distinct.sort(key=lambda item: item.value if isinstance(item, Number) else 0)
    return Alternatives(tuple(distinct))


def letters_of(text: str, *, values: Mapping[str, Result]) -> frozenset[str]:
    """Variables of one letter in the results that a text refers to."""
    letters: set[str] = set()
    if not any(isinstance(value, Expression | Relations) for value in values.values()):
        return frozenset()
    for token in tokens_of(text, thousands=False):
        value = values.get(token.text) if token.kind == REFERENCE else None
        if isinstance(value, Expression | Relations):
            letters.update(variable for variable in value.variables if len(variable) == 1)
    return frozenset(letters)


def _references(node: Node) -> Iterator[str]:
    """The references of a tree, except direct arguments of `max` and `min`."""
    if isinstance(node, Ref):
        yield node.name
    elif isinstance(node, Series):
        for operand in node.operands:
            yield from _references(operand)
    elif isinstance(node, Power):
        yield from _references(node.base)
        yield from _references(node.exponent)
    elif isinstance(node, Minus):
        yield from _references(node.operand)
    elif isinstance(node, Call | Apply):
        if isinstance(node, Apply):
            yield node.reference
        for argument in node.arguments:
            if not (isinstance(node, Call) and node.function in _CHOOSING and isinstance(argument, Ref)):
                yield from _references(argument)
