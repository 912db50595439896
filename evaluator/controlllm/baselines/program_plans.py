"""From a program as it is written to a plan: what its names mean. Nothing is run.

1. A name is what was last assigned to it, or what the request gives under that name. Another name is an error.
2. A called name is a tool: as the prompt spells it, else as the catalogue or one of its other spellings has it, which
   is recorded. A name that is nowhere is kept, for the checks to report.
3. Values without names stand in the order of the tool's signature. A call inside a call is a step of its own.
4. A text that is the name of a resource means that resource; any other text is a literal.
5. The answers are what is returned. Where nothing is, they are the outputs that no step uses, which is recorded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.controlllm.baselines.program_text import (
    Call,
    Constant,
    Expression,
    Items,
    Name,
    Positions,
    Program,
    Statement,
)
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.literals import MAX_STEPS, short
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.planners.strategies.prompting import resource_named
from evaluator.replies.actions import Action, inputs_of, outputs_of, plan_of, tool_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names that a prompt gives to what is there."""

    given: Mapping[str, str]
    """Variables with the references that they stand for."""
    tools: Mapping[str, str]
    """Spellings of the tools' names with the names themselves."""
    answer: str | None = None
    """A call of this name returns its arguments, as VisProg's RESULT does."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The value of a name that stands for a resource or a result."""

    text: str


class _Builder:
    """The steps of a program, in the order in which it would make them."""

    def __init__(self, *, text: str, vocabulary: Vocabulary, request: PlannerRequest, context: PlanContext) -> None:
        self.actions: list[Action] = []
        self.answers: list[str] = []
        self.tolerated: list[str] = []
        self._positions = Positions(text)
        self._vocabulary = vocabulary
        self._request = request
        self._context = context
        self._values: dict[str, object] = {name: Reference(to) for name, to in vocabulary.given.items()}

    def parameters(self, parameters: Sequence[Name]) -> None:
        """Check the parameters of a function: each stands for what the request gives under its name."""
        for parameter in parameters:
            if parameter.name not in self._vocabulary.given:
                raise self._fail(f"{parameter.name} is not given; given are {self._listed()}", parameter.index)

    def statement(self, statement: Statement) -> None:
        """Take an assignment or a call."""
        value = statement.value
        if not isinstance(value, Call):
            if len(statement.targets) != 1:
                raise self._fail("several names are assigned from one value", statement.index)
            self._values[statement.targets[0]] = self._value(value)
        elif value.function == self._vocabulary.answer:
            self.returned([*value.positional, *(given for _, given in value.named)])
        else:
            results = self._call(value)
            if len(statement.targets) > len(results):
                message = f"{len(statement.targets)} names for {len(results)} result of {value.function}"
                raise self._fail(message, statement.index)
            self._values |= dict(zip(statement.targets, results, strict=False))

    def returned(self, values: Sequence[Expression]) -> None:
        """Take values as the answers, after those before."""
        for expression in values:
            for value in _flat(self._value(expression)):
                if isinstance(value, Reference):
                    self.answers.append(value.text)
                else:
                    self._note(f"returns {short(str(value))}, which no tool made", expression.index)

    def _value(self, expression: Expression) -> object:
        if isinstance(expression, Call):
            results = self._call(expression)
            return results[0]
        if isinstance(expression, Items):
            return [self._value(item) for item in expression.items]
        if isinstance(expression, Constant):
            return self._constant(expression.value)
        if expression.name not in self._values:
            raise self._fail(f"{expression.name} was not assigned; given are {self._listed()}", expression.index)
        return self._values[expression.name]

    def _constant(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        named = resource_named(written=value, request=self._request)
        return value if named is None else Reference(named)

    def _call(self, call: Call) -> tuple[Reference, ...]:
        if len(self.actions) >= MAX_STEPS:
            raise self._fail(f"a plan has at most {MAX_STEPS} calls", call.index)
        where = self._positions[call.index]
        tool = self._vocabulary.tools.get(call.function) or tool_name(
            written=call.function, context=self._context, where=where, tolerated=self.tolerated
        )
        inputs = {name: _written(self._value(value)) for name, value in self._named(call=call, tool=tool)}
        names = tuple(outputs_of(tool=tool, context=self._context)) or ("output0",)
        step = f"s{len(self.actions) + 1}"
        outputs = {name: f"{step}.{name}" for name in names}
        self.actions.append(Action(tool=tool, inputs=inputs, outputs=outputs, where=where, id=step))
        return tuple(Reference(reference) for reference in outputs.values())

    def _named(self, *, call: Call, tool: str) -> Iterator[tuple[str, Expression]]:
        names = tuple(inputs_of(tool=tool, context=self._context))
        first = [
            (names[index] if index < len(names) else f"input{index}", value)
            for index, value in enumerate(call.positional)
        ]
        for name, value in call.named:
            if name in dict(first):
                raise self._fail(f"the input {short(name)} of {call.function} is given twice", value.index)
        yield from (*first, *call.named)

    def _listed(self) -> str:
        return ", ".join(self._vocabulary.given) or "none"

    def _note(self, message: str, index: int) -> None:
        self.tolerated.append(f"{self._positions[index]}: {message}")

    def _fail(self, message: str, index: int) -> PlanSyntaxError:
        return PlanSyntaxError(message, where=self._positions[index], tolerated=tuple(self.tolerated))


def plan_of_program(
    *,
    program: Program,
    text: str,
    vocabulary: Vocabulary,
    request: PlannerRequest,
    context: PlanContext,
    form: str,
) -> ParsedPlan:
    """The plan that a program says, by the rules of this module.

    Args:
        program: the program.
        text: the text that it was read from, for the places in errors.
        vocabulary: what its names mean.
        request: the request.
        context: the request's facts, as plans are read against.
        form: what the parsed plan says of its form.

    Raises:
        PlanSyntaxError: a name means nothing, or there are more calls than a plan may have.
    """
    builder = _Builder(text=text, vocabulary=vocabulary, request=request, context=context)
    builder.parameters(program.parameters or ())
    for statement in program.statements:
        builder.statement(statement)
    builder.returned(program.returned or ())
    parsed = plan_of(actions=builder.actions, context=context, form=form, tolerated=builder.tolerated)
    if builder.answers:
        return replace(parsed, plan=replace(parsed.plan, answers=tuple(dict.fromkeys(builder.answers))))
    note = "the program returns nothing; took the outputs that no step uses"
    return replace(parsed, tolerated=(*parsed.tolerated, note))


def _written(value: object) -> object:
    if isinstance(value, Reference):
        return value.text
    return [_written(item) for item in value] if isinstance(value, list) else value


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    else:
        yield value
