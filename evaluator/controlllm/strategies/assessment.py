"""Tool assessment: how useful a tool is for a subtask, from 1 (not at all) to 5 (it is the one that is asked for).

By a language model, one call for each tool, or offline by `assess_offline`, which applies the criteria that the paper
gives its model (Table 7) to words and types.

The paper scores the tools "in each search step" (section 3.2.3), but its prompt has slots for the task and the tool
alone, none for the path so far or the resources that are there (Table 7). The question about a tool is therefore the
same in every step of a subtask: it is asked once, as the released code does, and the score holds in every step. The
exhaustive strategy asks for none.

`assess_step` is the other reading, without a language model: scores that depend on where in the graph the search is.
`planarena bench search --per-step` measures it; no strategy uses it.
"""

from collections.abc import Mapping, Sequence

from evaluator.controlllm.strategies.asking import ReadScore, ask, read_score, signature
from evaluator.controlllm.strategies.search import SearchStep
from evaluator.controlllm.strategies.subtasks import TypedSubtask
from evaluator.controlllm.strategies.words import Lexicon
from evaluator.core.language_model import Answer, Call
from evaluator.core.tools.types import Tool

UNREADABLE = 3.0
"""Score of a tool whose answer cannot be read: the least that the adaptive strategy enters by default, so that a slip
of the model neither rules a tool out nor prefers it."""
CLOSES_THE_GAP = 3.0
_MAX_TOKENS = 160

INSTRUCTIONS = """\
You decide whether a tool is of use for a task. Judge by what the tool does, what it takes and what it gives.
Answer with JSON between tags and nothing else: <Solution>{"thought": "...", "score": n}</Solution>
"thought" is your reason in at most 50 words. "score" is a whole number:
1: the tool has nothing to do with the task.
2: it is hardly related; what it gives is probably of no use here.
3: it is related, and what it gives may serve as a step on the way.
4: it fits the task well; what it gives is needed, or has the type that the task returns.
5: it is exactly what the task asks for.
A tool whose description shares the keywords of the task deserves at least 3."""


def assessment_calls(*, subtask: TypedSubtask, tools: Sequence[Tool]) -> list[Call]:
    """One call for each tool."""
    return [
        ask(
            instructions=INSTRUCTIONS,
            question=f"Task: {subtask.description}\nIt takes {_listed(subtask.arg_types)} and returns "
            f"{_listed(subtask.return_types)}.\n\nTool: {signature(tool)}",
            max_tokens=_MAX_TOKENS,
        )
        for tool in tools
    ]


def read_assessments(*, tools: Sequence[Tool], answers: Sequence[Answer]) -> dict[str, ReadScore]:
    """The scores by the tools' names; `UNREADABLE` with its problem where an answer holds none."""
    return {tool.name: read_score(answer, instead=UNREADABLE) for tool, answer in zip(tools, answers, strict=True)}


def assess_offline(*, subtask: TypedSubtask, tools: Sequence[Tool], lexicon: Lexicon) -> Mapping[str, float]:
    """Scores by words and types, in [1, 5].

    5 if the description names the tool; 4 if they share a keyword and the tool gives what the subtask returns; 3 if
    they share a keyword; 2 if only the types fit; else 1. Within 1 to 4 the similarity of the words is added as the
    fraction, so that tools of one level have an order.
    """
    return {tool.name: _offline(subtask=subtask, tool=tool, lexicon=lexicon) for tool in tools}


def assess_step(*, step: SearchStep, scores: Mapping[str, float], tools: Sequence[Tool]) -> Mapping[str, float]:
    """Scores at a node: `scores`, but at least `CLOSES_THE_GAP` for a tool that closes the gap of types that is left.

    That is one which gives a returned type that is still missing, and takes something that the way there has made or
    left over. Table 7 gives more than 3 for an output "that matches the returns of the task with regard to the type";
    3 makes it a candidate and does not put it before a tool that the words ask for.
    """
    return {
        tool.name: max(scores[tool.name], CLOSES_THE_GAP) if _closes(tool=tool, step=step) else scores[tool.name]
        for tool in tools
    }


def _closes(*, tool: Tool, step: SearchStep) -> bool:
    return bool(step.path and step.idle & set(tool.input_types) and step.missing & set(tool.output_types))


def _offline(*, subtask: TypedSubtask, tool: Tool, lexicon: Lexicon) -> float:
    text = subtask.description
    if lexicon.names(text=text, tool=tool):
        return 5.0
    gives = bool(set(tool.output_types) & set(subtask.return_types))
    if lexicon.keywords_shared(text=text, tool=tool):
        level = 4 if gives else 3
    else:
        level = 2 if gives or set(tool.input_types) <= set(subtask.arg_types) else 1
    return level + 0.99 * lexicon.similarity(text=text, tool=tool)


def _listed(kinds: Sequence[str]) -> str:
    return ", ".join(kinds) or "nothing"
