"""Scores from 1 to 5: tool assessment (section 3.2.3), and the solution expert (section 3.2.4), which ranks solutions.

A language model assigns them, with one call per tool or solution, or they follow from words and types;
`assess_offline` applies the criteria of the paper's prompt (Table 7).

The paper scores tools "in each search step", but its prompt has slots only for the task and the tool, not for the path
or the available resources (Table 7). The question about a tool is therefore the same in every step of a subtask. As in
the released code it is asked once, and the score holds in every step. The exhaustive strategy needs no scores.
`assess_step` is the other interpretation, without a language model: scores that depend on the node of the search.
`planarena bench search --per-step` measures it; no strategy uses it.

A language model judges the first `MOST_JUDGED` solutions by the offline score. For the exhaustive strategy it judges
all solutions, at most the `MOST_JUDGED_OF_ALL` shortest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.controlllm.strategies.asking import ReadScore, ask, read_score, signature
from evaluator.controlllm.strategies.search import GOOD, Chain, SearchStep
from evaluator.controlllm.strategies.subtasks import Scores, TypedSubtask
from evaluator.controlllm.strategies.words import Lexicon
from evaluator.core.language_model import Answer, Call
from evaluator.core.tools.types import Tool

UNREADABLE_TOOL = 3.0
"""Score of a tool whose answer cannot be parsed: the default threshold of the adaptive strategy, so that an error of
the model neither excludes a tool nor prefers it."""
CLOSES_THE_GAP = 3.0

ASSESSING = """\
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
            instructions=ASSESSING,
            question=f"Task: {subtask.description}\nIt takes {_listed(subtask.arg_types)} and returns "
            f"{_listed(subtask.return_types)}.\n\nTool: {signature(tool)}",
            max_tokens=_MAX_TOKENS,
        )
        for tool in tools
    ]


def read_assessments(*, tools: Sequence[Tool], answers: Sequence[Answer]) -> dict[str, ReadScore]:
    """Scores by tool name; `UNREADABLE_TOOL` with the problem if an answer has none."""
    return {tool.name: read_score(answer, default=UNREADABLE_TOOL) for tool, answer in zip(tools, answers, strict=True)}


def assess_offline(*, subtask: TypedSubtask, tools: Sequence[Tool], lexicon: Lexicon) -> Mapping[str, float]:
    """Scores by words and types, in [1, 5].

    5 if the description names the tool; 4 if they share a keyword and the tool returns a type of the subtask; 3 if they
    share a keyword; 2 if only the types fit; else 1. For 1 to 4 the similarity of the words is added as the fraction,
    which orders the tools of one level.
    """
    return {tool.name: _offline(subtask=subtask, tool=tool, lexicon=lexicon) for tool in tools}


def assess_step(step: SearchStep, *, scores: Mapping[str, float], tools: Sequence[Tool]) -> Mapping[str, float]:
    """Scores at a node: `scores`, but at least `CLOSES_THE_GAP` for a tool that closes the remaining gap of types.

    Such a tool returns a missing type and takes an unused resource of the path. Table 7 gives more than 3 for an output
    "that matches the returns of the task with regard to the type"; 3 makes it a candidate without ranking it before a
    tool that the words name.
    """
    gap = {
        tool.name
        for tool in tools
        if step.path and step.idle & set(tool.input_types) and step.missing & set(tool.output_types)
    }
    return {
        tool.name: max(scores[tool.name], CLOSES_THE_GAP) if tool.name in gap else scores[tool.name] for tool in tools
    }


def _offline(*, subtask: TypedSubtask, tool: Tool, lexicon: Lexicon) -> float:
    text = subtask.description
    if lexicon.names(text=text, tool=tool):
        return 5.0
    matches = bool(set(tool.output_types) & set(subtask.return_types))
    if lexicon.keywords_shared(text=text, tool=tool):
        level = 4 if matches else 3
    else:
        level = 2 if matches or set(tool.input_types) <= set(subtask.arg_types) else 1
    return level + 0.99 * lexicon.similarity(text=text, tool=tool)


def _listed(kinds: Sequence[str]) -> str:
    return ", ".join(kinds) or "nothing"


MOST_JUDGED = 15
MOST_JUDGED_OF_ALL = 1000
"""Calls for one subtask of the exhaustive strategy."""
MOST_KEPT = 5
"""The best solution and at most four alternatives."""
UNREADABLE = 1.0
"""Score of a solution whose answer cannot be parsed: it ranks behind all judged solutions."""
_MAX_TOKENS = 160

