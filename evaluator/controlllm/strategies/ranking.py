"""Scores from 1 to 5: tool assessment (section 3.2.3), and the solution expert (section 3.2.4), which ranks solutions.

Each is by a language model, with one call per tool or solution, or offline by words and types; `assess_offline` applies
the criteria that the paper gives its model (Table 7).

The paper scores the tools "in each search step", but its prompt has slots for the task and the tool alone, none for the
path so far or the resources that are there (Table 7). The question about a tool is therefore the same in every step of
a subtask: it is asked once, as the released code does, and the score holds in every step. The exhaustive strategy asks
for none. `assess_step` is the other reading, without a language model: scores that depend on where in the graph the
search is. `planarena bench search --per-step` measures it; no strategy uses it.

A language model judges the `MOST_JUDGED` solutions that the offline score ranks first. The exhaustive strategy is not
filtered by words before: all its solutions are judged, and of more than `MOST_JUDGED_OF_ALL` the shortest.
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
"""Score of a tool whose answer cannot be read: the least that the adaptive strategy enters by default, so that a slip
of the model neither rules a tool out nor prefers it."""
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
    """The scores by the tools' names; `UNREADABLE_TOOL` with its problem where an answer holds none."""
    return {tool.name: read_score(answer, instead=UNREADABLE_TOOL) for tool, answer in zip(tools, answers, strict=True)}


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


MOST_JUDGED = 15
MOST_JUDGED_OF_ALL = 1000
"""Calls for one subtask of the exhaustive strategy."""
MOST_KEPT = 5
"""The best solution and at most four alternatives."""
UNREADABLE = 1.0
"""Score of a solution whose answer cannot be read: it stays possible, behind all that were judged."""
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
    """A solution in words: its tools in order with what they do, take and give."""
    return "\n".join(f"{number}. {signature(tool)}" for number, tool in enumerate(path, start=1))


def score_offline(*, subtask: TypedSubtask, paths: Sequence[Chain], scores: Scores, lexicon: Lexicon) -> list[Ranked]:
    """Score solutions by words, in [1, 5], the best first.

    The score is 1 + 4 F, where F is the harmonic mean of two shares: how much of what the description says (its words,
    weighted, and the tools that it names) is said by some tool of the solution, counting only what any of the
    solutions says; and how useful its tools are on average, by their assessment, where a tool that says nothing that
    those before it have not said counts as useless. Of equal ones the shorter comes first.
    """
    said = _evidence(subtask=subtask, paths=paths, lexicon=lexicon)
    ranked = [Ranked(path=path, score=_score(path=path, said=said, scores=scores)) for path in paths]
    return sorted(ranked, key=lambda one: (-round(one.score, 9), len(one.path)))


def _evidence(*, subtask: TypedSubtask, paths: Sequence[Chain], lexicon: Lexicon) -> "_Evidence":
    text = subtask.description
    weights = dict(lexicon.weights_of(text))
    says: dict[str, frozenset[str]] = {}
    for tool in {tool.name: tool for path in paths for tool in path}.values():
        words = lexicon.words_of(tool) & weights.keys()
        if lexicon.names(text=text, tool=tool):
            # A name says which tool is meant; its words alone say it of others too.
            words |= {f"`{tool.name}`"}
            weights[f"`{tool.name}`"] = lexicon.heaviest
        says[tool.name] = words
    sayable = frozenset().union(*says.values())
    return _Evidence(weights=weights, says=says, most=sum(weights[word] for word in sayable))


@dataclass(frozen=True, slots=True)
class _Evidence:
    weights: Mapping[str, float]
    says: Mapping[str, frozenset[str]]
    """What of the description each tool says."""
    most: float
    """Weight of all that any tool says."""


def _score(*, path: Chain, said: _Evidence, scores: Scores) -> float:
    covered: frozenset[str] = frozenset()
    gained = 0.0
    for tool in path:
        if not said.says[tool.name] <= covered:
            gained += (scores[tool.name] - 1) / 4
            covered |= said.says[tool.name]
    recall = sum(said.weights[word] for word in sorted(covered)) / said.most if said.most else 1.0
    useful = gained / len(path)
    return 1 + 4 * (2 * recall * useful / (recall + useful) if recall + useful else 0.0)


def to_judge(ranked: Sequence[Ranked], *, most: int) -> Sequence[Ranked]:
    """The solutions that a language model is asked about, in the order of the offline score.

    Args:
        ranked: all solutions, by the offline score.
        most: `MOST_JUDGED`: so many of the first; `MOST_JUDGED_OF_ALL`: of more than that the shortest, of equal length
            those that stand first.
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
    """The solutions with the scores of the answers, the best first, of equal ones the one that stood first."""
    judged = []
    for solution, answer in zip(solutions, answers, strict=True):
        read = read_score(answer, instead=UNREADABLE)
        judged.append(Ranked(path=solution.path, score=read.score, thought=read.thought or read.problem))
    return sorted(judged, key=lambda one: -one.score)


def keep(ranked: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """The best solution, whatever its score, and up to four alternatives with a score of at least 3."""
    return (*ranked[:1], *[one for one in ranked[1:] if one.score >= GOOD][: MOST_KEPT - 1])
