"""Task decomposition by a language model (section 3.1) into subtasks of the protocol of Table 1.

`evaluator.replies.decomposition` parses the answer, which is then checked against the request. Errors are reported to
the model with their positions, and it may answer again, at most `REPAIRS` times. Then the best answer that can be
parsed is used, and its errors are noted; one that cannot be parsed is the planner's fault.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.controlllm.strategies.asking import inside, text_of, was_cut
from evaluator.controlllm.strategies.search import GENERAL
from evaluator.controlllm.strategies.subtasks import TypedSubtask, typed_subtasks
from evaluator.core.language_model import Answer, Call, GenerateCall, Message
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.replies.decomposition import Decomposition, parse_decomposition

REPAIRS = 2
"""Most retries after a list of errors."""
_MAX_TOKENS = 2048
_REFERENCE = re.compile(r"<GEN(?:ERATED)?>-(\w+)")

_INSTRUCTIONS = """\
Split a request about texts, images, sounds and videos into subtasks. Say what each subtask is to achieve, what it works
on and what it results in. Do not choose tools.
Answer with a JSON list between tags and nothing else: <Solution>[subtask, ...]</Solution>
Each subtask is an object with these fields:
"description": one sentence that says in detail what is to be done, step by step if there are several steps. Keep to
  what the request means; if you know what kind of tool does a step, say so.
"task": the domains that are needed, a list of some of: {domains}.
"id": a number, from 0 on.
"dep": ids of the subtasks whose results this one takes, or [-1] if it takes none.
"args": what it works on, a list of {{"type": ..., "value": ...}}. A value is a file of the request, a text, or the
  result of an earlier subtask, "<GENERATED>-id", whose id is then in "dep". Only give what the subtask needs.
"returns": what it results in, a list with one {{"type": ..., "value": "<GENERATED>-id"}} with its own id.
Types are: {types}. A name for something in a picture, a question and an instruction are each a text.
Use as few subtasks as possible, and never a file that the request does not give. If the request cannot be served at
all, answer <Solution>[]</Solution>.

Example. Request: Read aloud what the sign in street.jpg says, and put it over clip.mp4.
<Solution>[{{"description": "Recognise the writing on the sign in street.jpg and speak it aloud.", "task": \
["image-perception", "audio-generation"], "id": 0, "dep": [-1], "args": [{{"type": "image", "value": "street.jpg"}}], \
"returns": [{{"type": "audio", "value": "<GENERATED>-0"}}]}}, {{"description": "Replace the sound of clip.mp4 by \
<GENERATED>-0.", "task": ["video-editing"], "id": 1, "dep": [0], "args": [{{"type": "video", "value": "clip.mp4"}}, \
{{"type": "audio", "value": "<GENERATED>-0"}}], "returns": [{{"type": "video", "value": "<GENERATED>-1"}}]}}]\
</Solution>"""


@dataclass(frozen=True, slots=True)
class Decomposed:
    """The result of the first stage."""

    subtasks: tuple[TypedSubtask, ...] | None
    """None if no answer could be parsed."""
    text: str
    """The unmodified answer."""
    tries: int
    problems: tuple[str, ...] = ()
    """Errors in the answer."""
    network: str = ""
    """Name of the trained network, if it made the decomposition."""


def decompose_by_asking(
    *, request: PlannerRequest, tools: Sequence[Tool]
) -> Generator[Sequence[Call], Sequence[Answer], Decomposed]:
    """Ask for the decomposition of a request, and retry after errors."""
    messages = list(decomposition_prompt(text=request.task.request, resources=request.task.resources, tools=tools))
    best: Decomposed | None = None
    for number in range(1, REPAIRS + 2):
        answers = yield [GenerateCall(messages=tuple(messages), max_tokens=_MAX_TOKENS)]
        read = read_decomposition(text=text_of(answers[0]), request=request, tools=tools, tries=number)
        if read.problems and was_cut(answers[0]):
            read = replace(read, problems=(f"the answer was cut after {_MAX_TOKENS} tokens", *read.problems))
        if not read.problems:
            return read
        best = read if read.subtasks is not None or best is None or best.subtasks is None else best
        listed = "\n".join(f"- {problem}" for problem in read.problems)
        complaint = f"That cannot be used:\n{listed}\nAnswer again with the whole list, mended, and nothing else."
        messages += [Message(role="assistant", content=read.text), Message(role="user", content=complaint)]
    assert best is not None
    return best


def decomposition_prompt(*, text: str, resources: Mapping[str, str], tools: Sequence[Tool]) -> tuple[Message, Message]:
    """The first prompt of a decomposition.

    Args:
        text: the request.
        resources: types of its files by name.
        tools: the offered tools.
    """
    files = ", ".join(f"{name} ({kind})" for name, kind in resources.items()) or "none"
    return (
        Message(role="system", content=instructions(tools)),
        Message(role="user", content=f"Request: {text}\nFiles: {files}"),
    )


def instructions(tools: Sequence[Tool]) -> str:
    """The prompt, with the domains and types of the tools."""
    domains = dict.fromkeys(tool.domain for tool in tools if tool.domain != GENERAL)
    occurring = {kind for tool in tools for kind in (*tool.input_types, *tool.output_types)}
    types = (str(kind) for kind in ResourceType if kind in occurring)
    return _INSTRUCTIONS.format(domains=", ".join(domains), types=", ".join(types))


def read_decomposition(*, text: str, request: PlannerRequest, tools: Sequence[Tool], tries: int = 1) -> Decomposed:
    """Parse an answer and list its errors."""
    try:
        decomposition = parse_decomposition(inside(text, opening="[", closing="]"))
        subtasks = typed_subtasks(decomposition)
    except PlanSyntaxError as error:
        return Decomposed(subtasks=None, text=text, tries=tries, problems=(str(error),))
    problems = _problems(decomposition=decomposition, request=request, tools=tools)
    return Decomposed(subtasks=subtasks, text=text, tries=tries, problems=tuple(problems))


def _problems(*, decomposition: Decomposition, request: PlannerRequest, tools: Sequence[Tool]) -> list[str]:
    """Errors in a decomposition that can be parsed."""
    domains = {tool.domain for tool in tools}
    results = {result.value: subtask.id for subtask in decomposition.subtasks for result in subtask.returns}
    problems = []
    for index, subtask in enumerate(decomposition.subtasks):
        for place, domain in enumerate(subtask.domains):
            if domain not in domains:
                problems.append(f"[{index}].task[{place}]: there is no domain {domain!r}")
        for place, argument in enumerate(subtask.args):
            where = f"[{index}].args[{place}].value"
            if argument.value in results:
                if results[argument.value] not in subtask.dependencies:
                    problems.append(f'{where}: {argument.value} is of a subtask that is not in "dep"')
            elif _REFERENCE.fullmatch(argument.value):
                problems.append(f"{where}: no subtask returns {argument.value}")
            elif argument.type != ResourceType.TEXT and argument.value.removeprefix("$") not in request.task.resources:
                problems.append(f"{where}: the request gives no file {argument.value!r}")
    return problems