INSTRUCTIONS = """\
You judge whether a solution, which is a sequence of tools, solves a task. Compare what the tools do, one after the
other, with what the task asks for.
Answer with JSON between tags and nothing else: <Solution>{"thought": "...", "score": n}</Solution>
"thought" is your reason in at most 50 words. "score" is a whole number:
1: it has nothing to do with the task.
2: it is hardly related and will probably not solve it.
3: it may solve the task, though another way may be better.
4: it solves the task well.
5: it does exactly what the task asks for, and nothing besides.
A solution whose words are close in meaning to those of the task deserves at least 3."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A solution with its score."""

    path: Chain
    score: float
    thought: str = ""


def describe(path: Chain) -> str:
    """A solution as a numbered list of tools with their signatures."""
    return "\n".join(f"{number}. {signature(tool)}" for number, tool in enumerate(path, start=1))


def score_offline(*, subtask: TypedSubtask, paths: Sequence[Chain], scores: Scores, lexicon: Lexicon) -> list[Ranked]:
    """Score solutions by words, in [1, 5], best first.

    The score is 1 + 4 F, where F is the harmonic mean of two shares: the recall of the description's weighted words and
    tool names by the tools of the solution, relative to all words that any solution has; and the mean usefulness of its
    tools by their assessment, where a tool without new words counts as useless. Of equal solutions the shorter comes
    first.
    """
    text = subtask.description
    weights = dict(lexicon.weights_of(text))
    words: dict[str, frozenset[str]] = {}
    for tool in {tool.name: tool for path in paths for tool in path}.values():
        words[tool.name] = lexicon.words_of(tool) & weights.keys()
        if lexicon.names(text=text, tool=tool):
            # A name identifies the tool; its words may also be those of other tools.
            words[tool.name] |= {f"`{tool.name}`"}
            weights[f"`{tool.name}`"] = lexicon.heaviest
    most = sum(weights[word] for word in frozenset().union(*words.values()))

    def score(path: Chain) -> float:
        covered: frozenset[str] = frozenset()
        gain = 0.0
        for tool in path:
            if not words[tool.name] <= covered:
                gain += (scores[tool.name] - 1) / 4
                covered |= words[tool.name]
        recall = sum(weights[word] for word in sorted(covered)) / most if most else 1.0
        useful = gain / len(path)
        return 1 + 4 * (2 * recall * useful / (recall + useful) if recall + useful else 0.0)

    ranked = [Ranked(path=path, score=score(path)) for path in paths]
    return sorted(ranked, key=lambda solution: (-round(solution.score, 9), len(solution.path)))


def to_judge(ranked: Sequence[Ranked], *, most: int) -> Sequence[Ranked]:
    """The solutions for a language model to judge, in the order of the offline score.

    Args:
        ranked: all solutions, by the offline score.
        most: `MOST_JUDGED`: only the first; `MOST_JUDGED_OF_ALL`: only the shortest, of equal length the first.
    """
    if most == MOST_JUDGED or len(ranked) <= most:
        return ranked[:most]
    shortest = sorted(range(len(ranked)), key=lambda place: len(ranked[place].path))[:most]
    return [ranked[place] for place in sorted(shortest)]


def judging_calls(*, request: str, subtask: TypedSubtask, solutions: Sequence[Ranked]) -> list[Call]:
    """One call for each solution."""
    return [
        ask(
            instructions=INSTRUCTIONS,
            question=f"Request: {request}\nTask: {subtask.description}\n\nSolution:\n{describe(solution.path)}",
            max_tokens=_MAX_TOKENS,
        )
        for solution in solutions
    ]


def rank_by_answers(*, solutions: Sequence[Ranked], answers: Sequence[Answer]) -> list[Ranked]:
    """The solutions with the scores of the answers, best first, equal ones in their order."""
    judged = []
    for solution, answer in zip(solutions, answers, strict=True):
        read = read_score(answer, default=UNREADABLE)
        judged.append(Ranked(path=solution.path, score=read.score, thought=read.thought or read.problem))
    return sorted(judged, key=lambda solution: -solution.score)


def keep(ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """The best solution, whatever its score, and up to four alternatives with a score of at least 3."""
    return (*ranked[:1], *[solution for solution in ranked[1:] if solution.score >= GOOD][: MOST_KEPT - 1])
