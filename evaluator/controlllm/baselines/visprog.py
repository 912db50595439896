"""Plans as programs: VisProg's lines and ViperGPT's function (Gupta & Kembhavi, 2023; Surís et al., 2023).

Both systems run the program of the language model. Here a parser (`program_text.py`) reads the text, which is never
run: anything but an assignment, call or return is an error with line and column, and the planner's fault. A program
becomes a plan by these rules:

1. The value of a name is the last one assigned to it, or the resource that the request gives under it. Other names are
   errors.
2. A called name is a tool in the spelling of the prompt, or in another known spelling, which is recorded. An unknown
   name is kept, for the checks to report.
3. Positional arguments follow the order of the tool's signature. A nested call is a separate step.
4. A text that is the name of a resource refers to it; any other text is a literal.
5. The answers are the returned values. If there are none, they are the outputs that no step uses, which is recorded.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from evaluator.controlllm.baselines.program_text import (
    Call,
    Constant,
    Expression,
    Items,
    Name,
    Positions,
    Program,
    Statement,
    read_program,
)
from evaluator.core.language_model import Ability, Completion, Message
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.literals import MAX_STEPS, short
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.core.strategy import Conversation
from evaluator.planners.strategies.prompting import (
    Prompt,
    answer_sentence,
    ask,
    context_of,
    read_draft,
    reference_to,
    resource_named,
)
from evaluator.replies.actions import Action, inputs_of, outputs_of, plan_of, tool_name
from evaluator.replies.envelope import opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names of resources and tools in a prompt."""

    given: Mapping[str, str]
    """References by variable."""
    tools: Mapping[str, str]
    """Names of tools by spelling."""
    answer: str | None = None
    """Name of the function that returns its arguments, such as VisProg's RESULT."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A resource or result, as the value of a name."""

    text: str


class _Builder:
    """Builder of the steps of a program, in the order of its calls."""

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
        """Check that each parameter of a function is a name of the vocabulary."""
        for parameter in parameters:
            if parameter.name not in self._vocabulary.given:
                raise self._fail(f"{parameter.name} is not given; given are {self._listed()}", parameter.index)

    def statement(self, statement: Statement) -> None:
        """Add an assignment or a call."""
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
        """Add values to the answers."""
        for expression in values:
            for value in _flat(self._value(expression)):
                if isinstance(value, Reference):
                    self.answers.append(value.text)
                else:
                    self._note(f"returns {short(str(value))}, which no tool made", expression.index)

    def _value(self, expression: Expression) -> object:
        if isinstance(expression, Call):
            return self._call(expression)[0]
        if isinstance(expression, Items):
            return [self._value(item) for item in expression.items]
        if isinstance(expression, Constant):
            value = expression.value
            name = resource_named(written=value, request=self._request) if isinstance(value, str) else None
            return value if name is None else Reference(name)
        if expression.name not in self._values:
            raise self._fail(f"{expression.name} was not assigned; given are {self._listed()}", expression.index)
        return self._values[expression.name]

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
    """The plan of a program, by the rules of this module.

    Args:
        program: the program.
        text: its text, for positions in errors.
        vocabulary: the names of resources and tools.
        request: the request.
        context: the context for parsing plans.
        form: the form of the parsed plan.

    Raises:
        PlanSyntaxError: a name is unknown, or there are too many calls.
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


_NO_NAME = re.compile(r"[^A-Za-z0-9]+")
_VISPROG = """Write a program for the request below. Each line assigns the result of one module to a new name:

NAME=MODULE(input=VALUE,input=VALUE)

A value is a name that is given, a name from an earlier line, or a text in quotes. The last lines say what the results
are, one line for each:

ANSWER=RESULT(var=NAME)

