"""Plans as programs: VisProg's lines and ViperGPT's function (Gupta & Kembhavi, 2023; Surís et al., 2023).

Both systems run what the language model writes. Here the text is read by a parser of our own (`program_text.py`) and
never run: what is no assignment, call or return is an error with line and column, and the task is lost.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from evaluator.controlllm.baselines.program_plans import Vocabulary, plan_of_program
from evaluator.controlllm.baselines.program_text import read_program
from evaluator.core.language_model import Ability, Completion, Message
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.envelope import unfenced, without_reasoning
from evaluator.core.plans.model import ParsedPlan, PlanSyntaxError
from evaluator.core.strategy import Conversation
from evaluator.planners.strategies.prompting import Prompt, ask, context_of, read_draft, reference_to, wanted

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(?P<program>.*?)(?:\n?```|\Z)", re.DOTALL)
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
        """Ask once and read the lines."""
        words = vocabulary(request, spelled=str.upper, answer="RESULT")
        task = f"Request: {request.task.request}\n{wanted(request)}\n\nProgram:\n"
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
        """Ask once and read the function."""
        words = vocabulary(request, spelled=str.lower)
        head = f"def execute_command({', '.join(words.given)}):"
        task = f"# {_one_line(request.task.request)}\n# {wanted(request)}\n{head}\n"
        text = f"{_VIPERGPT}\nGiven:\n{_given(request, words)}\n\nFunctions:\n{_modules(request, words)}\n\n{task}"
        prompt = Prompt(name="vipergpt/2", messages=(Message(role="user", content=text),))
        return (yield from _converse(prompt=prompt, words=words, request=request, form="program of one function"))


def vocabulary(request: PlannerRequest, *, spelled: Callable[[str], str], answer: str | None = None) -> Vocabulary:
    """The names that a program may use for what a request gives and offers.

    A resource whose name is an identifier keeps it; a file is called by its type and a number, as in `image1`.
    """
    counted: Counter[str] = Counter()
    given: dict[str, str] = {}
    for name, kind in request.task.resources.items():
        if name.isidentifier():
            variable = name
        else:
            counted[kind] += 1
            variable = f"{kind}{counted[kind]}"
        given[spelled(variable)] = reference_to(name)
    tools = {spelled(_NO_NAME.sub("_", tool.name).strip("_")): tool.name for tool in request.tools}
    return Vocabulary(given=given, tools=tools, answer=answer)


def read_text(*, text: str, words: Vocabulary, request: PlannerRequest, form: str) -> ParsedPlan | PlanSyntaxError:
    """The plan of a completion, or why it is none. A program in a code fence is read without what stands around it."""
    try:
        text, left_out = without_reasoning(text)
        unfenced(text)
    except PlanSyntaxError as error:
        return error
    fence = _FENCE.search(text[: 64 * 1024])
    start, end = fence.span("program") if fence else (0, len(text))
    around = len(text[:start].strip()) + len(text[end:].strip()) if fence else 0
    notes = [f"left out {around} characters around the program"] if fence else []
    if fence is None and text.lstrip().startswith("Program:"):
        start = text.index("Program:") + len("Program:")
        notes = ["left out 'Program:'"]
    try:
        program = read_program(text, start=start, end=end)
        parsed = plan_of_program(
            program=program, text=text, vocabulary=words, request=request, context=context_of(request), form=form
        )
    except PlanSyntaxError as error:
        return error
    return ParsedPlan(plan=parsed.plan, form=parsed.form, tolerated=(*left_out, *notes, *parsed.tolerated))


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


def _one_line(text: str) -> str:
    return " ".join(text.split())


STRATEGIES = (VisProg, ViperGPT)