Write nothing but such lines: no comments, no conditions, no loops.
"""
_VIPERGPT = """Write the body of a Python function that fulfils the request below. It consists of assignments of calls
to names and one return. Call nothing but the functions listed here, and use no imports, no conditions, no loops and no
attributes. Write the whole function and nothing else.
"""


class VisProg:
    """A program of lines."""

    name: ClassVar[str] = "visprog"
    description: ClassVar[str] = (
        "VisProg's programs: a line NAME=MODULE(input=VALUE) for each call, read and never run."
    )
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        """Ask once and parse the lines."""
        words = vocabulary(request, spelled=str.upper, answer="RESULT")
        task = f"Request: {request.task.request}\n{answer_sentence(request)}\n\nProgram:\n"
        text = f"{_VISPROG}\nGiven:\n{_given(request, words)}\n\nModules:\n{_modules(request, words)}\n\n{task}"
        prompt = Prompt(name="visprog/2", messages=(Message(role="user", content=text),))
        return (yield from _converse(prompt=prompt, words=words, request=request, form="program of lines"))


class ViperGPT:
    """A program as one function."""

    name: ClassVar[str] = "vipergpt"
    description: ClassVar[str] = (
        "ViperGPT's programs: one function of assignments, calls and return, read and never run."
    )
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        """Ask once and parse the function."""
        words = vocabulary(request, spelled=str.lower)
        head = f"def execute_command({', '.join(words.given)}):"
        task = f"# {' '.join(request.task.request.split())}\n# {answer_sentence(request)}\n{head}\n"
        text = f"{_VIPERGPT}\nGiven:\n{_given(request, words)}\n\nFunctions:\n{_modules(request, words)}\n\n{task}"
        prompt = Prompt(name="vipergpt/2", messages=(Message(role="user", content=text),))
        return (yield from _converse(prompt=prompt, words=words, request=request, form="program of one function"))


def vocabulary(request: PlannerRequest, *, spelled: Callable[[str], str], answer: str | None = None) -> Vocabulary:
    """The names that a program may use for the resources and tools of a request.

    A resource whose name is an identifier keeps it; other names consist of type and number, such as `image1`.
    """
    counts: Counter[str] = Counter()
    given: dict[str, str] = {}
    for name, kind in request.task.resources.items():
        counts[kind] += not name.isidentifier()
        given[spelled(name if name.isidentifier() else f"{kind}{counts[kind]}")] = reference_to(name)
    tools = {spelled(_NO_NAME.sub("_", tool.name).strip("_")): tool.name for tool in request.tools}
    return Vocabulary(given=given, tools=tools, answer=answer)


def read_text(*, text: str, words: Vocabulary, request: PlannerRequest, form: str) -> ParsedPlan | PlanSyntaxError:
    """The plan of a completion, or the error in it. Its envelope is removed."""
    try:
        text, notes = opened(text)
    except PlanSyntaxError as error:
        return error
    start = 0
    if text.lstrip().startswith("Program:"):
        start = text.index("Program:") + len("Program:")
        notes += ("envelope: 'Program:'",)
    try:
        program = read_program(text, start=start, end=len(text))
        parsed = plan_of_program(
            program=program, text=text, vocabulary=words, request=request, context=context_of(request), form=form
        )
    except PlanSyntaxError as error:
        return error
    return ParsedPlan(plan=parsed.plan, form=parsed.form, tolerated=(*notes, *parsed.tolerated))


def _converse(*, prompt: Prompt, words: Vocabulary, request: PlannerRequest, form: str) -> Conversation:
    (answer,) = yield [ask(prompt)]
    assert isinstance(answer, Completion)
    parsed = read_text(text=answer.text, words=words, request=request, form=form)
    return read_draft(parsed=parsed, completions=[answer], prompt=prompt.name)


def _given(request: PlannerRequest, words: Vocabulary) -> str:
    kinds = request.task.resources.items()
    lines = [
        f"- {variable}: {kind}" + ("" if name.isidentifier() else f", the file {name!r}")
        for variable, (name, kind) in zip(words.given, kinds, strict=True)
    ]
    return "\n".join(lines) or "- nothing but the words of the request"


def _modules(request: PlannerRequest, words: Vocabulary) -> str:
    lines = []
    for spelling, tool in zip(words.tools, request.tools, strict=True):
        takes = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items())
        lines.append(f"- {spelling}({takes}) -> {', '.join(tool.outputs.values())}: {tool.description}")
    return "\n".join(lines)


STRATEGIES = (VisProg, ViperGPT)
